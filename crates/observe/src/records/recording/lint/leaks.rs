//! Tasks that no longer could be woken when their runtime ended. `blitz-io-inspect` judges the waits of the runtime then,
//! and gives the result to the recorder as text.

use std::sync::{Mutex, MutexGuard, PoisonError};

use blitz_io_futex::per_process::PerProcess;

use super::edges::{EVENTS, lost};

static LEAKS: PerProcess<Mutex<Vec<String>>> = PerProcess::new(Mutex::default);

pub(super) fn leaks() -> MutexGuard<'static, Vec<String>> {
    LEAKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps what was found as a runtime ended: a value in JSON, which has the fields of `Leak` in `blitz-io-inspect`.
pub fn leaked(json: String) {
    let mut leaks = leaks();
    if leaks.len() < EVENTS {
        leaks.push(json);
    } else {
        drop(leaks);
        lost(|lost| &mut lost.events);
    }
}
