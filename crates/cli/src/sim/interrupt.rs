//! SIGINT and SIGTERM: each search stops after its present run, and the command prints the table so far.
//!
//! The programs are in process groups of their own, so Ctrl-C in a terminal does not reach them.

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// Starts to listen. Without that, the signals end the process.
#[cfg(unix)]
pub fn watch() {
    extern "C" fn handle(_: libc::c_int) {
        STOP.store(true, Ordering::Relaxed);
    }
    let handle = handle as extern "C" fn(libc::c_int);
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: all bits of the value may be zero. The handler stores to an atomic, which is allowed in a handler, and
        // calls of the system go on after it.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// Does nothing: no program is simulated on this system.
#[cfg(not(unix))]
pub fn watch() {}

/// Returns `true` after a signal.
pub fn is_stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}
