//! The ends of all kinds of channels: their operations, and their handles. A handle and its end are
//! one allocation.

use std::ffi::{c_int, c_void};
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;

use crate::args::{element, element_mut};
use crate::error::{BLITZ_EFULL, BLITZ_EINVAL, Outcome, entry, invalid, returned};
use crate::wait::Limit;

/// A future of a case of a selection. It does nothing if it is dropped before it is ready.
pub(crate) type Case<'a> = Pin<Box<dyn Future<Output = Outcome> + 'a>>;

/// A sending end. An operation that a kind does not have is `BLITZ_EINVAL`.
pub(crate) trait Sends: Send + Sync {
    /// Sends without waiting, or returns `BLITZ_EFULL`.
    fn try_send(&self, value: &[u8]) -> Outcome
    where
        Self: Sized;
    /// `blitz_send_until` for this type of end, after `try_send` has returned `BLITZ_EFULL`. A fiber
    /// waits in this function itself: see `wait.rs`.
    extern "C" fn send_until(
        &self,
        _value: *const c_void,
        _size: usize,
        _deadline_ns: u64,
    ) -> c_int {
        BLITZ_EFULL
    }
    /// Returns the future of sending in a selection; `None` for kinds that are never full.
    fn sending<'a>(&'a self, _value: &'a [u8]) -> Option<Case<'a>> {
        None
    }
    /// Returns another handle of the same end, for elements of `size` bytes.
    fn clone(&self, size: usize) -> Outcome<NonNull<blitz_sender>>;
    fn subscribe(&self, _size: usize) -> Outcome<NonNull<blitz_receiver>> {
        Err(invalid("a channel of this kind cannot do this"))
    }
    fn close(&self) -> Outcome {
        Err(invalid("a channel of this kind cannot do this"))
    }
    fn is_closed(&self) -> bool;
    fn wait_closed(&self, limit: Limit) -> Outcome;
}

/// A receiving end. An operation that a kind does not have is `BLITZ_EINVAL`.
pub(crate) trait Receives: Send + Sync {
    /// Receives without waiting, or returns `BLITZ_EEMPTY`.
    fn try_recv(&self, to: &mut [u8]) -> Outcome
    where
        Self: Sized;
    /// `blitz_recv_until` for this type of end, after `try_recv` has returned `BLITZ_EEMPTY`. A fiber
    /// waits in this function itself: see `wait.rs`.
    extern "C" fn recv_until(&self, to: *mut c_void, size: usize, deadline_ns: u64) -> c_int;
    /// Returns the future of receiving in a selection.
    fn receiving<'a>(&'a self, to: &'a mut [u8]) -> Case<'a>;
    fn clone(&self, _size: usize) -> Outcome<NonNull<blitz_receiver>> {
        Err(invalid("a channel of this kind cannot do this"))
    }
    fn latest(&self, _: &mut [u8]) -> Outcome {
        Err(invalid("a channel of this kind cannot do this"))
    }
    fn close(&self) -> Outcome {
        Err(invalid("a channel of this kind cannot do this"))
    }
    fn len(&self) -> usize;
}

/// Runs the body of `Sends::send_until`.
#[inline(always)]
pub(super) fn send_entry(
    value: *const c_void,
    size: usize,
    deadline_ns: u64,
    body: impl FnOnce(&[u8], Limit) -> Outcome,
) -> c_int {
    entry(|| body(element(value.cast(), size)?, Limit::at(deadline_ns)))
}

/// Runs the body of `Receives::recv_until`.
#[inline(always)]
pub(super) fn recv_entry(
    to: *mut c_void,
    size: usize,
    deadline_ns: u64,
    body: impl FnOnce(&mut [u8], Limit) -> Outcome,
) -> c_int {
    entry(|| body(element_mut(to.cast(), size)?, Limit::at(deadline_ns)))
}

/// Copies an element that has arrived.
#[inline]
pub(crate) fn deliver<T: crate::element::Element>(
    received: Result<T, i32>,
    to: &mut [u8],
) -> Outcome {
    received.map(|value| value.write(to))
}

/// The sending end of a channel. Any thread or fiber may use it, several at once; with that of
/// `blitz_oneshot_new` a second call at the same time returns `BLITZ_EBUSY`.
pub struct blitz_sender {
    pub(super) size: usize,
    /// `blitz_try_send` for the type of the end, so that a call is one jump.
    try_send: unsafe extern "C" fn(NonNull<blitz_sender>, *const c_void) -> c_int,
    end: NonNull<dyn Sends>,
    free: unsafe fn(NonNull<blitz_sender>),
}

