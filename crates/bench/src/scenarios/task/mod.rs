//! Primitives for tasks: uncontended on one thread without a runtime (tier 1), and
//! contended on a runtime of four workers (tier 3).
//!
//! In tier 1 nothing ever waits. If an operation is a future, it is polled once and must
//! be ready. `black_box` is around what a compiler could see through, in the shared bodies
//! and so for all contenders alike.

mod barrier;
mod mutex;
mod notify;
mod once_cell;
mod rwlock;
mod semaphore;

use super::all;
use crate::scenario::Scenario;

pub(super) fn scenarios() -> Vec<Scenario> {
    all(&[
        mutex::scenarios,
        rwlock::scenarios,
        semaphore::scenarios,
        once_cell::scenarios,
        notify::scenarios,
        barrier::scenarios,
    ])
}
