//! Unix signals.
//!
//! Each [`Signal`] has its own pipe. The handler writes a byte into it, which is one of the
//! few things that a handler may do, and the read end is registered with the driver. No
//! signal is lost between two calls of `recv`: the byte stays in the pipe until it is read.
//! A full pipe accepts no more bytes, and need not: the listener will be woken. All bytes
//! are read at once, so signals that arrive together count as one.
//!
//! A forked process shares its parent's pipes, so the handler writes only in the process
//! that installed it.

use std::io::{self, Read, Write};
use std::task::{Context, Poll, ready};

use blitz_io_aio::{Interest, ReadBuf};
use blitz_io_driver::PollEvented;
use mio::unix::pipe;
use signal_hook_registry::SigId;

/// The kind of signal to listen for.
///
/// ```
/// use blitz_io::signal::unix::SignalKind;
///
/// assert_eq!(SignalKind::from_raw(2), SignalKind::interrupt());
/// ```
#[derive(Debug, Clone, Copy, Hash, PartialEq, Eq)]
pub struct SignalKind(libc::c_int);

impl SignalKind {
    /// Returns the signal with a number.
    pub const fn from_raw(signum: std::os::raw::c_int) -> Self {
        Self(signum)
    }

    /// Returns the number of the signal.
    pub const fn as_raw_value(&self) -> std::os::raw::c_int {
        self.0
    }

    /// Returns `SIGALRM`: a timer of the process has ended. By default it ends the process.
    pub const fn alarm() -> Self {
        Self(libc::SIGALRM)
    }

    /// Returns `SIGCHLD`: a child has ended, or has been stopped. By default it is ignored.
    pub const fn child() -> Self {
        Self(libc::SIGCHLD)
    }

    /// Returns `SIGHUP`: the terminal has closed; a daemon reads its settings again. By default it
    /// ends the process.
    pub const fn hangup() -> Self {
        Self(libc::SIGHUP)
    }

    /// Returns `SIGINFO`: a request for the status, Ctrl-T. By default it is ignored.
    #[cfg(any(
        target_os = "dragonfly",
        target_os = "freebsd",
        target_os = "macos",
        target_os = "netbsd",
        target_os = "openbsd",
        target_os = "illumos"
    ))]
    pub const fn info() -> Self {
        Self(libc::SIGINFO)
    }

    /// Returns `SIGINT`: Ctrl-C. By default it ends the process.
    pub const fn interrupt() -> Self {
        Self(libc::SIGINT)
    }

    /// Returns `SIGIO`: a descriptor is ready. By default it is ignored, or ends the process.
    pub const fn io() -> Self {
        Self(libc::SIGIO)
    }

    /// Returns `SIGPIPE`: a write into a pipe without a reader. Programs in Rust ignore it.
    pub const fn pipe() -> Self {
        Self(libc::SIGPIPE)
    }

    /// Returns `SIGQUIT`: Ctrl-\. By default it ends the process, with a core dump.
    pub const fn quit() -> Self {
        Self(libc::SIGQUIT)
    }

    /// Returns `SIGTERM`: a request to end the process. By default it does.
    pub const fn terminate() -> Self {
        Self(libc::SIGTERM)
    }

    /// Returns `SIGUSR1`: defined by the program. By default it ends the process.
    pub const fn user_defined1() -> Self {
        Self(libc::SIGUSR1)
    }

    /// Returns `SIGUSR2`: defined by the program. By default it ends the process.
    pub const fn user_defined2() -> Self {
        Self(libc::SIGUSR2)
    }

    /// Returns `SIGWINCH`: the terminal has another size. By default it is ignored.
    pub const fn window_change() -> Self {
        Self(libc::SIGWINCH)
    }
}

impl From<std::os::raw::c_int> for SignalKind {
    fn from(signum: std::os::raw::c_int) -> Self {
        Self::from_raw(signum)
    }
}

impl From<SignalKind> for std::os::raw::c_int {
    fn from(kind: SignalKind) -> Self {
        kind.as_raw_value()
    }
}

/// A listener for a signal: see [`signal`].
#[must_use = "streams do nothing unless polled"]
#[derive(Debug)]
pub struct Signal {
    pipe: PollEvented<pipe::Receiver>,
    action: SigId,
}

/// Listens for a signal, from now on. Any number of listeners may listen for the same one.
///
/// # Errors
///
/// Returns an error if the signal cannot be listened for (`SIGKILL`, `SIGSTOP`, `SIGSEGV`,
/// `SIGILL`, `SIGFPE`) or does not exist, or if the process has too many descriptors.
///
/// # Panics
///
/// Panics outside of a runtime, and in a runtime without I/O.
///
/// ```no_run
/// use blitz_io::signal::unix::{SignalKind, signal};
///
/// # #[blitz_io::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut hangup = signal(SignalKind::hangup())?;
/// while hangup.recv().await.is_some() {
///     println!("reading the settings again");
/// }
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn signal(kind: SignalKind) -> io::Result<Signal> {
    let (sender, receiver) = pipe::new()?;
    let pipe = PollEvented::with_interest(receiver, Interest::READABLE)?;
    let signal = kind.0;
    // The texts are Tokio's.
    if signal <= 0 || signal_hook_registry::FORBIDDEN.contains(&signal) {
        let message = format!("Refusing to register signal {signal}");
        return Err(io::Error::other(message));
    }
    if signal > last() {
        return Err(io::Error::other("signal too large"));
    }
    // SAFETY: the call has no requirements.
    let process = unsafe { libc::getpid() };
    let handler = move || {
        // SAFETY: the call has no requirements, and a handler may make it.
        if unsafe { libc::getpid() } == process {
            // One system call that does not block. If the pipe is full, another byte is not
            // needed.
            drop((&sender).write(&[1]));
        }
    };
    // SAFETY: the handler makes two system calls that a handler may make, and changes
    // nothing else but `errno`, which the registry restores.
    let action = unsafe { signal_hook_registry::register(signal, handler) }?;
    Ok(Signal { pipe, action })
}

/// Returns the greatest number that a signal may have.
fn last() -> libc::c_int {
    #[cfg(any(target_os = "linux", target_os = "illumos"))]
    {
        libc::SIGRTMAX()
    }
    #[cfg(not(any(target_os = "linux", target_os = "illumos")))]
    {
        // The numbers of all these systems end with it.
        33
    }
}

impl Signal {
    /// Waits for the next signal. Several signals since the last call count as one.
    ///
    /// Returns `None` if no more signals will come, because the runtime has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a future that is dropped before it is ready has taken no signal.
    pub async fn recv(&mut self) -> Option<()> {
        std::future::poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Attempts to receive the next signal.
    ///
    /// Only the waker of the last call is woken.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        let mut bytes = [0; 64];
        let mut buf = ReadBuf::new(&mut bytes);
        // SAFETY: a read of the system only writes to its buffer, and returns how much.
        if ready!(unsafe { self.pipe.poll_read(cx, &mut buf) }).is_err() {
            return Poll::Ready(None);
        }
        // Behind a full buffer there may be more signals, which count as the same one.
        let mut is_full = buf.remaining() == 0;
        while is_full {
            is_full = matches!((&*self.pipe).read(&mut bytes), Ok(64));
        }
        Poll::Ready(Some(()))
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        signal_hook_registry::unregister(self.action);
    }
}
