//! The futex: sleep on a word of 32 bits until it changes.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::protocol::words::Slept;
use blitz_io::futex::{Scope, WAIT_ANY_MAX, WaitAny, WaitAnyError, WaitResult};
use blitz_io::task;
use blitz_io_core::Spin;

use crate::args::{Foreign, check, list, put, put_if_wanted};
use crate::error::{
    BLITZ_EAGAIN, BLITZ_ECANCELED, BLITZ_ECHANGED, BLITZ_ETIMEDOUT, BLITZ_EUNSUPPORTED, Outcome,
    entry, invalid, record,
};
use crate::fiber;
use crate::fibers_on_words;
use crate::time::BLITZ_NEVER;
use crate::wait::{self, Limit, is_fiber};

/// The word is used by the threads and fibers of one process.
pub const BLITZ_FUTEX_PRIVATE: u32 = 0;
/// The word is in memory that processes share.
pub const BLITZ_FUTEX_SHARED: u32 = 1;
/// The most words of `blitz_futex_wait_any`.
pub const BLITZ_FUTEX_ANY_MAX: usize = 128;

const _: () = assert!(BLITZ_FUTEX_ANY_MAX == WAIT_ANY_MAX);

/// The time for which a thread of the runtime waits for a shared word on behalf of a fiber, before it
/// checks whether the fiber was cancelled.
const SLICE: Duration = Duration::from_millis(50);

/// A word to wait for, with the value that it is expected to hold.
#[repr(C)]
pub struct blitz_futex_waiter {
    /// The word. It must be aligned to 4 bytes.
    pub word: *const u32,
    /// The value.
    pub expected: u32,
}

fn scope(scope: u32) -> Outcome<Scope> {
    match scope {
        BLITZ_FUTEX_PRIVATE => Ok(Scope::Private),
        BLITZ_FUTEX_SHARED => Ok(Scope::Shared),
        _ => Err(invalid("no such scope of a futex")),
    }
}

fn word<'a>(pointer: *const u32) -> Outcome<&'a AtomicU32> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(invalid("the word is NULL or not aligned"));
    }
    // SAFETY: rule 1 of `args`. The header requires that the caller reads and writes the word
    // atomically.
    Ok(unsafe { AtomicU32::from_ptr(pointer.cast_mut()) })
}

fn unsupported<T>(_: T) -> c_int {
    record(
        BLITZ_EUNSUPPORTED,
        "this system has no futex for memory that processes share",
    )
}

/// Waits, in a thread or in a fiber.
pub(crate) fn wait_on(word: &AtomicU32, expected: u32, scope: Scope, limit: Limit) -> Outcome {
    if word.load(Ordering::Relaxed) != expected {
        return Err(BLITZ_ECHANGED);
    }
    if is_fiber() {
        return match scope {
            Scope::Private => match fibers_on_words::sleep(&[(word, expected)], limit) {
                Slept::Woken(_) => Ok(()),
                Slept::Changed(_) => Err(BLITZ_ECHANGED),
                Slept::TimedOut => Err(BLITZ_ETIMEDOUT),
                Slept::Cancelled(error) => Err(error),
            },
            Scope::Shared => fiber_waits_shared(word, expected, limit),
        };
    }
    match scope
        .wait_deadline(word, expected, limit.deadline())
        .map_err(unsupported)?
    {
        WaitResult::Woken => Ok(()),
        WaitResult::ValueChanged => Err(BLITZ_ECHANGED),
        WaitResult::TimedOut => Err(BLITZ_ETIMEDOUT),
    }
}

/// Sleeps on a word of this process while it holds `state`, in a thread or in a fiber. Fails at the
/// limit, and in a fiber that is cancelled.
pub(crate) fn sleep_on(word: &AtomicU32, state: u32, limit: Limit) -> Outcome {
    match wait_on(word, state, Scope::Private, limit) {
        Err(BLITZ_ECHANGED) => Ok(()),
        result => result,
    }
}

