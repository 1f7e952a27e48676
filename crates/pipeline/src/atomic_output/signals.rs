//! Signals that end the process, after the unfinished outputs were removed.
//!
//! The handler does the only thing that is allowed there: it writes the signal's number to a
//! socket. A thread reads it, removes the files, and raises the signal again, for which the
//! default action is set by then.

use std::io::{self, Read};
use std::os::fd::IntoRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI32, Ordering};
use std::{mem, process, ptr, thread};

use super::remove_unfinished;

/// The signals that people and systems use to end a program.
const SIGNALS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// The descriptor that the handler writes to; -1 until there is one.
static SOCKET: AtomicI32 = AtomicI32::new(-1);

/// Makes SIGINT, SIGTERM and SIGHUP from now on remove the files of all unfinished outputs and call
/// `last`, before they end the process as they would have done anyway. A second signal of the
/// same kind ends it at once.
///
/// A signal that is ignored (as by `nohup`) or has a handler stays as it is. Call this once.
///
/// # Errors
///
/// Fails if a socket or a thread cannot be created, and if this was called before.
pub fn remove_on_signals(last: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let (mut reader, writer) = UnixStream::pair()?;
    let writer = writer.into_raw_fd();
    // The socket stays open: the handler may run at any time.
    if SOCKET
        .compare_exchange(-1, writer, Ordering::Release, Ordering::Relaxed)
        .is_err()
    {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let thread = thread::Builder::new().name("signals".to_owned());
    thread.spawn(move || {
        blitz_io_observe::serves_process();
        let mut signal = [0];
        if reader.read_exact(&mut signal).is_err() {
            return;
        }
        // Kept to the end: no output gets its name after this.
        let _removed = remove_unfinished();
        last();
        let signal = i32::from(signal[0]);
        // SAFETY: the action is the default one, which ends the process.
        unsafe { libc::raise(signal) };
        // This thread inherited a mask that blocks the signal.
        process::exit(128 + signal);
    })?;
    SIGNALS.into_iter().try_for_each(catch)
}

/// Sets the handler of a signal, if it has the default action.
fn catch(signal: i32) -> io::Result<()> {
    // SAFETY: all bytes of the structure may be zero.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: the new action is not given, and the structure for the old one is writable.
    if unsafe { libc::sigaction(signal, ptr::null(), &mut action) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if action.sa_sigaction != libc::SIG_DFL {
        return Ok(());
    }
    action.sa_sigaction = handle as extern "C" fn(i32) as usize;
    action.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
    // SAFETY: the handler is a function of the right type, and calls nothing but functions
    // that may be called in a handler.
    match unsafe { libc::sigaction(signal, &action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

extern "C" fn handle(signal: i32) {
    let number = signal as u8;
    // SAFETY: the byte lives until the call returns, and the descriptor is never closed. The
    // call succeeds, as nothing else is in the socket's buffer, so it does not change `errno`
    // for the code that was interrupted.
    unsafe {
        libc::write(
            SOCKET.load(Ordering::Acquire),
            (&raw const number).cast(),
            1,
        )
    };
}
