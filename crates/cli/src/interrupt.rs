//! Ctrl-C for commands that end in an orderly way: the first asks for that, the second ends the command at once.

use std::sync::atomic::{AtomicBool, Ordering};

static PRESSED: AtomicBool = AtomicBool::new(false);

/// Starts to listen. Without a handler, Ctrl-C ends the command at once.
pub fn watch() {
    let _ = ctrlc::set_handler(|| {
        if PRESSED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
}

/// Returns `true` if Ctrl-C was pressed. A terminal sends it to the programs that the command has started, too.
pub fn is_pressed() -> bool {
    PRESSED.load(Ordering::Relaxed)
}
