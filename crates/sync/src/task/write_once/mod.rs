//! A value that is written once: the common core of `OnceCell` and `SetOnce`.
//!
//! # States
//!
//! * [`EMPTY`]: there is no value, and none is being made.
//! * [`BUSY`]: the *turn* is taken: a [`Turn`] has it, or a node in which it waits to be picked
//!   up. Only its owner may write the value.
//! * [`SET`]: the value is initialised. This state is final.
//!
//! The state changes under the lock of the queue, and only there:
//!
//! | from | to | by |
//! |---|---|---|
//! | `EMPTY` | `SET` | [`WriteOnce::set`], which writes the value under the lock |
//! | `EMPTY` | `BUSY` | the waiter that takes the turn |
//! | `BUSY` | `SET` | the owner of the turn, with the value written |
//! | `BUSY` | `EMPTY` | the owner of the turn, which gives it up when no waiter wants it |
//!
//! Reading is one load. Setting the value costs one read-modify-write, that of the lock. A claim
//! of the state alone would cost the same.
//!
//! In the queue are waiters that want the turn, and waiters that only want the value. A task that
//! gives the turn up leaves the state `BUSY`, and chooses the first that wants the turn: that one
//! has it from then on. Publishing the value chooses all.
//!
//! # No wake-up is lost
//!
//! A waiter joins the queue under the lock, having seen there that the state is
//! not `SET` and, if it wants the turn, that it is `BUSY`. A task that changes the
//! state does it under the lock too, and looks into the queue under the same lock. So
//! one of them comes second and sees the other.
//!
//! A chosen node reads its result from the state. With `SET` there is a value; otherwise the node
//! has the turn, since only its owner could set the value. A future that is dropped having the
//! turn gives it up like any other owner.

mod turn;

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::mem::{self, MaybeUninit};
use std::ptr;

use blitz_io_futex::atomic::{AtomicU8, Ordering};

use blitz_io_core::const_unless_loom;
use blitz_io_core::{List, Node, WaitQueue};

/// There is no value.
const EMPTY: u8 = 0;
/// The turn is taken.
const BUSY: u8 = 1;
/// The value is initialised.
const SET: u8 = 2;

/// See the head of this file.
pub(super) struct WriteOnce<T> {
    state: AtomicU8,
    /// Initialised exactly when the state is `SET`.
    value: UnsafeCell<MaybeUninit<T>>,
    waiters: WaitQueue<Request>,
    /// Dropping the cell drops a `T`.
    owns: PhantomData<T>,
}

// SAFETY: the value goes where the cell goes.
unsafe impl<T: Send> Send for WriteOnce<T> {}
// SAFETY: a thread that shares the cell can put a value in, which another thread then reads or
// drops.
unsafe impl<T: Send + Sync> Sync for WriteOnce<T> {}

/// The request of a waiter in the queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Request {
    /// The turn, or the value.
    Turn,
    /// The value.
    Value,
}

/// Why a value was not set.
pub(super) enum Refused {
    /// The turn is taken.
    Busy,
    /// There is a value.
    Set,
}

impl<T> WriteOnce<T> {
    const_unless_loom! {
        pub(super) const fn new() -> Self {
            Self {
                state: AtomicU8::new(EMPTY),
                value: UnsafeCell::new(MaybeUninit::uninit()),
                waiters: WaitQueue::new(),
                owns: PhantomData,
            }
        }
    }

    const_unless_loom! {
        pub(super) const fn with(value: T) -> Self {
            Self {
                state: AtomicU8::new(SET),
                value: UnsafeCell::new(MaybeUninit::new(value)),
                waiters: WaitQueue::new(),
                owns: PhantomData,
            }
        }
    }

    #[inline]
    pub(super) fn is_set(&self) -> bool {
        self.state.load(Ordering::Acquire) == SET
    }

    #[inline]
    pub(super) fn get(&self) -> Option<&T> {
        // SAFETY: it has been written, and is not written again while shared.
        self.is_set()
            .then(|| unsafe { (*self.value.get()).assume_init_ref() })
    }

    #[inline]
    pub(super) fn get_mut(&mut self) -> Option<&mut T> {
        self.is_set()
            // SAFETY: in the state `SET` the value is initialised.
            .then(|| unsafe { self.value.get_mut().assume_init_mut() })
    }

    pub(super) fn take(&mut self) -> Option<T> {
        mem::replace(self, Self::new()).into_inner()
    }

    pub(super) fn into_inner(self) -> Option<T> {
        let is_set = self.is_set();
        // The value is not dropped, as it is moved out, nor is anything else: no waiter is
        // queued.
        self.state.store(EMPTY, Ordering::Relaxed);
        // SAFETY: the state was `SET`, so the value is initialised. It is `EMPTY` now, so `drop`
        // leaves the value alone.
        is_set.then(|| unsafe { (*self.value.get()).assume_init_read() })
    }

    /// Sets the value if there is none, and none is being made.
    #[inline]
    pub(super) fn set(&self, value: T) -> Result<(), (Refused, T)> {
        if self.is_set() {
            return Err((Refused::Set, value));
        }
        let mut value = Some(value);
        let mut refused = Refused::Set;
        let set = |_: &mut List<Request>| {
            match self.state.load(Ordering::Relaxed) {
                EMPTY => {}
                BUSY => {
                    refused = Refused::Busy;
                    return false;
                }
                _ => return false,
            }
            let Some(value) = value.take() else {
                return false;
            };
            // SAFETY: the turn is free, and stays free until this is done, as the lock is held.
            unsafe { self.write(value) };
            self.publish();
            true
        };
        self.waiters.notify_each_after(set, |_| {});
        match value {
            None => Ok(()),
            Some(value) => Err((refused, value)),
        }
    }

    /// # Safety
    ///
    /// The caller has the turn, or holds the lock with the state `EMPTY`.
    unsafe fn write(&self, value: T) {
        // SAFETY: it is not read before the state is `SET`.
        unsafe { (*self.value.get()).write(value) };
    }

    /// Publishes the value. Under the lock.
    fn publish(&self) {
        self.state.store(SET, Ordering::Release);
    }

    /// Puts the value in and wakes all. For the owner of the turn.
    fn fill(&self, value: T) -> &T {
        // SAFETY: the caller owns the turn, so no other thread writes or reads the value.
        unsafe { self.write(value) };
        let publish = |_: &mut List<Request>| {
            self.publish();
            true
        };
        self.waiters.notify_each_after(publish, |_| {});
        // SAFETY: it has just been written, and is not written again while shared.
        unsafe { (*self.value.get()).assume_init_ref() }
    }

    /// Lets the next waiter try. For the owner of the turn.
    #[cold]
    fn give_up(&self) {
        let wake = self.waiters.locked(|list| {
            let next = Self::next(list);
            if next.is_null() {
                self.state.store(EMPTY, Ordering::Release);
                return None;
            }
            // SAFETY: it is linked.
            Some(unsafe { list.choose(next) })
        });
        if let Some(wake) = wake {
            wake.wake();
        }
    }

    /// The first waiter that wants the turn, or null.
    fn next(list: &List<Request>) -> *const Node<Request> {
        list.iter()
            .find(|node| node.request == Request::Turn)
            .map_or(ptr::null(), ptr::from_ref)
    }
}

impl<T> Drop for WriteOnce<T> {
    #[inline]
    fn drop(&mut self) {
        if mem::needs_drop::<T>() && self.is_set() {
            // SAFETY: in the state `SET` the value is initialised, and it is not used any more.
            unsafe { self.value.get_mut().assume_init_drop() };
        }
    }
}
