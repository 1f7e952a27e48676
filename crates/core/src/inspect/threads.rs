//! The names of the threads that have waited or held something.

use std::sync::{Mutex, PoisonError};

use crate::PerProcess;

static THREADS: PerProcess<Mutex<Vec<(u64, String)>>> = PerProcess::new(Mutex::default);

/// Keeps the name of the current thread for reports.
pub(super) fn name_thread(number: u64) {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or_default().to_owned();
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    threads.push((number, name));
}

/// The numbers and names.
pub(super) fn names() -> Vec<(u64, String)> {
    THREADS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}
