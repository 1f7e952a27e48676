//! Unix signals.
//!
//! All listeners of a driver share a pipe, through which the handlers of signals wake them.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use blitz_io_core::coop;
use blitz_io_observe::{Caller, Kind, Wait, WaitKind};

use super::handlers::FORBIDDEN;
use super::pipe::SignalPipe;

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
    record: Wait,
    pipe: Arc<SignalPipe>,
    signal: libc::c_int,
    /// The number of the listener.
    number: u64,
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
    listen(kind, Caller::here())
}

/// Creates a listener, whose waits are at a location of the program.
#[track_caller]
pub(super) fn listen(kind: SignalKind, caller: Caller) -> io::Result<Signal> {
    let pipe = SignalPipe::current()?;
    let signal = kind.0;
    // The texts are Tokio's.
    if signal <= 0 || FORBIDDEN.contains(&signal) {
        let message = format!("Refusing to register signal {signal}");
        return Err(io::Error::other(message));
    }
    if signal > last() {
        return Err(io::Error::other("signal too large"));
    }
    let number = pipe.listen(signal)?;
    Ok(Signal {
        record: Wait::new(caller),
        pipe,
        signal,
        number,
    })
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
        coop::poll_with(cx, |cx| {
            let polled = self.pipe.poll(self.number, cx.waker());
            if polled.is_pending() {
                let number = u64::from(self.signal.unsigned_abs());
                (self.record).begin_with(WaitKind::new(Kind::Signal), number, cx.waker());
            } else {
                self.record.end();
            }
            polled
        })
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        self.pipe.forget(self.signal, self.number);
    }
}
