//! Ctrl-C, and SIGTERM, for commands that end in an orderly way.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The time in which a signal certainly arrives.
const MOMENT: Duration = Duration::from_millis(100);

static PRESSED: AtomicBool = AtomicBool::new(false);

/// Starts to listen. Without a handler, Ctrl-C ends the command at once. `again`: called if Ctrl-C is pressed again.
pub fn watch(again: fn()) {
    let _ = ctrlc::set_handler(move || {
        if PRESSED.swap(true, Ordering::Relaxed) {
            again();
        }
    });
}

/// Counts SIGTERM as Ctrl-C from now on. Without this, it ends the command at once.
#[cfg(unix)]
pub fn watch_termination() {
    extern "C" fn handle(_: libc::c_int) {
        PRESSED.store(true, Ordering::Relaxed);
    }
    let handle = handle as extern "C" fn(libc::c_int);
    // SAFETY: all bits of the value may be zero. The handler stores to an atomic, which is allowed in a handler, and
    // calls of the system go on after it.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGTERM, &action, std::ptr::null_mut());
    }
}

/// Does nothing: this system has no such signal.
#[cfg(not(unix))]
pub fn watch_termination() {}

/// Returns `true` if Ctrl-C was pressed. A terminal sends it to the programs that the command has started, too.
pub fn is_pressed() -> bool {
    PRESSED.load(Ordering::Relaxed)
}

/// Does the same for a command one of whose programs has failed: that may have got the signal a moment earlier.
pub fn is_pressed_by_now() -> bool {
    let end = Instant::now() + MOMENT;
    while !is_pressed() && Instant::now() < end {
        sleep(MOMENT / 100);
    }
    is_pressed()
}
