//! A latch: a count that only goes down, on a futex word. It has the protocol of
//! `protocol/latch_word.rs`.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::protocol::latch_word;
use blitz_io::futex::Scope;
use blitz_io_core::{Spin, deadline};

use crate::error::{BLITZ_EAGAIN, Outcome, entry, entry_or, invalid};
use crate::futex::{sleep_on, wake};
use crate::storage::words;
use crate::time::BLITZ_NEVER;
use crate::wait::{Limit, is_fiber};

/// The largest count of a latch.
pub const BLITZ_LATCH_MAX: u32 = 2147483647;

const _: () = assert!(
    BLITZ_LATCH_MAX == u32::MAX >> 1,
    "a bit of the word is a flag"
);

/// A latch, by value: threads and fibers wait until a count has come down to 0, once. Initialise
/// it with `BLITZ_LATCH_INIT(count)`, where `count` is `BLITZ_LATCH_MAX` at most; zeros are an open
/// latch. It needs no destruction. Do not copy or move it after its first use.
///
/// A thread or fiber that has seen that the count is 0, in `blitz_latch_wait`, `blitz_latch_try_wait` or
/// `blitz_latch_count`, may free the latch if no other waits for it. The `blitz_latch_count_down` that has
/// lowered the count to 0 does not use the latch any more, even if this call has not returned.
#[repr(C)]
pub struct blitz_latch {
    state: u32,
    config: u32,
    space: [u64; 9],
}

/// Returns the word and the initial count.
#[inline]
fn parts<'a>(latch: *const blitz_latch) -> Outcome<(&'a AtomicU32, u32)> {
    let (word, initial) = words(latch.cast())?;
    match count(word, initial) {
        Some(_) => Ok((word, initial)),
        None => Err(invalid("the latch was never initialised")),
    }
}

/// Returns the count, or `None` if the word is no state of a latch with this initial count.
#[inline]
fn count(word: &AtomicU32, initial: u32) -> Option<u32> {
    let count = latch_word::count_in(word.load(Ordering::Acquire), initial);
    (initial <= BLITZ_LATCH_MAX && count <= initial).then_some(count)
}

fn wait_until(latch: *mut blitz_latch, deadline_ns: u64) -> Outcome {
    let (word, initial) = parts(latch)?;
    if latch_word::is_open(word, initial) {
        Ok(())
    } else {
        wait(word, initial, Limit::at(deadline_ns))
    }
}

#[cold]
fn wait(word: &AtomicU32, initial: u32, limit: Limit) -> Outcome {
    let is_open = || latch_word::is_open(word, initial);
    if !is_fiber() && deadline::spin_until(Spin::EVENT, limit.deadline(), is_open) {
        return Ok(());
    }
    latch_word::wait(word, initial, |word, state| sleep_on(word, state, limit))
}

/// Lowers the count by `n`. At 0, wakes all threads and fibers that wait. Memory operations before this
/// call are visible to them. Does not wait. At 0, this may still run when they have freed the latch.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `latch` is NULL or the count is less than `n`; then it
/// stays as it is.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_latch_count_down(latch: *mut blitz_latch, n: u32) -> c_int {
    entry(|| {
        let (word, initial) = parts(latch)?;
        // Every system has a futex for one process.
        let wake_all = |word: *const AtomicU32| _ = wake(word.cast(), usize::MAX, Scope::Private);
        if latch_word::count_down(word, initial, n, wake_all) {
            Ok(())
        } else {
            Err(invalid("the count is less than that"))
        }
    })
}

/// Waits until the count is 0. Suspends the calling fiber, or blocks the calling thread.
///
/// Returns `BLITZ_OK`; `BLITZ_ECANCELED` in a fiber that is cancelled; or `BLITZ_EINVAL` if
/// `latch` is NULL.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_latch_wait(latch: *mut blitz_latch) -> c_int {
    entry(|| wait_until(latch, BLITZ_NEVER))
}

/// Waits until the count is 0, or `deadline_ns` at most (nanoseconds of `blitz_now_ns`).
///
/// Returns what `blitz_latch_wait` returns, or `BLITZ_ETIMEDOUT`.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_latch_wait_until(
    latch: *mut blitz_latch,
    deadline_ns: u64,
) -> c_int {
    entry(|| wait_until(latch, deadline_ns))
}

/// Returns `BLITZ_OK` if the count is 0, `BLITZ_EAGAIN` if it is not, or `BLITZ_EINVAL` if `latch`
/// is NULL. Does not wait.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_latch_try_wait(latch: *const blitz_latch) -> c_int {
    entry(|| {
        let (word, initial) = parts(latch)?;
        if latch_word::is_open(word, initial) {
            Ok(())
        } else {
            Err(BLITZ_EAGAIN)
        }
    })
}

/// Returns the count, which may be lower by now; 0 if `latch` is NULL. Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_latch_count(latch: *const blitz_latch) -> u32 {
    entry_or(0, || {
        let count = |(word, initial)| count(word, initial).unwrap_or(0);
        parts(latch).map_or(0, count)
    })
}
