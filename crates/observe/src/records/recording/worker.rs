//! Calls of a worker at the beginning of its work, every few dozen polls, when it has slept, and at the end.

use super::{clock, lint, recorders};

/// Looks at the clock for this thread, a worker. It calls this again every few dozen polls.
#[inline]
pub fn cache_time() {
    clock::cache_time();
}

/// Like [`cache_time`], for a worker that has slept since its last poll, or may have.
#[inline]
pub fn cache_time_after_sleep() {
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
