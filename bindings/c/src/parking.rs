//! Queues of parked threads and fibers under any address: `blitz_io::futex::parking`.
//!
//! A thread sleeps on the word of its node as in Rust. A fiber sleeps on it in the table of
//! `fibers_on_words.rs`, and its node names a wake of both.

use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicU32;

use crate::protocol::words::Slept;
use blitz_io::futex::Scope;
use blitz_io::futex::parking::{
    self, DEFAULT_UNPARK_TOKEN, FilterOp, ParkResult, ParkToken, RequeueOp, Sleeper, UnparkResult,
    UnparkToken,
};

use crate::args::{check, null, put_if_wanted};
use crate::error::{BLITZ_ECHANGED, BLITZ_ETIMEDOUT, Outcome, entry};
use crate::fibers_on_words;
use crate::futex;
use crate::wait::{Limit, is_fiber};

/// `blitz_unpark_requeue` does nothing.
pub const BLITZ_REQUEUE_ABORT: u32 = 0;
/// `blitz_unpark_requeue` unparks the first one, and moves the others.
pub const BLITZ_REQUEUE_UNPARK_ONE_MOVE_REST: u32 = 1;
/// `blitz_unpark_requeue` moves all.
pub const BLITZ_REQUEUE_MOVE_ALL: u32 = 2;
/// `blitz_unpark_requeue` unparks the first one, and leaves the others.
pub const BLITZ_REQUEUE_UNPARK_ONE: u32 = 3;
/// `blitz_unpark_requeue` moves the first one, and leaves the others.
pub const BLITZ_REQUEUE_MOVE_ONE: u32 = 4;

/// `blitz_unpark_filter` unparks this one, and goes on to the next.
pub const BLITZ_FILTER_UNPARK: u32 = 0;
/// `blitz_unpark_filter` leaves this one, and goes on to the next.
pub const BLITZ_FILTER_SKIP: u32 = 1;
/// `blitz_unpark_filter` leaves this one and all that come after it.
pub const BLITZ_FILTER_STOP: u32 = 2;

/// The callbacks of `blitz_park`. Each may be NULL. The first and the last run while the queue is locked: they
/// return soon, do not wait, and call none of the functions that park and unpark.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct blitz_park_callbacks {
    /// Returns true if the caller is to park. NULL: it parks.
    pub validate: Option<extern "C" fn(argument: *mut c_void) -> bool>,
    /// Runs when the caller is in the queue, which is not locked any more. It does not park.
    pub before_sleep: Option<extern "C" fn(argument: *mut c_void)>,
    /// Runs if the caller leaves the queue without an unpark: after its deadline, or a cancellation. `key` is the one
    /// under which it was parked last, and `is_last` is true if no other is parked under it.
    pub timed_out: Option<extern "C" fn(argument: *mut c_void, key: *const c_void, is_last: bool)>,
}

/// The outcome of an unpark.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct blitz_unpark_result {
    /// The number of threads and fibers that are unparked.
    pub unparked: usize,
    /// The number of those that were moved to the other queue.
    pub requeued: usize,
    /// True if some remain in the queue. Always false if none was unparked or moved, unless a filter skipped one.
    pub have_more: bool,
    /// True about once in half a millisecond of unparks. A lock should then hand itself over, so that
    /// newcomers do not overtake for ever.
    pub be_fair: bool,
}

impl From<UnparkResult> for blitz_unpark_result {
    fn from(result: UnparkResult) -> Self {
        Self {
            unparked: result.unparked_threads,
            requeued: result.requeued_threads,
            have_more: result.have_more_threads,
            be_fair: result.be_fair,
        }
    }
}

/// A callback of `blitz_unpark_one` and `blitz_unpark_filter`, or NULL. It runs while the queue is locked: it returns
/// soon, does not wait, and calls none of the functions that park and unpark. It returns the token that the
/// unparked ones get; without it that is 0.
pub type blitz_unpark_callback =
    Option<extern "C" fn(argument: *mut c_void, result: *const blitz_unpark_result) -> usize>;

fn key_of(key: *const c_void) -> Outcome<usize> {
    check(key)?;
    Ok(key.addr())
}