/// Sleeps on a shared word in a fiber. A thread of the runtime sleeps for the fiber, in slices: the
/// wake-up of another process cannot reach a fiber. The fiber outlives each slice, so the
/// word does too.
fn fiber_waits_shared(word: &AtomicU32, expected: u32, limit: Limit) -> Outcome {
    let pointer = Foreign::new(word.as_ptr());
    loop {
        if fiber::is_cancelled() {
            return Err(BLITZ_ECANCELED);
        }
        let slice = Instant::now() + SLICE;
        let end = limit
            .deadline()
            .map_or(slice, |deadline| deadline.min(slice));
        let sleep = move || {
            // SAFETY: the fiber waits until this closure has returned, and keeps the word until then.
            let word = unsafe { AtomicU32::from_ptr(pointer.get()) };
            Scope::Shared.wait_deadline(word, expected, end)
        };
        let slept = wait::on_masked(task::spawn_blocking(sleep), Limit::Never)?;
        match slept.map_err(|_| BLITZ_ECANCELED)?.map_err(unsupported)? {
            WaitResult::Woken => return Ok(()),
            WaitResult::ValueChanged => return Err(BLITZ_ECHANGED),
            WaitResult::TimedOut if limit.deadline().is_some_and(|at| at <= Instant::now()) => {
                return Err(BLITZ_ETIMEDOUT);
            }
            WaitResult::TimedOut => {}
        }
    }
}

/// Sleeps while the word holds `expected`, until a wake. Suspends the calling fiber, or blocks the
/// calling thread. It may return without a wake: check the condition in a loop. The word is read
/// and written atomically only (`_Atomic uint32_t` in C). A wait orders no memory: load the word
/// with acquire ordering afterwards. `scope` is `BLITZ_FUTEX_PRIVATE` or `BLITZ_FUTEX_SHARED`, the
/// same for all waits and wakes of a word.
///
/// Returns `BLITZ_OK` after a wake; `BLITZ_ECHANGED` if the word holds another value; or
/// `BLITZ_ECANCELED` in a fiber that is cancelled. Returns `BLITZ_EINVAL` if `word` is NULL or not
/// aligned to 4 bytes, or the scope is unknown, and `BLITZ_EUNSUPPORTED` if the system lacks shared
/// words. In a fiber a shared wait occupies a thread of the runtime's blocking pool.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_futex_wait(word: *const u32, expected: u32, scope: u32) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { blitz_futex_wait_until(word, expected, scope, BLITZ_NEVER) }
}

/// Sleeps as `blitz_futex_wait` does, but until `deadline_ns` at most (nanoseconds of
/// `blitz_now_ns`).
///
/// Returns what `blitz_futex_wait` returns, or `BLITZ_ETIMEDOUT`.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_futex_wait_until(
    word: *const u32,
    expected: u32,
    scope: u32,
    deadline_ns: u64,
) -> c_int {
    entry(|| {
        wait_on(
            self::word(word)?,
            expected,
            self::scope(scope)?,
            Limit::at(deadline_ns),
        )
    })
}

/// Wakes up to `n` threads and fibers that sleep on the word. Change the word before. The word is
/// not read: it may have been freed. Does not wait.
///
/// `woken` gets the number of woken ones, if the system reports it; it may be NULL. Returns `BLITZ_OK`,
/// `BLITZ_EINVAL` or `BLITZ_EUNSUPPORTED` as `blitz_futex_wait` does. A thread is woken before a
/// fiber.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_futex_wake(
    word: *const u32,
    n: usize,
    scope: u32,
    woken: *mut usize,
) -> c_int {
    entry(|| {
        if word.is_null() || !word.is_aligned() {
            return Err(invalid("the word is NULL or not aligned"));
        }
        put_if_wanted(woken, wake(word, n, self::scope(scope)?)?);
        Ok(())
    })
}

/// Wakes up to `n` threads and fibers that sleep on a word, which may be freed. Returns their number.
#[inline]
pub(crate) fn wake(word: *const u32, n: usize, scope: Scope) -> Outcome<usize> {
    let threads = scope
        .wake_n(word.cast::<AtomicU32>(), n)
        .map_err(unsupported)?;
    let fibers = match scope {
        Scope::Private if threads < n => fibers_on_words::wake(word, n - threads),
        _ => 0,
    };
    Ok(threads + fibers)
}

/// Wakes one thread or fiber that sleeps on the word: `blitz_futex_wake` with 1.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_futex_wake_one(word: *const u32, scope: u32) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { blitz_futex_wake(word, 1, scope, std::ptr::null_mut()) }
}

/// Wakes all threads and fibers that sleep on the word: `blitz_futex_wake` with `SIZE_MAX`.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_futex_wake_all(word: *const u32, scope: u32) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { blitz_futex_wake(word, usize::MAX, scope, std::ptr::null_mut()) }
}

