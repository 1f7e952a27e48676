//! What the programs take from the system. `ecosystem/corpus` has the same names with shuttle's locks and threads.

pub use std::sync::{atomic, mpsc};
pub use std::thread;

#[path = "monitor.rs"]
mod monitor;
pub use monitor::Monitor;

/// Starts a thread for which the program does not wait.
pub fn spawn_background(f: impl FnOnce() + Send + 'static) {
    drop(thread::spawn(f));
}
