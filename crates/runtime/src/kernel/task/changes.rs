//! Counts read-modify-writes, for the tests of a task's costs.

use std::cell::Cell;

thread_local! {
    static CHANGES: Cell<usize> = const { Cell::new(0) };
}

pub fn count() {
    CHANGES.set(CHANGES.get() + 1);
}

/// Runs `run`, and returns the number of read-modify-writes that it made.
pub fn during<R>(run: impl FnOnce() -> R) -> (usize, R) {
    let before = CHANGES.get();
    let result = run();
    (CHANGES.get() - before, result)
}