/// The receiving end of a channel. Any thread or fiber may use it. Several at once may use that
/// of `blitz_mpmc_new`; with the others a second call at the same time returns `BLITZ_EBUSY`.
pub struct blitz_receiver {
    pub(super) size: usize,
    /// `blitz_try_recv` for the type of the end, so that a call is one jump.
    try_recv: unsafe extern "C" fn(NonNull<blitz_receiver>, *mut c_void) -> c_int,
    end: NonNull<dyn Receives>,
    free: unsafe fn(NonNull<blitz_receiver>),
}

/// A handle with the end to which it points.
#[repr(C)]
struct Held<H, E> {
    /// The handle. It is the first field, so a pointer to it also points to the whole structure.
    handle: H,
    end: E,
}

/// # Safety
///
/// The handle comes from `hold` with the same type, and is not used again.
unsafe fn free_held<H, E>(handle: NonNull<H>) {
    let held: NonNull<Held<H, E>> = handle.cast();
    // SAFETY: `hold` made it as a box.
    drop(unsafe { Box::from_raw(held.as_ptr()) });
}

/// The two kinds of handles differ in their types only.
macro_rules! handle {
    ($handle:ident, $end:ident, $attempt:ident, $value:ty, $bytes:ident) => {
        impl $handle {
            /// Returns a new handle of an end.
            pub(super) fn hold<E: $end + 'static>(size: usize, end: E) -> NonNull<Self> {
                let held = Box::<Held<Self, E>>::new_uninit();
                let held = NonNull::from(Box::leak(held)).cast::<Held<Self, E>>();
                // SAFETY: this call owns the memory, which has room. `free_held` frees it with the end.
                unsafe {
                    let to = &raw mut (*held.as_ptr()).end;
                    to.write(end);
                    Self::begin(held.cast(), size, to, free_held::<Self, E>);
                }
                held.cast()
            }

            /// Writes a handle.
            ///
            /// # Safety
            ///
            /// The memory is the caller's. The end lives until `free` is called with the handle.
            pub(super) unsafe fn begin<E: $end + 'static>(
                handle: NonNull<Self>,
                size: usize,
                end: *mut E,
                free: unsafe fn(NonNull<Self>),
            ) {
                // SAFETY: the caller's pointers are not NULL.
                let end = unsafe { NonNull::new_unchecked(end as *mut dyn $end) };
                let handle_of_end = Self {
                    size,
                    $attempt: Self::attempt::<E>,
                    end,
                    free,
                };
                // SAFETY: by this function's contract.
                unsafe { handle.write(handle_of_end) };
            }

            /// Tries to send or receive. NULL is `BLITZ_EINVAL`.
            #[inline(always)]
            pub(super) fn $attempt(handle: *mut Self, value: $value) -> c_int {
                let Some(handle) = NonNull::new(handle) else {
                    return returned(BLITZ_EINVAL);
                };
                // SAFETY: rule 1. `begin` stored the function for the type of this end.
                unsafe { (handle.as_ref().$attempt)(handle, value) }
            }

            /// # Safety
            ///
            /// `begin` wrote the handle with this type, and the handle was not freed.
            unsafe extern "C" fn attempt<E: $end + 'static>(
                handle: NonNull<Self>,
                value: $value,
            ) -> c_int {
                entry(|| {
                    // SAFETY: by this function's contract, handle and end live.
                    let (handle, end) = unsafe {
                        let handle = handle.as_ref();
                        (handle, handle.end.cast::<E>().as_ref())
                    };
                    end.$attempt($bytes(value.cast(), handle.size)?)
                })
            }

            #[inline]
            pub(super) fn end(&self) -> &dyn $end {
                // SAFETY: the end lives as long as the handle, by the contract of `begin`.
                unsafe { self.end.as_ref() }
            }

            /// Drops an end, and frees its handle. Does nothing for NULL.
            pub(super) fn free(handle: *mut Self) {
                if let Some(handle) = NonNull::new(handle) {
                    // SAFETY: rules 1 and 4, and the contract of `begin`.
                    unsafe { (handle.as_ref().free)(handle) };
                }
            }
        }
    };
}

handle!(blitz_sender, Sends, try_send, *const c_void, element);
handle!(blitz_receiver, Receives, try_recv, *mut c_void, element_mut);
