//! One waiter: a thread or a task.

use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomPinned;
use std::ptr;
use std::task::Waker;
use std::time::Instant;

use blitz_futex::atomic::{AtomicU32, Ordering};
use blitz_futex::{WaitResult, wait_until, wake_one};

use super::wakes::Wake;
use crate::mutant::{Mutant, active};
use crate::watched::Watched;

/// It has yet to be chosen, and need not be woken: it looks for itself, or is a task.
const AWAKE: u32 = 0;
/// It has been chosen.
const SIGNALLED: u32 = 1;
/// It has yet to be chosen: its thread sleeps, or is about to.
const ASLEEP: u32 = 2;

/// One waiter. It must stay where it is while it is linked, so it is pinned, or
/// it stays on the stack of the thread that waits.
pub struct Node<T = ()> {
    signal: AtomicU32,
    pub(super) linked: Cell<bool>,
    pub(super) previous: Cell<*const Node<T>>,
    pub(super) next: Cell<*const Node<T>>,
    /// How many had come before.
    pub(super) arrival: Cell<u64>,
    /// What to wake. `None`: the thread that sleeps on the signal.
    waker: UnsafeCell<Option<Waker>>,
    /// What it waits for. Belongs to the holder of the queue's lock while the
    /// node is linked, and to the waiter while it is not.
    pub request: T,
    /// Lets the model checker watch that one thread at a time uses the node.
    user: Watched<()>,
    /// Others hold pointers to a linked node, even while its future is borrowed
    /// exclusively.
    _pinned: PhantomPinned,
}

// SAFETY: all but the signal, an atomic, is used by one thread at a time: the
// holder of the queue's lock, or the waiter. See the head of `mod.rs`.
unsafe impl<T: Send> Send for Node<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Node<T> {}

impl<T> Node<T> {
    /// A node that is in no queue yet.
    pub fn new(request: T) -> Self {
        Self {
            signal: AtomicU32::new(AWAKE),
            linked: Cell::new(false),
            previous: Cell::new(ptr::null()),
            next: Cell::new(ptr::null()),
            arrival: Cell::new(0),
            waker: UnsafeCell::new(None),
            request,
            user: Watched::new(()),
            _pinned: PhantomPinned,
        }
    }

    /// Called before anything but the signal is used, by the holder of the lock, or by the waiter
    /// while the node is not linked.
    #[inline(always)]
    pub(super) fn touch(&self) {
        self.user.with_mut(|_| ());
    }

    /// The node of a task. To be called before it is put into a queue, and again
    /// each time before that.
    ///
    /// # Safety
    ///
    /// The node is not linked, and the caller owns it.
    pub unsafe fn arm(&self, waker: &Waker) {
        let waker = waker.clone();
        self.touch();
        // SAFETY: only the caller uses the node.
        let old = unsafe { (*self.waker.get()).replace(waker) };
        self.reset();
        drop(old);
    }

    /// Drops the waker of a node that was not put into a queue after all.
    ///
    /// # Safety
    ///
    /// The node is not linked, and the caller owns it.
    pub unsafe fn disarm(&self) {
        self.touch();
        // SAFETY: only the caller uses the node.
        let old = unsafe { (*self.waker.get()).take() };
        drop(old);
    }

    /// The node behind this one, or null.
    ///
    /// # Safety
    ///
    /// The caller holds the lock of the queue in which the node is linked.
    #[must_use]
    pub unsafe fn next(&self) -> *const Self {
        self.next.get()
    }

    /// Whether it has been chosen. Sees what was done before that.
    #[inline]
    pub fn is_signalled(&self) -> bool {
        self.signal.load(Ordering::Acquire) == SIGNALLED
    }

    /// Takes a signal back, to wait again.
    pub fn reset(&self) {
        self.signal.store(AWAKE, Ordering::Relaxed);
    }

    /// Sleeps until it is signalled. `false` if the deadline comes first.
    pub fn sleep(&self, deadline: Option<Instant>) -> bool {
        let asleep = match active(Mutant::QueueSleepsSilently) {
            true => AWAKE,
            false => ASLEEP,
        };
        // Says so first: a node that is awake is chosen without a wake-up.
        _ = (self.signal).compare_exchange(AWAKE, asleep, Ordering::Relaxed, Ordering::Relaxed);
        while !self.is_signalled() {
            if wait_until(&self.signal, asleep, deadline) == WaitResult::TimedOut {
                return self.is_signalled();
            }
        }
        true
    }

    /// What to wake.
    ///
    /// # Safety
    ///
    /// The caller holds the lock of the queue in which the node is linked.
    #[allow(clippy::mut_from_ref, reason = "the lock is what makes it exclusive")]
    pub(super) unsafe fn waker(&self) -> &mut Option<Waker> {
        // SAFETY: see above.
        unsafe { &mut *self.waker.get() }
    }

    /// Sets the signal of a node that has been unlinked; the wake is left to do.
    ///
    /// # Safety
    ///
    /// The node is alive, and the caller holds the lock of the queue it was in.
    /// It may be gone when this returns.
    pub(super) unsafe fn choose(node: *const Self) -> Wake {
        // SAFETY: the node is alive until the store.
        let signal = unsafe { &raw const (*node).signal };
        if active(Mutant::QueueSignalFirst) {
            // SAFETY: none, this is the mistake; models keep the node alive.
            unsafe { (*signal).store(SIGNALLED, Ordering::Release) };
        }
        // SAFETY: the node is alive until the store.
        unsafe { (*node).touch() };
        // SAFETY: as above.
        let waker = unsafe { (*node).waker().take() };
        let order = match active(Mutant::QueueRelaxedSignal) {
            false => Ordering::Release,
            true => Ordering::Relaxed,
        };
        if let Some(waker) = waker {
            // SAFETY: as above.
            unsafe { (*signal).store(SIGNALLED, order) };
            return Wake::Task(waker);
        }
        // SAFETY: as above.
        match unsafe { (*signal).swap(SIGNALLED, order) } {
            ASLEEP => Wake::Thread(signal),
            _ => Wake::Nobody,
        }
    }

    /// Signals and wakes the thread of a node.
    ///
    /// # Safety
    ///
    /// The node is alive. It may be gone when this returns.
    pub(crate) unsafe fn signal(node: *const Self) {
        // SAFETY: the node is alive until the swap.
        let signal = unsafe { &raw const (*node).signal };
        // SAFETY: as above.
        if unsafe { (*signal).swap(SIGNALLED, Ordering::Release) } == ASLEEP {
            wake_one(signal);
        }
    }
}
