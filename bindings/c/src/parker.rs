//! A parker: one token, for one thread or fiber that waits.

use std::ffi::c_int;
use std::pin::pin;

use blitz_io::sync::Notify;

use crate::error::{BLITZ_EAGAIN, Outcome, entry};
use crate::storage::Storage;
use crate::time::BLITZ_NEVER;
use crate::wait::{self, Limit};

/// The lowest two bits of the first word of `space` of a parker with a token. See `blitz_parker`.
pub const BLITZ_PARKER_TOKEN: usize = 2;

/// A parker, by value: a thread or fiber sleeps until another hands it a token. There is at most
/// one token: unparking twice before a park counts once. Initialise it with `BLITZ_PARKER_INIT`,
/// or with zeros. It needs no destruction. Do not copy or move it after its first use. Free it when all
/// calls with it have returned. The token can arrive while the `blitz_parker_unpark` that handed it over
/// still runs. (A latch or an event may be freed then.)
///
/// A program may hand over and take the token without a call, in inline functions, if `state`, read with
/// acquire ordering, is `BLITZ_STATE_READY`. The lowest two bits of the first word of `space` (a `size_t`)
/// are then `BLITZ_PARKER_TOKEN` if there is a token, and 0 if there is none and nothing waits. A
/// compare-exchange of acquire and release ordering that changes only these bits, from 0 to the token,
/// hands it over; one the other way round takes it. If `state` or the bits are another, call the
/// functions.
#[repr(C)]
pub struct blitz_parker {
    state: u32,
    config: u32,
    space: [u64; 9],
}

// SAFETY: the fields are as required.
unsafe impl Storage for blitz_parker {
    type Primitive = Notify;

    fn new(_: u32) -> Notify {
        Notify::const_new()
    }
}

#[test]
fn the_word_of_a_parker_is_as_documented() {
    use crate::safety::call;

    let mut parker = blitz_parker {
        state: 0,
        config: 0,
        space: [0; 9],
    };
    let word = |parker: &blitz_parker| parker.space[0] as usize;
    assert_eq!(call(blitz_parker_unpark, &mut parker), 0);
    assert_eq!(
        (parker.state, word(&parker)),
        (crate::storage::BLITZ_STATE_READY, BLITZ_PARKER_TOKEN)
    );
    assert_eq!(call(blitz_parker_park, &mut parker), 0);
    assert_eq!(word(&parker), 0);
    // The other bits are a count, which stays.
    assert_eq!(call(blitz_parker_unpark_all, &mut parker), 0);
    let count = word(&parker);
    assert_eq!(count % 4, 0);
    // The exchange with which a program hands over a token.
    parker.space[0] |= BLITZ_PARKER_TOKEN as u64;
    assert_eq!(call(blitz_parker_try_park, &mut parker), 0);
    assert_eq!(word(&parker), count);
    assert_eq!(call(blitz_parker_try_park, &mut parker), BLITZ_EAGAIN);
}

fn park_until(parker: *mut blitz_parker, deadline_ns: u64) -> Outcome {
    let notified = blitz_parker::of(parker)?.notified();
    let mut notified = pin!(notified);
    if notified.as_mut().enable() {
        return Ok(());
    }
    wait::on(notified, Limit::at(deadline_ns))
}

/// Waits for the token and takes it. Suspends the calling fiber, or blocks the calling thread.
/// Memory operations before the `blitz_parker_unpark` are visible afterwards.
///
/// Returns `BLITZ_OK`; `BLITZ_ECANCELED` in a fiber that is cancelled; or `BLITZ_EINVAL` if
/// `parker` is NULL.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_parker_park(parker: *mut blitz_parker) -> c_int {
    entry(|| park_until(parker, BLITZ_NEVER))
}

/// Waits for the token until `deadline_ns` at most (nanoseconds of `blitz_now_ns`).
///
/// Returns what `blitz_parker_park` returns, or `BLITZ_ETIMEDOUT`.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_parker_park_until(
    parker: *mut blitz_parker,
    deadline_ns: u64,
) -> c_int {
    entry(|| park_until(parker, deadline_ns))
}

/// Takes the token if there is one: `BLITZ_OK`, else `BLITZ_EAGAIN`; `BLITZ_EINVAL` if `parker` is
/// NULL. Does not wait.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_parker_try_park(parker: *mut blitz_parker) -> c_int {
    entry(|| {
        let notified = blitz_parker::of(parker)?.notified();
        if pin!(notified).enable() {
            Ok(())
        } else {
            Err(BLITZ_EAGAIN)
        }
    })
}

/// Hands over the token. Any thread or fiber may call this; it does not wait.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `parker` is NULL.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_parker_unpark(parker: *mut blitz_parker) -> c_int {
    entry(|| {
        blitz_parker::of(parker)?.notify_one();
        Ok(())
    })
}

/// Wakes all threads and fibers that wait, and hands over no token. Does not wait.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `parker` is NULL.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_parker_unpark_all(parker: *mut blitz_parker) -> c_int {
    entry(|| {
        blitz_parker::of(parker)?.notify_waiters();
        Ok(())
    })
}
