//! Calls of a worker at the beginning of its work, every few dozen polls, and at the end.

use super::{clock, lint, recorders};

/// Looks at the clock for this thread, a worker. It calls this again every few dozen polls, and when it has slept.
#[inline]
pub fn cache_time() {
    clock::cache_time();
    if recorders::lints() {
        lint::slept();
    }
}

/// Forgets the cached time: this thread is no longer a worker.
#[inline]
pub fn forget_time() {
    clock::forget_time();
    if recorders::lints() {
        lint::may_block();
    }
}
