//! Ctrl-C: the first stops after the current sample, the second at once.

use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::ProgressBar;

use crate::exit::Exit;
use crate::output;

static STOP: AtomicBool = AtomicBool::new(false);
/// Ctrl-C was pressed.
static PRESSED: AtomicBool = AtomicBool::new(false);

/// Starts to listen and returns the flag that the first Ctrl-C sets. The first Ctrl-C also
/// clears the bar, which is not drawn again.
pub fn watch(bar: ProgressBar) -> &'static AtomicBool {
    let listening = ctrlc::set_handler(move || {
        if PRESSED.swap(true, Ordering::Relaxed) {
            restore_terminal();
            std::process::exit(130);
        }
        bar.finish_and_clear();
        if stderr().is_terminal() {
            output::tell("\r\x1b[2KStopping after this sample. Ctrl-C again stops at once.\n");
        }
        // Last, as the program may end when it sees this.
        STOP.store(true, Ordering::Relaxed);
    });
    if let Err(error) = listening {
        // The run works without a handler; Ctrl-C then just ends it.
        Exit::Failed(format!("Ctrl-C will lose the results: {error}")).report();
    }
    &STOP
}

/// Clears the line and shows the cursor.
fn restore_terminal() {
    if stderr().is_terminal() {
        output::tell("\r\x1b[2K\x1b[?25h");
    }
}
