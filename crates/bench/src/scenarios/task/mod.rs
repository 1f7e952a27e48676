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

use crate::scenario::Scenario;

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = Vec::new();
    scenarios.extend(mutex::scenarios());
    scenarios.extend(rwlock::scenarios());
    scenarios.extend(semaphore::scenarios());
    scenarios.extend(once_cell::scenarios());
    scenarios.extend(notify::scenarios());
    scenarios.extend(barrier::scenarios());
    scenarios
}
