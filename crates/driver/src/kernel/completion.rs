//! One operation that the kernel carries out: its parameters and buffers, its result, and
//! the task that waits for it.
//!
//! # Owners
//!
//! An operation is one allocation with a reference count. These have a reference:
//!
//! * The future.
//! * The kernel, from when the operation is queued until its completion is delivered.
//! * Each request to cancel the operation, until that request completes. So the request
//!   never names another operation.
//!
//! The owner that drops the last reference frees the operation. So a buffer is never
//! freed while the kernel may write to it, whatever happens to the future.
//!
//! # States of the slot
//!
//! ```text
//!               poll                poll
//!   PENDING ----------> CHANGING <--------> WAITING
//!      |                   |                   |
//!      +---------+---------+---------+---------+
//!                     | complete
//!                     v
//!                    DONE
//! ```
//!
//! * `PENDING`: the kernel has the operation, and there is no waker.
//! * `CHANGING`: the future owns the cell and writes its waker into it.
//! * `WAITING`: the cell holds a waker, which belongs to the thread that leaves this
//!   state.
//! * `DONE`: the result is stored, and the kernel no longer uses the operation. This
//!   state is final.
//!
//! # No completion is lost
//!
//! The completion writes the result and then swaps the state to `DONE`. If it finds
//! `WAITING`, it owns the waker, and it wakes the task. If it finds `CHANGING`, the future
//! is about to leave that state with a compare-and-swap, which fails, and so the future
//! returns the result itself. If it finds `PENDING`, the next poll finds `DONE`. The future
//! leaves a state only by a compare-and-swap, so it cannot overwrite `DONE`.
//!
//! # The parameters
//!
//! The future takes the parameters, including the buffer, only after it has seen `DONE`.
//! If it is dropped before, they stay, and the last reference finishes the operation: it
//! closes a descriptor that an `open` has returned, and frees a buffer. Reading the state
//! acquires the completion's writes. The completion has acquired the kernel's writes by
//! reading the queue.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::task::Waker;

use blitz_io_futex::atomic::{AtomicU32, Ordering};

use crate::kernel::wakers::Wakers;

const PENDING: u32 = 0;
const CHANGING: u32 = 1;
const WAITING: u32 = 2;
const DONE: u32 = 3;

/// The last step of an operation.
pub trait Finish: Send + 'static {
    /// The output of the operation.
    type Output: Send;

    /// Converts the kernel's result, which is a non-negative number or a negated error,
    /// into the output. Called once, also if the future was dropped.
    fn finish(self, result: i32) -> Self::Output;
}

/// The state and the waker of an operation. The module documentation has the protocol.
struct Slot {
    state: AtomicU32,
    waker: UnsafeCell<Option<Waker>>,
    result: AtomicU32,
}

impl Slot {
    fn new() -> Self {
        Self {
            state: AtomicU32::new(PENDING),
            waker: UnsafeCell::new(None),
            result: AtomicU32::new(0),
        }
    }

    /// Returns the result if the operation is done.
    fn result(&self) -> Option<i32> {
        let is_done = self.state.load(Ordering::Acquire) == DONE;
        is_done.then(|| self.result.load(Ordering::Relaxed) as i32)
    }

    /// Returns the result, or stores the waker. Called by the future.
    fn poll(&self, waker: &Waker) -> Option<i32> {
        let before = self.state.load(Ordering::Acquire);
        if before == DONE {
            return self.result();
        }
        let mut waker = Some(waker.clone());
        let taken =
            (self.state).compare_exchange(before, CHANGING, Ordering::Acquire, Ordering::Acquire);
        if taken.is_err() {
            return self.result();
        }
        // SAFETY: in `CHANGING` the cell belongs to the future.
        unsafe { self.waker.get().swap(&mut waker) };
        let left =
            (self.state).compare_exchange(CHANGING, WAITING, Ordering::Release, Ordering::Acquire);
        match left {
            Ok(_) => None,
            Err(_) => self.result(),
        }
    }

    /// Records the result when the kernel has released the operation. Returns the waker to
    /// wake.
    fn complete(&self, result: i32) -> Option<Waker> {
        self.result.store(result as u32, Ordering::Relaxed);
        match self.state.swap(DONE, Ordering::AcqRel) {
            // SAFETY: the waker belongs to the thread that leaves `WAITING`.
            WAITING => unsafe { (*self.waker.get()).take() },
            _ => None,
        }
    }
}

/// The part of an operation that is the same for all types.
pub struct Header {
    slot: Slot,
    release: unsafe fn(*const Header),
}