/// Sleeps while each of the words holds its expected value, until one is woken, or until
/// `deadline_ns` (nanoseconds of `blitz_now_ns`, or `BLITZ_NEVER`). Suspends the calling fiber, or
/// blocks the calling thread. In a fiber the scope must be private.
///
/// `index` gets the position of the word that was woken or holds another value. Returns
/// `BLITZ_OK`, `BLITZ_ECHANGED`, `BLITZ_ETIMEDOUT`, `BLITZ_ECANCELED`, `BLITZ_EUNSUPPORTED`, or
/// `BLITZ_EINVAL` if a pointer is NULL, a word is not aligned, or `count` is 0 or more than
/// `BLITZ_FUTEX_ANY_MAX`.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_futex_wait_any(
    waiters: *const blitz_futex_waiter,
    count: usize,
    scope: u32,
    deadline_ns: u64,
    index: *mut usize,
) -> c_int {
    entry(|| {
        check(index)?;
        if count == 0 || count > BLITZ_FUTEX_ANY_MAX {
            return Err(invalid("no word, or more words than BLITZ_FUTEX_ANY_MAX"));
        }
        let scope = self::scope(scope)?;
        let words: Vec<_> = list(waiters, count)?
            .iter()
            .map(|waiter| Ok((word(waiter.word)?, waiter.expected)))
            .collect::<Outcome<_>>()?;
        let limit = Limit::at(deadline_ns);
        let (position, result) = if is_fiber() {
            if scope == Scope::Shared {
                return Err(record(
                    BLITZ_EUNSUPPORTED,
                    "a fiber cannot wait for several words that processes share",
                ));
            }
            match fibers_on_words::sleep(&words, limit) {
                Slept::Woken(position) => (position, Ok(())),
                Slept::Changed(position) => (position, Err(BLITZ_ECHANGED)),
                Slept::TimedOut => return Err(BLITZ_ETIMEDOUT),
                Slept::Cancelled(error) => return Err(error),
            }
        } else {
            match scope.wait_any(&words, limit.deadline()) {
                Ok(WaitAny::Woken(position)) => (position, Ok(())),
                Ok(WaitAny::ValueChanged(position)) => (position, Err(BLITZ_ECHANGED)),
                Ok(WaitAny::TimedOut) => return Err(BLITZ_ETIMEDOUT),
                Err(WaitAnyError::Unsupported(error)) => return Err(unsupported(error)),
                Err(_) => return Err(invalid("these words cannot be waited for together")),
            }
        };
        put(index, position)?;
        result
    })
}

/// Waits until the word no longer holds `previous`, or until `deadline_ns` (nanoseconds of
/// `blitz_now_ns`, or `BLITZ_NEVER`). Suspends the calling fiber, or blocks the calling thread.
/// Memory operations before the change, with release ordering, are visible afterwards.
///
/// `value` gets the new value; it may be NULL. Returns `BLITZ_OK`, `BLITZ_ETIMEDOUT`,
/// `BLITZ_ECANCELED`, `BLITZ_EINVAL` or `BLITZ_EUNSUPPORTED`.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_futex_block_until_different(
    word: *const u32,
    previous: u32,
    scope: u32,
    deadline_ns: u64,
    value: *mut u32,
) -> c_int {
    entry(|| {
        let word = self::word(word)?;
        let scope = self::scope(scope)?;
        let mut limit = None;
        loop {
            let now = word.load(Ordering::Acquire);
            if now != previous {
                put_if_wanted(value, now);
                return Ok(());
            }
            let limit = *limit.get_or_insert_with(|| Limit::at(deadline_ns));
            match wait_on(word, previous, scope, limit) {
                Ok(()) | Err(BLITZ_ECHANGED) => {}
                Err(error) => return Err(error),
            }
        }
    })
}

/// Reads the word repeatedly, and returns as soon as it no longer holds `previous`. For a wait that is
/// mostly short: call it before the program announces that it sleeps, and then sleeps in
/// `blitz_futex_wait`. A thread spins for about as long as it costs to sleep and be woken, and lets
/// other threads run in between. `threads` is the number of threads that take part in the change, with
/// the calling one: with fewer processors the others run at once. A fiber reads the word once. Memory
/// operations before the change, with release ordering, are visible afterwards.
///
/// Returns `BLITZ_OK`; `BLITZ_EAGAIN` if the word still holds `previous`; or `BLITZ_EINVAL` if `word`
/// is NULL or not aligned.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_futex_spin_until_different(
    word: *const u32,
    previous: u32,
    threads: usize,
) -> c_int {
    entry(|| {
        let word = self::word(word)?;
        let mut spin = Spin::EVENT.among(threads);
        loop {
            if word.load(Ordering::Acquire) != previous {
                return Ok(());
            }
            if is_fiber() || !spin.turn() {
                return Err(BLITZ_EAGAIN);
            }
        }
    })
}
