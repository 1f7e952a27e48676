//! The table on loom's locks.
//!
//! Every operation on a loom object is a point at which the model checker may switch
//! threads, so there is only one bucket and nothing else.
//!
//! With `LOOM_LOCATION`, loom reports the line of the call that sleeps. Functions from [`sleep`] up to the public
//! ones have `track_caller` under loom, so that this is a line of the model.

pub(super) use loom::sync::Condvar;
use std::sync::PoisonError;
use std::time::Instant;

pub(crate) use crate::source::{Mutex, MutexGuard};

use super::table::{Bucket, Queue, Table};

pub(super) const BUCKETS: usize = 1;

loom::lazy_static! {
    static ref TABLE: Table =
        Table::new([Bucket(Mutex::new(Queue::new(Clock { expired: false })))]);
}

/// Returns the table of this execution. loom creates a new one for each.
pub(super) fn table() -> &'static Table {
    &TABLE
}

/// A clock that knows two times: before and after all deadlines.
pub(super) struct Clock {
    expired: bool,
}

impl Clock {
    pub(super) fn has_passed(&self, _deadline: Instant) -> bool {
        self.expired
    }

    pub(super) fn expire(&mut self) {
        self.expired = true;
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits on the condition variable. The clock handles deadlines.
#[cfg_attr(loom, track_caller)]
pub(super) fn sleep<'a, T>(
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    _deadline: Option<Instant>,
) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
}
