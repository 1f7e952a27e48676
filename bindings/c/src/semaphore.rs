//! A counting semaphore.

use std::ffi::c_int;

use blitz_io::sync::Semaphore;

use crate::error::{BLITZ_EAGAIN, BLITZ_EINVAL, entry, entry_or};
use crate::mutex::{try_take, wait_for};
use crate::storage::Storage;
use crate::wait::Limit;

/// The most permits of a semaphore.
pub const BLITZ_SEMAPHORE_MAX: u32 = (1 << 29) - 1;

/// A counting semaphore, by value. Initialise it with `BLITZ_SEMAPHORE_INIT(permits)`, where
/// `permits` is 0 to `BLITZ_SEMAPHORE_MAX` (a larger number counts as the maximum); zeros are 0
/// permits. It needs no destruction. Do not copy or move it after its first use. Threads and
/// fibers may use one semaphore together. It is fair: a request for many permits is not overtaken
/// by smaller ones.
#[repr(C)]
pub struct blitz_semaphore {
    state: u32,
    config: u32,
    space: [u64; 7],
}

// SAFETY: the fields are as required.
unsafe impl Storage for blitz_semaphore {
    type Primitive = Semaphore;

    fn new(permits: u32) -> Semaphore {
        Semaphore::const_new(permits.min(BLITZ_SEMAPHORE_MAX) as usize)
    }
}

fn acquire(semaphore: *mut blitz_semaphore, permits: u32, deadline_ns: u64) -> c_int {
    entry(|| {
        let semaphore = blitz_semaphore::of(semaphore)?;
        if permits > BLITZ_SEMAPHORE_MAX {
            return Err(BLITZ_EINVAL);
        }
        match try_take(semaphore, permits) {
            Err(BLITZ_EAGAIN) => wait_for(semaphore, permits, Limit::at(deadline_ns), true),
            result => result,
        }
    })
}

/// Takes permits. Suspends the calling fiber, or blocks the calling thread, until there are as
/// many. None are taken if this fails.
///
/// Returns `BLITZ_OK`; `BLITZ_ECLOSED` if the semaphore is closed; `BLITZ_ECANCELED` in a fiber
/// that is cancelled; `BLITZ_EINVAL` if `semaphore` is NULL or `permits` exceeds
/// `BLITZ_SEMAPHORE_MAX`.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_semaphore_acquire(semaphore: *mut blitz_semaphore, permits: u32) -> c_int {
    acquire(semaphore, permits, crate::time::BLITZ_NEVER)
}

/// Takes permits, but waits until `deadline_ns` at most (nanoseconds of `blitz_now_ns`). None are
/// taken if this fails.
///
/// Returns what `blitz_semaphore_acquire` returns, or `BLITZ_ETIMEDOUT`.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_semaphore_acquire_until(
    semaphore: *mut blitz_semaphore,
    permits: u32,
    deadline_ns: u64,
) -> c_int {
    acquire(semaphore, permits, deadline_ns)
}

/// Takes permits if there are as many, and no other waits for some. Does not wait.
///
/// Returns `BLITZ_OK`, `BLITZ_EAGAIN`, `BLITZ_ECLOSED`, or `BLITZ_EINVAL` if `semaphore` is NULL
/// or `permits` exceeds `BLITZ_SEMAPHORE_MAX`.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_semaphore_try_acquire(
    semaphore: *mut blitz_semaphore,
    permits: u32,
) -> c_int {
    entry(|| {
        let semaphore = blitz_semaphore::of(semaphore)?;
        if permits > BLITZ_SEMAPHORE_MAX {
            return Err(BLITZ_EINVAL);
        }
        try_take(semaphore, permits)
    })
}

/// Adds permits and wakes those that can go on with them. Does not wait.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `semaphore` is NULL or there would be more than
/// `BLITZ_SEMAPHORE_MAX` permits; then none have been added.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_semaphore_release(semaphore: *mut blitz_semaphore, permits: u32) -> c_int {
    entry(|| {
        let semaphore = blitz_semaphore::of(semaphore)?;
        let room = BLITZ_SEMAPHORE_MAX as usize;
        if permits as usize > room.saturating_sub(semaphore.available_permits()) {
            return Err(BLITZ_EINVAL);
        }
        semaphore.add_permits(permits as usize);
        Ok(())
    })
}

/// Closes a semaphore: all that wait, and all that come, get `BLITZ_ECLOSED`. Does not wait.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `semaphore` is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_semaphore_close(semaphore: *mut blitz_semaphore) -> c_int {
    entry(|| {
        blitz_semaphore::of(semaphore)?.close();
        Ok(())
    })
}

/// Returns the number of free permits, which may be another one by now; 0 if `semaphore` is NULL.
/// Does not wait.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_semaphore_available(semaphore: *mut blitz_semaphore) -> u32 {
    entry_or(0, || {
        blitz_semaphore::of(semaphore).map_or(0, |semaphore| semaphore.available_permits() as u32)
    })
}
