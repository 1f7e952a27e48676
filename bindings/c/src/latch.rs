//! A latch: a count that only goes down, and a semaphore that is closed when it is 0.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

use blitz_io::sync::Semaphore;

use crate::error::{BLITZ_EAGAIN, BLITZ_ECLOSED, BLITZ_EINVAL, Outcome, entry, entry_or};
use crate::mutex::wait_for;
use crate::storage::Storage;
use crate::time::BLITZ_NEVER;
use crate::wait::Limit;

/// A latch, by value: threads and fibers wait until a count has come down to 0, once. Initialise
/// it with `BLITZ_LATCH_INIT(count)`; zeros are an open latch. It needs no destruction. Do not
/// copy or move it after its first use.
#[repr(C)]
pub struct blitz_latch {
    state: u32,
    config: u32,
    space: [u64; 9],
}

pub(crate) struct Latch {
    count: AtomicU32,
    /// Has no permits, and is closed when the count is 0.
    opened: Semaphore,
}

// SAFETY: the fields are as required.
unsafe impl Storage for blitz_latch {
    type Primitive = Latch;

    fn new(count: u32) -> Latch {
        Latch {
            count: AtomicU32::new(count),
            opened: Semaphore::const_new(0),
        }
    }
}

fn wait_until(latch: *mut blitz_latch, deadline_ns: u64) -> Outcome {
    let latch = blitz_latch::of(latch)?;
    if latch.count.load(Ordering::Acquire) == 0 {
        return Ok(());
    }
    match wait_for(&latch.opened, 1, Limit::at(deadline_ns), true) {
        Err(BLITZ_ECLOSED) => Ok(()),
        result => result,
    }
}

/// Lowers the count by `n`. At 0, all that wait go on. Does not wait. Everything that was done
/// before is visible to them.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `latch` is NULL or the count is less than `n`; then it
/// stays as it is.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_latch_count_down(latch: *mut blitz_latch, n: u32) -> c_int {
    entry(|| {
        let latch = blitz_latch::of(latch)?;
        let lower = |count: u32| count.checked_sub(n);
        let before = latch
            .count
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, lower)
            .map_err(|_| BLITZ_EINVAL)?;
        if before == n {
            latch.opened.close();
        }
        Ok(())
    })
}

/// Waits until the count is 0. Suspends the calling fiber, or blocks the calling thread.
///
/// Returns `BLITZ_OK`; `BLITZ_ECANCELED` in a fiber that is cancelled; or `BLITZ_EINVAL` if
/// `latch` is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_latch_wait(latch: *mut blitz_latch) -> c_int {
    entry(|| wait_until(latch, BLITZ_NEVER))
}

/// Waits until the count is 0, or `deadline_ns` at most (nanoseconds of `blitz_now_ns`).
///
/// Returns what `blitz_latch_wait` returns, or `BLITZ_ETIMEDOUT`.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_latch_wait_until(latch: *mut blitz_latch, deadline_ns: u64) -> c_int {
    entry(|| wait_until(latch, deadline_ns))
}

/// Returns `BLITZ_OK` if the count is 0, `BLITZ_EAGAIN` if it is not, or `BLITZ_EINVAL` if `latch`
/// is NULL. Does not wait.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_latch_try_wait(latch: *mut blitz_latch) -> c_int {
    entry(
        || match blitz_latch::of(latch)?.count.load(Ordering::Acquire) {
            0 => Ok(()),
            _ => Err(BLITZ_EAGAIN),
        },
    )
}

/// Returns the count, which may be lower by now; 0 if `latch` is NULL. Does not wait.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_latch_count(latch: *mut blitz_latch) -> u32 {
    entry_or(0, || {
        blitz_latch::of(latch).map_or(0, |latch| latch.count.load(Ordering::Acquire))
    })
}
