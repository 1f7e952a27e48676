//! Memory that is used again, so that batches need no system calls for it.

use std::sync::{Mutex, PoisonError};

/// Values that are not in use at the moment.
pub struct Spare<T>(Mutex<Vec<T>>);

impl<T: Default> Spare<T> {
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Returns a spare value, or a new one.
    pub fn take(&self) -> T {
        let spare = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_default()
    }

    /// Gives a value back.
    pub fn give(&self, value: T) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(value);
    }
}