/// Calls the callback with the result so far.
fn token(
    callback: blitz_unpark_callback,
    argument: *mut c_void,
    result: UnparkResult,
) -> UnparkToken {
    let call = |callback: extern "C" fn(*mut c_void, *const blitz_unpark_result) -> usize| {
        callback(argument, &result.into())
    };
    callback.map_or(DEFAULT_UNPARK_TOKEN, |callback| UnparkToken(call(callback)))
}

/// Parks in a thread or a fiber. Fails as a wait does if the caller leaves without an unpark.
fn park(
    key: usize,
    callbacks: &blitz_park_callbacks,
    argument: *mut c_void,
    park_token: ParkToken,
    limit: Limit,
) -> Outcome<UnparkToken> {
    let validate = || callbacks.validate.is_none_or(|callback| callback(argument));
    let before_sleep = || {
        if let Some(callback) = callbacks.before_sleep {
            callback(argument);
        }
    };
    let timed_out = |key, is_last| {
        if let Some(callback) = callbacks.timed_out {
            callback(argument, std::ptr::without_provenance(key), is_last);
        }
    };
    let mut failure = BLITZ_ETIMEDOUT;
    let result = if is_fiber() {
        let sleep = |word: &_, value| match fibers_on_words::sleep(&[(word, value)], limit) {
            Slept::Woken(_) | Slept::Changed(_) => true,
            Slept::TimedOut => false,
            Slept::Cancelled(error) => {
                failure = error;
                false
            }
        };
        // Of both tables: a fiber that has given up may block its thread for a moment.
        let wake = |word: *const AtomicU32| {
            _ = futex::wake(word.cast(), usize::MAX, Scope::Private);
        };
        let sleeper = Sleeper { sleep, wake };
        // SAFETY: rule 5, and the header's rules for the key and the callbacks. A wake ends a sleep in
        // the table of fibers, or keeps it from beginning, as that compares the word again; and one on the futex.
        unsafe { parking::park_with(key, validate, before_sleep, timed_out, park_token, sleeper) }
    } else {
        let deadline = limit.deadline();
        // SAFETY: rule 5, and the header's rules for the key and the callbacks.
        unsafe { parking::park(key, validate, before_sleep, timed_out, park_token, deadline) }
    };
    match result {
        ParkResult::Unparked(token) => Ok(token),
        ParkResult::Invalid => Err(BLITZ_ECHANGED),
        ParkResult::TimedOut => Err(failure),
    }
}

/// Parks the caller under `key` until it is unparked, or until `deadline_ns` (nanoseconds of `blitz_now_ns`, or
/// `BLITZ_NEVER`). Suspends the calling fiber, or blocks the calling thread. The key is the address of an object of
/// the caller, such as a lock of one byte, and is not read; other objects of the library park under theirs. No wait
/// ends without an unpark before the deadline. What was done before the unpark is visible afterwards.
///
/// The queue has the fibers and threads in the order in which they parked. `callbacks` may be NULL, and gets
/// `argument`. `park_token` is for the filter of `blitz_unpark_filter`; `unpark_token` gets the token of the
/// unpark, and may be NULL. Returns `BLITZ_OK` after an unpark; `BLITZ_ECHANGED` if `validate` returned false, so that
/// nothing happened; `BLITZ_ETIMEDOUT`; `BLITZ_ECANCELED` in a fiber that is cancelled; or `BLITZ_EINVAL` if `key` is
/// NULL.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_park(
    key: *const c_void,
    callbacks: *const blitz_park_callbacks,
    argument: *mut c_void,
    park_token: usize,
    deadline_ns: u64,
    unpark_token: *mut usize,
) -> c_int {
    entry(|| {
        let none = blitz_park_callbacks {
            validate: None,
            before_sleep: None,
            timed_out: None,
        };
        // SAFETY: rule 1 of `args`.
        let callbacks = unsafe { callbacks.as_ref() }.copied().unwrap_or(none);
        let limit = Limit::at(deadline_ns);
        let token = park(
            key_of(key)?,
            &callbacks,
            argument,
            ParkToken(park_token),
            limit,
        )?;
        put_if_wanted(unpark_token, token.0);
        Ok(())
    })
}

