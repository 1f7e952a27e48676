//! The table on the standard library's locks.

use std::sync::PoisonError;
pub(super) use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Instant;

use super::table::{Bucket, Queue, Table};

/// Two sleepers in one bucket only cost each other a little time.
pub(super) const BUCKETS: usize = 64;

static TABLE: Table = Table::new([const { Bucket(Mutex::new(Queue::new(Clock))) }; BUCKETS]);

pub(super) fn table() -> &'static Table {
    &TABLE
}

/// The real clock.
pub(super) struct Clock;

impl Clock {
    pub(super) fn has_passed(&self, deadline: Instant) -> bool {
        deadline <= Instant::now()
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No panic can happen between changes that belong together, so a poisoned queue is
    // consistent.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits on the condition variable. May return early.
pub(super) fn sleep<'a, T>(
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    deadline: Option<Instant>,
) -> MutexGuard<'a, T> {
    match deadline {
        None => condvar.wait(guard).unwrap_or_else(PoisonError::into_inner),
        Some(deadline) => {
            let left = deadline.saturating_duration_since(Instant::now());
            let result = condvar.wait_timeout(guard, left);
            result.unwrap_or_else(PoisonError::into_inner).0
        }
    }
}
