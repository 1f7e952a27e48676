//! Ctrl-C: both files become what they were.

use std::sync::atomic::{AtomicBool, Ordering};

static PRESSED: AtomicBool = AtomicBool::new(false);

/// Starts to listen. Without a handler, Ctrl-C ends the command at once.
pub fn watch() {
    let _ = ctrlc::set_handler(|| PRESSED.store(true, Ordering::Relaxed));
}

/// Returns `true` if Ctrl-C was pressed. A terminal sends it to Cargo as well, which ends.
pub fn is_pressed() -> bool {
    PRESSED.load(Ordering::Relaxed)
}
