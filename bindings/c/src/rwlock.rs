//! A read-write lock: a reader takes one permit, a writer all of them.

use std::ffi::c_int;

use blitz_io::sync::Semaphore;

use crate::error::{BLITZ_EAGAIN, BLITZ_EINVAL, Outcome, entry};
use crate::mutex::{take_masked, try_take, wait_for};
use crate::storage::Storage;
use crate::wait::Limit;

/// The most readers at once.
const ALL: u32 = (1 << 29) - 1;

/// A lock for many readers or one writer, by value. Initialise it with `BLITZ_RWLOCK_INIT`, or
/// with zeros. It needs no destruction. Do not copy or move it after its first use. Threads and
/// fibers may use one lock together. It is fair: a reader that comes after a writer waits for the
/// writer, so a thread or fiber must not lock it for reading twice.
///
/// Waiting for a lock is not ended by the cancellation of a fiber.
#[repr(C)]
pub struct blitz_rwlock {
    state: u32,
    config: u32,
    space: [u64; 7],
}

// SAFETY: the fields are as required.
unsafe impl Storage for blitz_rwlock {
    type Primitive = Semaphore;

    fn new(_: u32) -> Semaphore {
        Semaphore::const_new(ALL as usize)
    }
}

fn lock_until(lock: *mut blitz_rwlock, permits: u32, deadline_ns: u64) -> c_int {
    entry(|| {
        let lock = blitz_rwlock::of(lock)?;
        match try_take(lock, permits) {
            Err(BLITZ_EAGAIN) => wait_for(lock, permits, Limit::at(deadline_ns), false),
            result => result,
        }
    })
}

/// Locks for reading. Suspends the calling fiber, or blocks the calling thread, until no writer
/// has the lock or came before.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `lock` is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_rwlock_read(lock: *mut blitz_rwlock) -> c_int {
    entry(|| take_masked(blitz_rwlock::of(lock)?, 1, Limit::Never))
}

/// Locks for reading, but waits until `deadline_ns` at most (nanoseconds of `blitz_now_ns`).
///
/// Returns `BLITZ_OK`, `BLITZ_ETIMEDOUT`, or `BLITZ_EINVAL` if `lock` is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_rwlock_read_until(lock: *mut blitz_rwlock, deadline_ns: u64) -> c_int {
    lock_until(lock, 1, deadline_ns)
}

/// Locks for reading if that is possible at once. Does not wait.
///
/// Returns `BLITZ_OK`, `BLITZ_EAGAIN`, or `BLITZ_EINVAL` if `lock` is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_rwlock_try_read(lock: *mut blitz_rwlock) -> c_int {
    entry(|| try_take(blitz_rwlock::of(lock)?, 1))
}

/// Locks for writing. Suspends the calling fiber, or blocks the calling thread, until nothing else
/// has the lock.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `lock` is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_rwlock_write(lock: *mut blitz_rwlock) -> c_int {
    entry(|| take_masked(blitz_rwlock::of(lock)?, ALL, Limit::Never))
}

/// Locks for writing, but waits until `deadline_ns` at most (nanoseconds of `blitz_now_ns`).
///
/// Returns `BLITZ_OK`, `BLITZ_ETIMEDOUT`, or `BLITZ_EINVAL` if `lock` is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_rwlock_write_until(lock: *mut blitz_rwlock, deadline_ns: u64) -> c_int {
    lock_until(lock, ALL, deadline_ns)
}

/// Locks for writing if that is possible at once. Does not wait.
///
/// Returns `BLITZ_OK`, `BLITZ_EAGAIN`, or `BLITZ_EINVAL` if `lock` is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_rwlock_try_write(lock: *mut blitz_rwlock) -> c_int {
    entry(|| try_take(blitz_rwlock::of(lock)?, ALL))
}

/// Ends a lock for reading. Does not wait.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `lock` is NULL or not locked.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_rwlock_unlock_read(lock: *mut blitz_rwlock) -> c_int {
    entry(|| release(blitz_rwlock::of(lock)?, 1))
}

/// Ends a lock for writing. Does not wait.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `lock` is NULL or not locked for writing.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_rwlock_unlock_write(lock: *mut blitz_rwlock) -> c_int {
    entry(|| release(blitz_rwlock::of(lock)?, ALL))
}

fn release(lock: &Semaphore, permits: u32) -> Outcome {
    if lock.available_permits() > (ALL - permits) as usize {
        return Err(BLITZ_EINVAL);
    }
    lock.add_permits(permits as usize);
    Ok(())
}