/// An operation, with its slot. The header comes first, so that its address is that of the
/// whole.
#[repr(C)]
pub struct Shared<O: Finish> {
    header: Header,
    operation: UnsafeCell<Option<O>>,
}

// SAFETY: the state guards the cells, by the protocol at the top of this file.
unsafe impl<O: Finish> Send for Shared<O> {}
// SAFETY: the state also decides which thread may use the cells through a shared
// reference.
unsafe impl<O: Finish> Sync for Shared<O> {}

impl<O: Finish> Shared<O> {
    /// Creates an operation that the kernel does not have yet.
    pub fn new(operation: O) -> Arc<Self> {
        Arc::new(Self {
            header: Header {
                slot: Slot::new(),
                release: release::<O>,
            },
            operation: UnsafeCell::new(Some(operation)),
        })
    }

    /// Returns the operation. The caller has the only reference.
    pub fn operation(this: &mut Arc<Self>) -> &mut O {
        let shared = Arc::get_mut(this).expect("the operation is shared");
        (shared.operation.get_mut().as_mut()).expect("the operation has been taken")
    }

    /// Takes the operation back. The caller has the only reference.
    pub fn into_operation(mut this: Arc<Self>) -> O {
        let shared = Arc::get_mut(&mut this).expect("the operation is shared");
        (shared.operation.get_mut().take()).expect("the operation has been taken")
    }

    /// Adds a reference, which [`complete`] or [`forget`] drops.
    pub fn lend(this: &Arc<Self>) -> *const Header {
        Arc::into_raw(this.clone()).cast()
    }

    /// Adds the reference of a request to cancel the operation, which [`cancelled`] drops.
    pub fn lend_to_cancel(this: &Arc<Self>) -> *const Header {
        Self::lend(this)
    }

    /// Returns `true` if the kernel has released the operation.
    pub fn is_done(&self) -> bool {
        self.header.slot.result().is_some()
    }

    /// Returns the operation and its result if the kernel has released it, or stores the
    /// waker. Called by the future, which does not call it again after it got them.
    pub fn poll(&self, waker: &Waker) -> Option<(O, i32)> {
        let result = self.header.slot.poll(waker)?;
        // SAFETY: the state is `DONE`, so the kernel holds nothing of the operation, and
        // only the future takes it while there are references.
        let operation = unsafe { (*self.operation.get()).take() };
        Some((operation.expect("polled after it was ready"), result))
    }
}

impl<O: Finish> Drop for Shared<O> {
    fn drop(&mut self) {
        let operation = self.operation.get_mut().take();
        if let (Some(operation), Some(result)) = (operation, self.header.slot.result()) {
            drop(operation.finish(result));
        }
    }
}

/// # Safety
///
/// The address is that of a `Shared<O>`, and the caller has a reference to it.
unsafe fn release<O: Finish>(header: *const Header) {
    // SAFETY: the caller guarantees that the reference exists. `lend` returned the address
    // of the whole.
    drop(unsafe { Arc::from_raw(header.cast::<Shared<O>>()) });
}

/// Delivers a completion. The waker and the kernel's reference go to `wakers`.
///
/// # Safety
///
/// The address came from [`Shared::lend`], for an operation that the kernel had, and this is
/// its only completion.
pub unsafe fn complete(header: *const Header, result: i32, wakers: &mut Wakers) {
    // SAFETY: the caller guarantees that the kernel's reference still exists.
    let waker = unsafe { (*header).slot.complete(result) };
    wakers.extend(waker);
    // SAFETY: the kernel's reference still exists; this is its only completion, so no
    // other call gives it up.
    unsafe { forget(header, wakers) };
}

/// Drops a reference after `wakers` are woken: freeing may run user code.
///
/// # Safety
///
/// The address came from [`Shared::lend`], and this is the only use of that reference.
pub unsafe fn forget(header: *const Header, wakers: &mut Wakers) {
    wakers.retire(Retired(header));
}

/// Delivers the completion of a request to cancel.
///
/// # Safety
///
/// The address came from [`Shared::lend_to_cancel`], and this is the only completion of that
/// request.
pub unsafe fn cancelled(header: *const Header, wakers: &mut Wakers) {
    // SAFETY: the caller guarantees that the request's reference exists.
    unsafe { forget(header, wakers) };
}

/// A reference to be dropped.
#[derive(Debug)]
pub struct Retired(*const Header);

// SAFETY: the operation that it refers to is `Send`.
unsafe impl Send for Retired {}

impl Drop for Retired {
    fn drop(&mut self) {
        // SAFETY: by the contract of `forget` there is a reference, of which this is the
        // only use.
        unsafe { ((*self.0).release)(self.0) };
    }
}
