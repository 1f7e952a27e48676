//! Channels of bytes. A channel of each kind has the same two handles, and the same functions.

mod broadcast;
mod end;
mod mpmc;
mod mpsc;
mod oneshot;
mod watch;

pub mod select;

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use crate::args::{arg, bytes, bytes_mut, check, put};
use crate::element::{BLITZ_ELEMENT_MAX, with_element};
use crate::error::{BLITZ_EEMPTY, BLITZ_EFULL, Outcome, entry, entry_or, invalid};
use crate::time::BLITZ_NEVER;
use crate::wait::Limit;
pub use end::{blitz_receiver, blitz_sender};

/// A capacity without a limit.
pub const BLITZ_UNBOUNDED: usize = usize::MAX;

/// The largest capacity of a channel that has one.
const CAPACITY_MAX: usize = 1 << 24;

type Ends = (NonNull<blitz_sender>, NonNull<blitz_receiver>);

/// Makes a channel and its two handles.
fn make(
    size: usize,
    sender: *mut *mut blitz_sender,
    receiver: *mut *mut blitz_receiver,
    ends: impl FnOnce() -> Outcome<Ends>,
) -> c_int {
    entry(|| {
        check(sender)?;
        check(receiver)?;
        if size > BLITZ_ELEMENT_MAX {
            return Err(invalid(format_args!(
                "the size of an element is {size}, and not at most {BLITZ_ELEMENT_MAX}"
            )));
        }
        let (sends, receives) = ends()?;
        put(sender, sends.as_ptr())?;
        put(receiver, receives.as_ptr())
    })
}

/// Makes a channel with many senders and one receiver. An element has `size` bytes (0 to 1 GiB);
/// the channel has room for `capacity` elements (1 to 16,777,216), or is `BLITZ_UNBOUNDED`. Sending
/// waits while it is full. It is closed when all senders or the receiver are freed.
///
/// The caller frees the two handles with `blitz_sender_free` and `blitz_receiver_free`. Returns
/// `BLITZ_OK`, or `BLITZ_EINVAL` for NULL, or a size or capacity out of range. Does not wait.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_mpsc_new(
    size: usize,
    capacity: usize,
    sender: *mut *mut blitz_sender,
    receiver: *mut *mut blitz_receiver,
) -> c_int {
    make(size, sender, receiver, || match capacity {
        BLITZ_UNBOUNDED => Ok(with_element!(size, T => mpsc::unbounded::<T>(size))),
        1..=CAPACITY_MAX => Ok(with_element!(size, T => mpsc::bounded::<T>(size, capacity))),
        _ => Err(no_capacity(capacity, 1)),
    })
}

/// Returns the error for a capacity that this channel cannot have.
#[cold]
fn no_capacity(capacity: usize, least: usize) -> c_int {
    invalid(format_args!(
        "the capacity is {capacity}, and not {least} to {CAPACITY_MAX}"
    ))
}

/// Makes a channel with many senders and many receivers; each element goes to one receiver. An
/// element has `size` bytes (0 to 1 GiB); the channel has room for `capacity` elements (up to
/// 16,777,216), or is `BLITZ_UNBOUNDED`. With capacity 0 a sender waits until a receiver has taken
/// its element. It is closed when all ends of one side are freed, or with `blitz_sender_close`.
///
/// The caller frees the two handles with `blitz_sender_free` and `blitz_receiver_free`. Returns
/// `BLITZ_OK`, or `BLITZ_EINVAL` for NULL, or a size or capacity out of range. Does not wait.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_mpmc_new(
    size: usize,
    capacity: usize,
    sender: *mut *mut blitz_sender,
    receiver: *mut *mut blitz_receiver,
) -> c_int {
    make(size, sender, receiver, || match capacity {
        BLITZ_UNBOUNDED | 0..=CAPACITY_MAX => {
            Ok(with_element!(size, T => mpmc::channel::<T>(size, capacity)))
        }
        _ => Err(no_capacity(capacity, 0)),
    })
}

/// Makes a channel for a single element of `size` bytes (0 to 1 GiB). Sending does not wait; a
/// second element gets `BLITZ_ECLOSED`.
///
/// The caller frees the two handles with `blitz_sender_free` and `blitz_receiver_free`. Returns
/// `BLITZ_OK`, or `BLITZ_EINVAL` for NULL or a size out of range. Does not wait.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_oneshot_new(
    size: usize,
    sender: *mut *mut blitz_sender,
    receiver: *mut *mut blitz_receiver,
) -> c_int {
    make(size, sender, receiver, || {
        Ok(with_element!(size, T => oneshot::channel::<T>(size)))
    })
}

