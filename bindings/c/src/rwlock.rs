//! A read-write lock: a reader takes one permit, and a writer takes all of them.

use std::ffi::c_int;

use blitz_io::sync::Semaphore;

use crate::error::{BLITZ_EAGAIN, Outcome, entry, invalid};
use crate::mutex::{take_masked, try_take, wait_for};
use crate::storage::Storage;
use crate::wait::Limit;

/// All permits: the most readers at once. (As many would look like a writer to those that unlock.)
const ALL: u32 = (1 << 29) - 1;

/// The first word of `space` of a lock that is free. See `blitz_rwlock`.
pub const BLITZ_RWLOCK_FREE: usize = 2147483644;
/// A reader subtracts this from the first word of `space`. See `blitz_rwlock`.
pub const BLITZ_RWLOCK_READER: usize = 4;

const _: () = assert!(BLITZ_RWLOCK_FREE == ALL as usize * BLITZ_RWLOCK_READER);

/// A lock for many readers or one writer, by value. Initialise it with `BLITZ_RWLOCK_INIT`, or
/// with zeros. It needs no destruction. Do not copy or move it after its first use. Threads and
/// fibers may use one lock together. It is fair: a reader that comes after a writer waits for the
/// writer, so a thread or fiber must not lock it for reading twice. Free it when all calls with it have
/// returned: the next owner must not free it while the unlocking call of the former one runs.
///
/// Waiting for a lock is not ended by the cancellation of a fiber.
///
/// A program may lock and unlock without a call, in inline functions. If `state`, read with acquire
/// ordering, is `BLITZ_STATE_READY`, the first word of `space` (a `size_t`) is `BLITZ_RWLOCK_FREE` less
/// `BLITZ_RWLOCK_READER` for each reader, and 0 while a writer has the lock. Its lowest two bits are 0
/// if nothing waits. Then a reader may subtract its part from a word that is not 0, with a
/// compare-exchange of acquire ordering. To unlock it adds this part to a word that is neither 0 nor
/// `BLITZ_RWLOCK_FREE`, with one of release ordering. A writer changes the word from `BLITZ_RWLOCK_FREE`
/// to 0 and back in the same manner. If `state` or the word is another, call the functions.
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

#[test]
fn the_word_of_a_lock_is_as_documented() {
    use crate::safety::call;

    let mut lock = blitz_rwlock {
        state: 0,
        config: 0,
        space: [0; 7],
    };
    let word = |lock: &blitz_rwlock| lock.space[0] as usize;
    assert_eq!(call(blitz_rwlock_write, &mut lock), 0);
    assert_eq!(
        (lock.state, word(&lock)),
        (crate::storage::BLITZ_STATE_READY, 0)
    );
    assert_eq!(call(blitz_rwlock_unlock_write, &mut lock), 0);
    assert_eq!(word(&lock), BLITZ_RWLOCK_FREE);
    assert_eq!(call(blitz_rwlock_read, &mut lock), 0);
    assert_eq!(word(&lock), BLITZ_RWLOCK_FREE - BLITZ_RWLOCK_READER);
    assert_eq!(call(blitz_rwlock_unlock_read, &mut lock), 0);
    assert_eq!(word(&lock), BLITZ_RWLOCK_FREE);
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
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_rwlock_read(lock: *mut blitz_rwlock) -> c_int {
    entry(|| take_masked(blitz_rwlock::of(lock)?, 1, Limit::Never))
}

/// Locks for reading, but waits until `deadline_ns` at most (nanoseconds of `blitz_now_ns`).
///
/// Returns `BLITZ_OK`, `BLITZ_ETIMEDOUT`, or `BLITZ_EINVAL` if `lock` is NULL.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_rwlock_read_until(
    lock: *mut blitz_rwlock,
    deadline_ns: u64,
) -> c_int {
    lock_until(lock, 1, deadline_ns)
}

/// Locks for reading if that is possible at once. Does not wait.
///
/// Returns `BLITZ_OK`, `BLITZ_EAGAIN`, or `BLITZ_EINVAL` if `lock` is NULL.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_rwlock_try_read(lock: *mut blitz_rwlock) -> c_int {
    entry(|| try_take(blitz_rwlock::of(lock)?, 1))
}

/// Locks for writing. Suspends the calling fiber, or blocks the calling thread, until nothing else
/// has the lock.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `lock` is NULL.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_rwlock_write(lock: *mut blitz_rwlock) -> c_int {
    entry(|| take_masked(blitz_rwlock::of(lock)?, ALL, Limit::Never))
}

/// Locks for writing, but waits until `deadline_ns` at most (nanoseconds of `blitz_now_ns`).
///
/// Returns `BLITZ_OK`, `BLITZ_ETIMEDOUT`, or `BLITZ_EINVAL` if `lock` is NULL.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_rwlock_write_until(
    lock: *mut blitz_rwlock,
    deadline_ns: u64,
) -> c_int {
    lock_until(lock, ALL, deadline_ns)
}

/// Locks for writing if that is possible at once. Does not wait.
///
/// Returns `BLITZ_OK`, `BLITZ_EAGAIN`, or `BLITZ_EINVAL` if `lock` is NULL.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_rwlock_try_write(lock: *mut blitz_rwlock) -> c_int {
    entry(|| try_take(blitz_rwlock::of(lock)?, ALL))
}

/// Ends a lock for reading. Does not wait.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `lock` is NULL or not locked for reading; then it stays as
/// it is.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_rwlock_unlock_read(lock: *mut blitz_rwlock) -> c_int {
    // While a writer has the lock, no permit is free.
    entry(|| release(lock, 1, "reading", |free| free != 0 && free != ALL as usize))
}

/// Ends a lock for writing. Does not wait.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `lock` is NULL or not locked for writing; then it stays as
/// it is.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_rwlock_unlock_write(lock: *mut blitz_rwlock) -> c_int {
    entry(|| release(lock, ALL, "writing", |free| free == 0))
}

#[inline]
fn release(
    lock: *mut blitz_rwlock,
    permits: u32,
    what_for: &str,
    is_held: impl Fn(usize) -> bool,
) -> Outcome {
    if blitz_rwlock::of(lock)?.add_permits_if(permits as usize, is_held) {
        Ok(())
    } else {
        Err(invalid(format_args!(
            "the lock is not locked for {what_for}"
        )))
    }
}
