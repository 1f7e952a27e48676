//! Fibers that sleep on a futex word of this process. They wait in a table, whose protocol is
//! `blitz_io_sync::words`'s.

use std::ffi::c_int;
use std::sync::atomic::AtomicU32;

use blitz_io_sync::words::{Slept, Waited, Words};

use crate::error::BLITZ_ETIMEDOUT;
use crate::wait::{self, Limit};

static TABLE: Words<128> = Words::new();

/// Suspends the calling fiber while all words hold their expected values.
pub(crate) fn sleep(words: &[(&AtomicU32, u32)], limit: Limit) -> Slept<c_int> {
    TABLE.sleep(words, |notified| match wait::on(notified, limit) {
        Ok(()) => Waited::Notified,
        Err(BLITZ_ETIMEDOUT) => Waited::TimedOut,
        Err(error) => Waited::Cancelled(error),
    })
}

/// Wakes up to `n` fibers that sleep on a word, which may be gone. Returns how many.
#[inline]
pub(crate) fn wake(word: *const u32, n: usize) -> usize {
    TABLE.wake(word.cast(), n)
}
