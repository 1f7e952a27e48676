//! A mutex: one permit.

use std::ffi::c_int;

use blitz_io::sync::{Semaphore, TryAcquireError};
use blitz_io_core::Spin;

use crate::error::{BLITZ_EAGAIN, BLITZ_ECLOSED, Outcome, entry, invalid};
use crate::storage::Storage;
use crate::wait::{self, Limit, is_fiber};

/// The first word of `space` of a mutex that is free. See `blitz_mutex`.
pub const BLITZ_MUTEX_FREE: usize = 4;

/// A mutual exclusion lock, by value. Initialise it with `BLITZ_MUTEX_INIT`, or with zeros. It
/// needs no destruction. Do not copy or move it after its first use. Threads and fibers may use
/// one mutex together. It is fair: waiters get it in the order in which they came. (A thread becomes
/// a waiter when it has spun for some microseconds.) It is not recursive. A thread or fiber may unlock
/// what another has locked. Free it when all calls with it have returned: the next owner must not free
/// it while the `blitz_mutex_unlock` of the former one runs.
///
/// Waiting for a mutex is not ended by the cancellation of a fiber.
///
/// A program may lock and unlock without a call, in inline functions. If `state`, read with acquire
/// ordering, is `BLITZ_STATE_READY`, the first word of `space` (a `size_t`) is `BLITZ_MUTEX_FREE` if the
/// mutex is free, and 0 if it is locked and nothing waits. A compare-exchange from the first to the
/// second, with acquire ordering, locks the mutex; one the other way round, with release ordering,
/// unlocks it. If `state` or the word is another, call the functions.
#[repr(C)]
pub struct blitz_mutex {
    state: u32,
    config: u32,
    space: [u64; 7],
}

// SAFETY: the fields are as required.
unsafe impl Storage for blitz_mutex {
    type Primitive = Semaphore;

    fn new(_: u32) -> Semaphore {
        Semaphore::const_new(1)
    }
}

#[test]
fn the_word_of_a_mutex_is_as_documented() {
    use crate::safety::call;

    let mut mutex = blitz_mutex {
        state: 0,
        config: 0,
        space: [0; 7],
    };
    let word = |mutex: &blitz_mutex| mutex.space[0] as usize;
    assert_eq!(call(blitz_mutex_lock, &mut mutex), 0);
    assert_eq!(
        (mutex.state, word(&mutex)),
        (crate::storage::BLITZ_STATE_READY, 0)
    );
    assert_eq!(call(blitz_mutex_unlock, &mut mutex), 0);
    assert_eq!(word(&mutex), BLITZ_MUTEX_FREE);
}

/// Takes permits if they are free.
pub(crate) fn try_take(semaphore: &Semaphore, permits: u32) -> Outcome {
    match semaphore.try_acquire_many(permits) {
        Ok(permit) => {
            permit.forget();
            Ok(())
        }
        Err(TryAcquireError::NoPermits) => Err(BLITZ_EAGAIN),
        Err(TryAcquireError::Closed) => Err(BLITZ_ECLOSED),
    }
}

/// Takes the permits of a lock, also in a fiber that is cancelled.
#[inline]
pub(crate) fn take_masked(semaphore: &Semaphore, permits: u32, limit: Limit) -> Outcome {
    match try_take(semaphore, permits) {
        Err(BLITZ_EAGAIN) => wait_for_lock(semaphore, permits, limit),
        result => result,
    }
}

/// Waits for the permits of a lock. While threads are queued, the lock stays idle until the next
/// owner is scheduled. So a thread first spins as long as for a lock, outside of the queue, so
/// that the queue can become empty.
#[cold]
fn wait_for_lock(semaphore: &Semaphore, permits: u32, limit: Limit) -> Outcome {
    if matches!(limit, Limit::Never) && !is_fiber() && spin_for_lock(semaphore, permits) {
        return Ok(());
    }
    wait_for(semaphore, permits, limit, false)
}

/// Spins for the permits of a lock. Returns `true` if it has got them.
fn spin_for_lock(semaphore: &Semaphore, permits: u32) -> bool {
    let mut spin = Spin::LOCK;
    while spin.turn() {
        // No permit is free while threads are queued.
        if semaphore.available_permits() >= permits as usize && try_take(semaphore, permits).is_ok()
        {
            return true;
        }
    }
    false
}

/// Waits for permits.
#[cold]
pub(crate) fn wait_for(
    semaphore: &Semaphore,
    permits: u32,
    limit: Limit,
    is_cancellable: bool,
) -> Outcome {
    let acquired = match limit {
        // A thread spins before it sleeps.
        Limit::Never if !is_fiber() => semaphore.blocking_acquire_many(permits),
        _ if is_cancellable => wait::on(semaphore.acquire_many(permits), limit)?,
        _ => wait::on_masked(semaphore.acquire_many(permits), limit)?,
    };
    acquired
        .map(|permit| permit.forget())
        .map_err(|_| BLITZ_ECLOSED)
}

/// Locks a mutex. Suspends the calling fiber, or blocks the calling thread, until it is free.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `mutex` is NULL. A thread or fiber that locks a mutex
/// which it has locked waits for ever.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_mutex_lock(mutex: *mut blitz_mutex) -> c_int {
    entry(|| take_masked(blitz_mutex::of(mutex)?, 1, Limit::Never))
}

/// Locks a mutex as `blitz_mutex_lock` does, but waits until `deadline_ns` at most (nanoseconds of
/// `blitz_now_ns`).
///
/// Returns `BLITZ_OK`, `BLITZ_ETIMEDOUT`, or `BLITZ_EINVAL` if `mutex` is NULL.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_mutex_lock_until(
    mutex: *mut blitz_mutex,
    deadline_ns: u64,
) -> c_int {
    entry(|| take_masked(blitz_mutex::of(mutex)?, 1, Limit::at(deadline_ns)))
}

/// Locks a mutex if it is free. Does not wait.
///
/// Returns `BLITZ_OK`, `BLITZ_EAGAIN` if it is not free, or `BLITZ_EINVAL` if `mutex` is NULL.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_mutex_try_lock(mutex: *mut blitz_mutex) -> c_int {
    entry(|| try_take(blitz_mutex::of(mutex)?, 1))
}

/// Unlocks a mutex, and wakes the first thread or fiber that waits for it. Does not wait.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `mutex` is NULL or not locked.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_mutex_unlock(mutex: *mut blitz_mutex) -> c_int {
    entry(|| unlock(blitz_mutex::of(mutex)?))
}

/// Returns the permit of a mutex that is locked.
#[inline]
pub(crate) fn unlock(mutex: &Semaphore) -> Outcome {
    if mutex.add_permits_if(1, |free| free == 0) {
        Ok(())
    } else {
        Err(invalid("the mutex is not locked"))
    }
}