/// Unparks the thread or fiber that has been parked under `key` for longest. `callback` also runs if none is
/// parked: a lock that is released changes its state there. Does not wait.
///
/// `result` may be NULL. Returns `BLITZ_OK`, also if none was parked; or `BLITZ_EINVAL` if `key` is NULL.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_unpark_one(
    key: *const c_void,
    callback: blitz_unpark_callback,
    argument: *mut c_void,
    result: *mut blitz_unpark_result,
) -> c_int {
    entry(|| {
        let key = key_of(key)?;
        // SAFETY: rule 5, and the header's rules for the key and the callback.
        let unparked =
            unsafe { parking::unpark_one(key, |result| token(callback, argument, result)) };
        put_if_wanted(result, unparked.into());
        Ok(())
    })
}

/// Unparks all that are parked under `key`. They get `unpark_token`. Does not wait.
///
/// `unparked` gets their number; it may be NULL. Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `key` is NULL.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_unpark_all(
    key: *const c_void,
    unpark_token: usize,
    unparked: *mut usize,
) -> c_int {
    entry(|| {
        let key = key_of(key)?;
        // SAFETY: what the header says about the key.
        let count = unsafe { parking::unpark_all(key, UnparkToken(unpark_token)) };
        put_if_wanted(unparked, count);
        Ok(())
    })
}

/// Unparks those under `key` that `filter` chooses, in the order in which they parked. `filter` gets the `park_token`
/// of each, and returns `BLITZ_FILTER_UNPARK`, `BLITZ_FILTER_SKIP` or `BLITZ_FILTER_STOP` (any other number counts as
/// that). Then `callback` runs. Both run while the queue is locked: see `blitz_unpark_callback`. Does not wait.
///
/// `result` may be NULL. Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `key` or `filter` is NULL.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_unpark_filter(
    key: *const c_void,
    filter: Option<extern "C" fn(argument: *mut c_void, park_token: usize) -> u32>,
    callback: blitz_unpark_callback,
    argument: *mut c_void,
    result: *mut blitz_unpark_result,
) -> c_int {
    entry(|| {
        let key = key_of(key)?;
        let filter = filter.ok_or_else(null)?;
        let choose = |token: ParkToken| match filter(argument, token.0) {
            BLITZ_FILTER_UNPARK => FilterOp::Unpark,
            BLITZ_FILTER_SKIP => FilterOp::Skip,
            _ => FilterOp::Stop,
        };
        // SAFETY: rule 5, and the header's rules for the key and the callbacks.
        let unparked = unsafe {
            parking::unpark_filter(key, choose, |result| token(callback, argument, result))
        };
        put_if_wanted(result, unparked.into());
        Ok(())
    })
}

fn requeue_operation(operation: u32) -> RequeueOp {
    match operation {
        BLITZ_REQUEUE_UNPARK_ONE_MOVE_REST => RequeueOp::UnparkOneRequeueRest,
        BLITZ_REQUEUE_MOVE_ALL => RequeueOp::RequeueAll,
        BLITZ_REQUEUE_UNPARK_ONE => RequeueOp::UnparkOne,
        BLITZ_REQUEUE_MOVE_ONE => RequeueOp::RequeueOne,
        _ => RequeueOp::Abort,
    }
}

/// Unparks or moves those that are parked under `from`: moved ones are parked under `to` then, after those that are
/// there already. So a condition variable passes its waiters on to the mutex, and wakes one. `validate` returns one of
/// the constants `BLITZ_REQUEUE_…` (any other number counts as `BLITZ_REQUEUE_ABORT`), and then `callback` runs,
/// unless that was an abort. Both run while both queues are locked: see `blitz_unpark_callback`. Does not wait.
///
/// `result` may be NULL. Returns `BLITZ_OK`, or `BLITZ_EINVAL` if a key or `validate` is NULL.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_unpark_requeue(
    from: *const c_void,
    to: *const c_void,
    validate: Option<extern "C" fn(argument: *mut c_void) -> u32>,
    callback: blitz_unpark_callback,
    argument: *mut c_void,
    result: *mut blitz_unpark_result,
) -> c_int {
    entry(|| {
        let (from, to) = (key_of(from)?, key_of(to)?);
        let validate = validate.ok_or_else(null)?;
        let choose = || requeue_operation(validate(argument));
        // SAFETY: rule 5, and the header's rules for the keys and the callbacks.
        let unparked = unsafe {
            parking::unpark_requeue(from, to, choose, |_, result| {
                token(callback, argument, result)
            })
        };
        put_if_wanted(result, unparked.into());
        Ok(())
    })
}
