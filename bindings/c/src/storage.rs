//! Primitives by value: memory of the caller in which a primitive of Rust lives.
//!
//! The layout of a primitive of Rust is not part of the interface, and may change with each
//! version of the compiler. So the initialisers of C have only a number that configures the primitive
//! ([`Storage::config`]), and the first use makes the primitive in the storage behind it. Nothing
//! is allocated, and nothing has to be released: none of the primitives owns memory.
//!
//! # The first use
//!
//! 1. `state` is [`RAW`] at first. The thread whose compare-exchange makes it [`IN_PROGRESS`]
//!    writes the primitive and then stores [`READY`] with release ordering.
//! 2. Other threads spin until then: the writer only copies a constant.
//! 3. If a thread reads another number, the memory is no such object: `BLITZ_EINVAL`.
//! 4. A thread that reads `READY` with acquire ordering sees the primitive.

use std::mem::{align_of, size_of};
use std::sync::atomic::{AtomicU32, Ordering};

use blitz_io_core::backoff::wait_for_step;

use crate::args::{arg, check};
use crate::error::{Outcome, invalid};

/// The `state` of an object by value that has been used. See `blitz_mutex` and `blitz_rwlock`.
pub const BLITZ_STATE_READY: u32 = 2;

const RAW: u32 = 0;
const IN_PROGRESS: u32 = 1;
const READY: u32 = BLITZ_STATE_READY;

/// A type of the header with storage for one primitive.
///
/// # Safety
///
/// The type is `repr(C)` and has the fields `state: u32`, `config: u32` and `space`, in this
/// order, with `space` aligned to 8 bytes and large enough for the primitive.
pub(crate) unsafe trait Storage: Sized {
    /// The primitive in the storage. It needs no destructor.
    type Primitive: Sync;

    /// Creates the primitive that the initialiser's number configures.
    fn new(config: u32) -> Self::Primitive;

    /// Returns the primitive in the storage behind a pointer, and makes it at the first use.
    #[inline]
    fn of<'a>(pointer: *const Self) -> Outcome<&'a Self::Primitive>
    where
        Self: 'a,
    {
        const {
            assert!(size_of::<Self::Primitive>() + 8 <= size_of::<Self>());
            assert!(align_of::<Self::Primitive>() <= 8 && align_of::<Self>() == 8);
        }
        let storage: *const Self = arg(pointer)?;
        // SAFETY: the first field is a number, which this crate reads and writes atomically only.
        let state = unsafe { &*storage.cast::<AtomicU32>() };
        if state.load(Ordering::Acquire) != READY {
            first_use(storage, state)?;
        }
        // SAFETY: by step 4 of the protocol, the primitive has been written. By rule 1, it does not move.
        Ok(unsafe { &*place(storage) })
    }

    /// Returns the initialiser's number.
    fn config(pointer: *const Self) -> u32 {
        // SAFETY: callers have a reference from `of`; the number does not change.
        unsafe { pointer.cast::<u32>().add(1).read() }
    }
}

/// Returns the first two numbers of an object by value that uses no other word for its state: the state,
/// and the initialiser's number, which does not change.
#[inline]
pub(crate) fn words<'a>(object: *const [u32; 2]) -> Outcome<(&'a AtomicU32, u32)> {
    check(object)?;
    let first: *mut u32 = object.cast_mut().cast();
    // SAFETY: rule 1: the object lives. This crate uses its first number atomically only.
    let word = unsafe { AtomicU32::from_ptr(first) };
    // SAFETY: rule 1; the number is written before the object is shared.
    Ok((word, unsafe { first.add(1).read() }))
}

/// Returns the address of the primitive.
fn place<S: Storage>(storage: *const S) -> *mut S::Primitive {
    // SAFETY: the two numbers in front of it take eight bytes, by the trait's contract.
    unsafe { storage.cast_mut().cast::<u64>().add(1).cast() }
}

#[cold]
fn first_use<S: Storage>(storage: *const S, state: &AtomicU32) -> Outcome {
    let begin = state.compare_exchange(RAW, IN_PROGRESS, Ordering::Relaxed, Ordering::Acquire);
    if begin.is_ok() {
        let primitive = S::new(S::config(storage));
        // SAFETY: by step 1 this thread alone writes; the size and the alignment are checked
        // in `of`.
        unsafe { place(storage).write(primitive) };
        state.store(READY, Ordering::Release);
        return Ok(());
    }
    // The memory was never initialised, or is used for something else now.
    if begin.is_err_and(|state| state > READY) {
        return Err(invalid(
            "the object was never initialised, or its memory is used for something else",
        ));
    }
    wait_for_step(|| state.load(Ordering::Acquire) == READY);
    Ok(())
}