/// Makes a channel whose receivers all get every element that is sent after they came. It keeps at
/// least `capacity` elements (1 to 16,777,216) of `size` bytes (0 to 1 GiB). Sending does not
/// wait: a receiver that is too slow misses elements, and its next call returns `BLITZ_ELAGGED`
/// once. Without a receiver, sending returns `BLITZ_ECLOSED`. More receivers:
/// `blitz_sender_subscribe`.
///
/// The caller frees the two handles with `blitz_sender_free` and `blitz_receiver_free`. Returns
/// `BLITZ_OK`, or `BLITZ_EINVAL` for NULL, or a size or capacity out of range. Does not wait.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_broadcast_new(
    size: usize,
    capacity: usize,
    sender: *mut *mut blitz_sender,
    receiver: *mut *mut blitz_receiver,
) -> c_int {
    make(size, sender, receiver, || match capacity {
        1..=CAPACITY_MAX => Ok(with_element!(size, T => broadcast::channel::<T>(size, capacity))),
        _ => Err(no_capacity(capacity, 1)),
    })
}

/// Makes a channel that keeps the latest element of `size` bytes (0 to 1 GiB), which begins as a
/// copy of `initial`. `blitz_recv` waits for one that the receiver has not seen, and copies it;
/// `blitz_receiver_latest` copies the latest without waiting. Sending replaces the element and does
/// not wait. More receivers: `blitz_receiver_clone`, `blitz_sender_subscribe`.
///
/// The caller frees the two handles with `blitz_sender_free` and `blitz_receiver_free`. Returns
/// `BLITZ_OK`, or `BLITZ_EINVAL` for NULL or a size out of range. Does not wait.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_watch_new(
    size: usize,
    initial: *const c_void,
    sender: *mut *mut blitz_sender,
    receiver: *mut *mut blitz_receiver,
) -> c_int {
    make(size, sender, receiver, || {
        let initial = bytes(initial.cast(), size)?;
        Ok(with_element!(size, T => watch::channel::<T>(size, initial)))
    })
}

/// Sends a copy of the element at `value`. Suspends the calling fiber, or blocks the calling
/// thread, while the channel is full.
///
/// Returns `BLITZ_OK`; `BLITZ_ECLOSED` if nothing can receive it any more; `BLITZ_ECANCELED` in a
/// fiber that is cancelled; or `BLITZ_EINVAL` for NULL. After an error the element was not sent: the
/// caller still owns it.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_send(sender: *mut blitz_sender, value: *const c_void) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { blitz_send_until(sender, value, BLITZ_NEVER) }
}

/// Sends as `blitz_send` does, but waits until `deadline_ns` at most (nanoseconds of
/// `blitz_now_ns`).
///
/// Returns what `blitz_send` returns, or `BLITZ_ETIMEDOUT`.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_send_until(
    sender: *mut blitz_sender,
    value: *const c_void,
    deadline_ns: u64,
) -> c_int {
    match blitz_sender::try_send(sender, value) {
        BLITZ_EFULL => send_slow(sender, value, deadline_ns),
        result => result,
    }
}

#[cold]
fn send_slow(sender: *mut blitz_sender, value: *const c_void, deadline_ns: u64) -> c_int {
    match arg(sender) {
        Ok(sender) => (sender.end()).send_until(value, sender.size, deadline_ns),
        Err(error) => error,
    }
}

/// Sends if there is room. Does not wait.
///
/// Returns what `blitz_send` returns, or `BLITZ_EFULL`.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_try_send(sender: *mut blitz_sender, value: *const c_void) -> c_int {
    blitz_sender::try_send(sender, value)
}

/// Receives an element, and copies it to `value`, which has room for the channel's `size`. Suspends
/// the calling fiber, or blocks the calling thread, while the channel is empty.
///
/// Returns `BLITZ_OK`; `BLITZ_ECLOSED` if the channel is empty and closed; or `BLITZ_ELAGGED` if a
/// receiver of `blitz_broadcast_new` missed elements. Returns `BLITZ_ECANCELED` in a fiber that is
/// cancelled, `BLITZ_EBUSY` if another call uses this receiver, or `BLITZ_EINVAL` for NULL. After
/// an error nothing was received, and `value` is as before.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_recv(receiver: *mut blitz_receiver, value: *mut c_void) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { blitz_recv_until(receiver, value, BLITZ_NEVER) }
}

/// Receives as `blitz_recv` does, but waits until `deadline_ns` at most (nanoseconds of
/// `blitz_now_ns`).
///
/// Returns what `blitz_recv` returns, or `BLITZ_ETIMEDOUT`.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_recv_until(
    receiver: *mut blitz_receiver,
    value: *mut c_void,
    deadline_ns: u64,
) -> c_int {
    match blitz_receiver::try_recv(receiver, value) {
        BLITZ_EEMPTY => recv_slow(receiver, value, deadline_ns),
        result => result,
    }
}

#[cold]
fn recv_slow(receiver: *mut blitz_receiver, value: *mut c_void, deadline_ns: u64) -> c_int {
    match arg(receiver) {
        Ok(receiver) => (receiver.end()).recv_until(value, receiver.size, deadline_ns),
        Err(error) => error,
    }
}

