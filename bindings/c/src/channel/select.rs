//! Waits for the first of several operations on channels.

use std::ffi::{c_int, c_void};
use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use super::end::Case;
use super::{blitz_receiver, blitz_sender};
use crate::args::{arg, bytes, bytes_mut, check, list_mut, put};
use crate::error::{BLITZ_EAGAIN, BLITZ_ETIMEDOUT, BLITZ_OK, Outcome, entry, invalid};
use crate::wait::{self, Limit};

/// An operation of `blitz_select`: either a receiver or a sender.
#[repr(C)]
pub struct blitz_case {
    /// The receiver, or NULL.
    pub receiver: *mut blitz_receiver,
    /// The sender, or NULL.
    pub sender: *mut blitz_sender,
    /// The memory for the received element, or the element to send. It has the size of the channel's
    /// elements.
    pub value: *mut c_void,
    /// The result of the operation, if it was performed: `BLITZ_OK`, or an error of `blitz_recv`
    /// or `blitz_send`, such as `BLITZ_ECLOSED`.
    pub result: c_int,
}

fn case<'a>(case: &blitz_case) -> Outcome<Case<'a>> {
    if case.receiver.is_null() == case.sender.is_null() {
        return Err(invalid("a case has one of a sender and a receiver"));
    }
    if case.sender.is_null() {
        let receiver: &blitz_receiver = arg(case.receiver)?;
        let value = bytes_mut(case.value.cast(), receiver.size)?;
        Ok(receiver.end().receiving(value))
    } else {
        let sender: &blitz_sender = arg(case.sender)?;
        let value = bytes(case.value.cast(), sender.size)?;
        let at_once = || -> Case<'a> {
            let (sender, value) = (case.sender, case.value);
            Box::pin(async move {
                match blitz_sender::try_send(sender, value) {
                    BLITZ_OK => Ok(()),
                    error => Err(error),
                }
            })
        };
        Ok(sender.end().sending(value).unwrap_or_else(at_once))
    }
}

/// Performs one of `count` operations: a possible one, chosen in turns; or else the first that becomes
/// possible. Suspends the calling fiber, or blocks the calling thread, until
/// `deadline_ns` at most (nanoseconds of `blitz_now_ns`, or `BLITZ_NEVER`). Channels of all kinds
/// may be mixed. An operation on a closed channel is possible: its result is `BLITZ_ECLOSED`. So is a
/// second operation with an end that allows only one call: its result is `BLITZ_EBUSY`.
///
/// `index` gets the position of the operation, and `cases[index].result` its result. Returns
/// `BLITZ_OK` if an operation was performed, else `BLITZ_ETIMEDOUT`, `BLITZ_ECANCELED`, or
/// `BLITZ_EINVAL` for NULL, no cases, or a case with both or none of the two ends. Then no
/// operation was performed.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_select(
    cases: *mut blitz_case,
    count: usize,
    deadline_ns: u64,
    index: *mut usize,
) -> c_int {
    entry(|| {
        select(cases, count, index, |cases| {
            wait::on(first(cases), Limit::at(deadline_ns))
        })
    })
}

/// Performs one of `count` operations that is possible now, as `blitz_select` does. Does not wait.
///
/// Returns what `blitz_select` returns, with `BLITZ_EAGAIN` if none is possible.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_try_select(
    cases: *mut blitz_case,
    count: usize,
    index: *mut usize,
) -> c_int {
    entry(|| {
        let now = Limit::At(std::time::Instant::now());
        let result = select(cases, count, index, |cases| wait::on(first(cases), now));
        result.map_err(|error| {
            if error == BLITZ_ETIMEDOUT {
                BLITZ_EAGAIN
            } else {
                error
            }
        })
    })
}

fn select(
    cases: *mut blitz_case,
    count: usize,
    index: *mut usize,
    wait: impl FnOnce(Vec<Case<'_>>) -> Outcome<(usize, Outcome)>,
) -> Outcome {
    check(index)?;
    check(cases)?;
    let cases = list_mut(cases, count)?;
    if cases.is_empty() {
        return Err(invalid("a selection needs a case"));
    }
    let futures = cases.iter().map(case).collect::<Outcome<_>>()?;
    let (position, result) = wait(futures)?;
    cases[position].result = result.err().unwrap_or(BLITZ_OK);
    put(index, position)
}

/// Waits for the first case. Each call begins at another case, so none starves.
async fn first(mut cases: Vec<Case<'_>>) -> (usize, Outcome) {
    static START: AtomicUsize = AtomicUsize::new(0);
    let start = START.fetch_add(1, Ordering::Relaxed) % cases.len();
    poll_fn(move |cx| {
        for position in (start..cases.len()).chain(0..start) {
            if let Poll::Ready(result) = cases[position].as_mut().poll(cx) {
                return Poll::Ready((position, result));
            }
        }
        Poll::Pending
    })
    .await
}
