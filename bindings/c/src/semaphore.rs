//! A counting semaphore.

use std::ffi::c_int;

use blitz_io::sync::Semaphore;

use crate::error::{BLITZ_EAGAIN, BLITZ_EINVAL, entry, entry_or, invalid, record};
use crate::mutex::{try_take, wait_for};
use crate::storage::Storage;
use crate::wait::Limit;

/// The most permits of a semaphore.
pub const BLITZ_SEMAPHORE_MAX: u32 = (1 << 29) - 1;

/// A permit in the first word of `space` of a semaphore. See `blitz_semaphore`.
pub const BLITZ_SEMAPHORE_PERMIT: usize = 4;

/// A counting semaphore, by value. Initialise it with `BLITZ_SEMAPHORE_INIT(permits)`, where
/// `permits` is 0 to `BLITZ_SEMAPHORE_MAX` (a larger number counts as the maximum); zeros are 0
/// permits. It needs no destruction. Do not copy or move it after its first use. Threads and
/// fibers may use one semaphore together. It is fair: a request for many permits is not overtaken
/// by smaller ones. Free it when all calls with it have returned. A permit can arrive while the
/// `blitz_semaphore_release` that added it still runs. (A latch or an event may be freed then.)
///
/// A program may take and add permits without a call, in inline functions. If `state`, read with acquire
/// ordering, is `BLITZ_STATE_READY`, the first word of `space` (a `size_t`) is `BLITZ_SEMAPHORE_PERMIT`
/// times the number of free permits. Its lowest two bits are 0 if nothing waits and the semaphore is not
/// closed. Then a program may subtract `BLITZ_SEMAPHORE_PERMIT` for each permit that it takes, with a
/// compare-exchange of acquire ordering, and add it for each permit up to `BLITZ_SEMAPHORE_MAX`, with one
/// of release ordering. If `state` or the word is another, call the functions.
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

#[test]
fn the_word_of_a_semaphore_is_as_documented() {
    use crate::safety::call;

    let mut semaphore = blitz_semaphore {
        state: 0,
        config: 3,
        space: [0; 7],
    };
    let word = |semaphore: &blitz_semaphore| semaphore.space[0] as usize;
    // SAFETY: the semaphore lives, and only this thread uses it.
    assert_eq!(unsafe { blitz_semaphore_acquire(&mut semaphore, 2) }, 0);
    assert_eq!(
        (semaphore.state, word(&semaphore)),
        (crate::storage::BLITZ_STATE_READY, BLITZ_SEMAPHORE_PERMIT)
    );
    // SAFETY: the semaphore lives, and only this thread uses it.
    assert_eq!(unsafe { blitz_semaphore_release(&mut semaphore, 2) }, 0);
    assert_eq!(word(&semaphore), 3 * BLITZ_SEMAPHORE_PERMIT);
    // The exchange with which a program adds a permit.
    semaphore.space[0] += BLITZ_SEMAPHORE_PERMIT as u64;
    // SAFETY: the semaphore lives, and only this thread uses it.
    assert_eq!(unsafe { blitz_semaphore_available(&semaphore) }, 4);
    assert_eq!(call(blitz_semaphore_close, &mut semaphore), 0);
    assert_ne!(word(&semaphore) % BLITZ_SEMAPHORE_PERMIT, 0);
}

fn acquire(semaphore: *mut blitz_semaphore, permits: u32, deadline_ns: u64) -> c_int {
    entry(|| {
        let semaphore = blitz_semaphore::of(semaphore)?;
        if permits > BLITZ_SEMAPHORE_MAX {
            return Err(invalid("more permits than BLITZ_SEMAPHORE_MAX"));
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
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_semaphore_acquire(
    semaphore: *mut blitz_semaphore,
    permits: u32,
) -> c_int {
    acquire(semaphore, permits, crate::time::BLITZ_NEVER)
}

/// Takes permits, but waits until `deadline_ns` at most (nanoseconds of `blitz_now_ns`). None are
/// taken if this fails.
///
/// Returns what `blitz_semaphore_acquire` returns, or `BLITZ_ETIMEDOUT`.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_semaphore_acquire_until(
    semaphore: *mut blitz_semaphore,
    permits: u32,
    deadline_ns: u64,
) -> c_int {
    acquire(semaphore, permits, deadline_ns)
}

/// Takes permits if there are as many, and no other call waits for permits. Does not wait.
///
/// Returns `BLITZ_OK`, `BLITZ_EAGAIN`, `BLITZ_ECLOSED`, or `BLITZ_EINVAL` if `semaphore` is NULL
/// or `permits` exceeds `BLITZ_SEMAPHORE_MAX`.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_semaphore_try_acquire(
    semaphore: *mut blitz_semaphore,
    permits: u32,
) -> c_int {
    entry(|| {
        let semaphore = blitz_semaphore::of(semaphore)?;
        if permits > BLITZ_SEMAPHORE_MAX {
            return Err(invalid("more permits than BLITZ_SEMAPHORE_MAX"));
        }
        try_take(semaphore, permits)
    })
}

/// Adds permits and wakes the threads and fibers that get them. Does not wait.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `semaphore` is NULL or there would be more than
/// `BLITZ_SEMAPHORE_MAX` permits; then none have been added.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_semaphore_release(
    semaphore: *mut blitz_semaphore,
    permits: u32,
) -> c_int {
    entry(|| {
        let semaphore = blitz_semaphore::of(semaphore)?;
        let room = (BLITZ_SEMAPHORE_MAX as usize).checked_sub(permits as usize);
        let fits = |free| room.is_some_and(|room| free <= room);
        if permits == 0 || semaphore.add_permits_if(permits as usize, fits) {
            Ok(())
        } else {
            Err(invalid(
                "there would be more permits than BLITZ_SEMAPHORE_MAX",
            ))
        }
    })
}

/// Adds permits as `blitz_semaphore_release` does, if no more than `bound` are free then: permits that go to a waiter are
/// not free. With the number that the semaphore started with as the bound, this refuses a release without an acquire.
/// Does not wait.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `semaphore` is NULL or there would be more than `bound` or
/// `BLITZ_SEMAPHORE_MAX` permits; then none have been added.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_semaphore_release_within(
    semaphore: *mut blitz_semaphore,
    permits: u32,
    bound: u32,
) -> c_int {
    entry(|| {
        let bound = bound.min(BLITZ_SEMAPHORE_MAX) as usize;
        blitz_semaphore::of(semaphore)?
            .add_permits_within(permits as usize, bound)
            .map_err(|error| record(BLITZ_EINVAL, error))
    })
}

/// Closes a semaphore: all current and later waits get `BLITZ_ECLOSED`. Does not wait.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `semaphore` is NULL.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_semaphore_close(semaphore: *mut blitz_semaphore) -> c_int {
    entry(|| {
        blitz_semaphore::of(semaphore)?.close();
        Ok(())
    })
}

/// Returns the number of free permits, which other calls may change at once; 0 if `semaphore` is NULL.
/// Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_semaphore_available(semaphore: *const blitz_semaphore) -> u32 {
    entry_or(0, || {
        blitz_semaphore::of(semaphore).map_or(0, |semaphore| semaphore.available_permits() as u32)
    })
}