/// Receives an element if there is one. Does not wait.
///
/// Returns what `blitz_recv` returns, or `BLITZ_EEMPTY`.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_try_recv(
    receiver: *mut blitz_receiver,
    value: *mut c_void,
) -> c_int {
    blitz_receiver::try_recv(receiver, value)
}

/// Copies the latest element of a channel of `blitz_watch_new` to `value`, and counts it as seen.
/// Does not wait.
///
/// Returns `BLITZ_OK`, `BLITZ_EBUSY` if another call uses this receiver, or `BLITZ_EINVAL` for
/// NULL, or a receiver of another kind.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_receiver_latest(
    receiver: *mut blitz_receiver,
    value: *mut c_void,
) -> c_int {
    entry(|| {
        let receiver = arg(receiver)?;
        receiver
            .end()
            .latest(bytes_mut(value.cast(), receiver.size)?)
    })
}

/// Makes another handle of the same sending end. The caller frees it with `blitz_sender_free`.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` for NULL, or a sender of `blitz_oneshot_new`. Does not
/// wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_sender_clone(
    sender: *mut blitz_sender,
    clone: *mut *mut blitz_sender,
) -> c_int {
    entry(|| {
        let sender = arg(sender)?;
        check(clone)?;
        put(clone, sender.end().clone(sender.size)?.as_ptr())
    })
}

/// Makes another receiver: of `blitz_mpmc_new`, where both take elements from the same channel; or
/// of `blitz_broadcast_new`, which gets the elements sent from now on; or of `blitz_watch_new`. The
/// caller frees it with `blitz_receiver_free`.
///
/// Returns `BLITZ_OK`, `BLITZ_EBUSY` if another call uses the receiver, or `BLITZ_EINVAL` for NULL,
/// or a receiver of another kind. Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_receiver_clone(
    receiver: *mut blitz_receiver,
    clone: *mut *mut blitz_receiver,
) -> c_int {
    entry(|| {
        let receiver = arg(receiver)?;
        check(clone)?;
        put(clone, receiver.end().clone(receiver.size)?.as_ptr())
    })
}

/// Makes a receiver of a channel of `blitz_broadcast_new` or `blitz_watch_new`, which gets the elements
/// sent from now on. The caller frees it with `blitz_receiver_free`.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` for NULL, or a sender of another kind. Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_sender_subscribe(
    sender: *mut blitz_sender,
    receiver: *mut *mut blitz_receiver,
) -> c_int {
    entry(|| {
        let sender = arg(sender)?;
        check(receiver)?;
        put(receiver, sender.end().subscribe(sender.size)?.as_ptr())
    })
}

/// Waits until nothing can receive any more. Suspends the calling fiber, or blocks the calling
/// thread, until `deadline_ns` at most (nanoseconds of `blitz_now_ns`, or `BLITZ_NEVER`).
///
/// Returns `BLITZ_OK`, `BLITZ_ETIMEDOUT`, `BLITZ_ECANCELED`, `BLITZ_EBUSY` if another call uses a
/// sender of `blitz_oneshot_new`, or `BLITZ_EINVAL` for NULL.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_sender_wait_closed(
    sender: *mut blitz_sender,
    deadline_ns: u64,
) -> c_int {
    entry(|| arg(sender)?.end().wait_closed(Limit::at(deadline_ns)))
}

/// Returns true if sending would return `BLITZ_ECLOSED`, and for NULL. Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_sender_is_closed(sender: *const blitz_sender) -> bool {
    entry_or(true, || {
        arg(sender).is_ok_and(|sender| sender.end().is_closed()) || sender.is_null()
    })
}

/// Closes a channel of `blitz_mpmc_new` for all its ends. Elements in it can still be received. Does
/// not wait.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` for NULL, or a sender of another kind: free its handles.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_sender_close(sender: *mut blitz_sender) -> c_int {
    entry(|| arg(sender)?.end().close())
}

/// Closes a channel for its senders; elements in it can still be received. Not for channels of
/// `blitz_broadcast_new` and `blitz_watch_new`: free the receivers. Does not wait.
///
/// Returns `BLITZ_OK`, `BLITZ_EBUSY` if another call uses this receiver, or `BLITZ_EINVAL` for
/// NULL, or a receiver of these kinds.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_receiver_close(receiver: *mut blitz_receiver) -> c_int {
    entry(|| arg(receiver)?.end().close())
}

/// Returns the number of elements that wait for this receiver, which other calls may change at once; 0
/// for NULL, or if another call uses the receiver. Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_receiver_len(receiver: *const blitz_receiver) -> usize {
    entry_or(0, || {
        arg(receiver).map_or(0, |receiver| receiver.end().len())
    })
}

/// Frees a sender. NULL is fine. No other call may use it, now or later. Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_sender_free(sender: *mut blitz_sender) {
    entry_or((), || blitz_sender::free(sender));
}

/// Frees a receiver. NULL is fine. No other call may use it, now or later. Does not wait. Elements
/// that were not received are dropped with the last receiver.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_receiver_free(receiver: *mut blitz_receiver) {
    entry_or((), || blitz_receiver::free(receiver));
}
