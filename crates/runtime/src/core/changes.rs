//! Counts read-modify-writes, for the tests of what a task costs.

use std::cell::Cell;

thread_local! {
    static CHANGES: Cell<usize> = const { Cell::new(0) };
}

pub(super) fn count() {
    CHANGES.set(CHANGES.get() + 1);
}

/// How many are made meanwhile.
pub(super) fn during<R>(run: impl FnOnce() -> R) -> (usize, R) {
    let before = CHANGES.get();
    let result = run();
    (CHANGES.get() - before, result)
}
