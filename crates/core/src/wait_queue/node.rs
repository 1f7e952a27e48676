//! One waiter: a thread or a task.

use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomPinned;
use std::ptr;
use std::task::Waker;
use std::time::Instant;

use blitz_io_futex::wake_one;

use super::wakes::Wake;
use crate::Watched;
use crate::parker::Parker;

/// One waiter.
///
/// # Invariants
///
/// 1. A linked node is alive and does not move: it is pinned, or on the stack of the waiting
///    thread. Its owner unlinks it, or waits for its signal, before it frees it.
/// 2. All fields but the signal, a parker, belong to only one thread at any moment: to the holder of the
///    queue's lock while the node is linked, otherwise to the waiter.
/// 3. Setting the signal of an unlinked node is the last access to it by the thread that chose
///    it.
pub struct Node<T = ()> {
    /// Notified when the node is chosen.
    signal: Parker,
    pub(super) linked: Cell<bool>,
    pub(super) previous: Cell<*const Node<T>>,
    pub(super) next: Cell<*const Node<T>>,
    /// Number of nodes that had come before.
    pub(super) arrival: Cell<u64>,
    /// The waker of a task. `None` for a thread, which sleeps on the signal.
    waker: UnsafeCell<Option<Waker>>,
    /// The request of the waiter; see invariant 2.
    pub request: T,
    /// Lets the model checker watch invariant 2.
    user: Watched<()>,
    /// Others hold pointers to a linked node, even while its future is borrowed
    /// exclusively.
    _pinned: PhantomPinned,
}

// SAFETY: invariant 2 of `Node`: only one thread at any moment uses all fields but the signal, a parker.
unsafe impl<T: Send> Send for Node<T> {}
// SAFETY: invariant 2 of `Node`: shared access is to the signal, or under the queue's lock.
unsafe impl<T: Send> Sync for Node<T> {}

impl<T> Node<T> {
    /// Creates a node that is in no queue yet.
    pub fn new(request: T) -> Self {
        Self {
            signal: Parker::new(),
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

    /// Tells the model checker that the caller uses more than the signal. It holds the lock, or is the
    /// waiter while the node is not linked.
    #[inline(always)]
    pub(super) fn touch(&self) {
        self.user.with_mut(|_| ());
    }

    /// Makes this the node of a task. To be called before it is put into a queue, and again
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

    /// Returns the node behind this one, or null.
    ///
    /// # Safety
    ///
    /// The caller holds the lock of the queue in which the node is linked.
    #[must_use]
    pub unsafe fn next(&self) -> *const Self {
        self.next.get()
    }

    /// Returns `true` if it has been chosen. Acquires the work that the choosing thread did before.
    #[inline]
    pub fn is_signalled(&self) -> bool {
        self.signal.is_notified()
    }

    /// Takes a signal back, to wait again.
    pub fn reset(&self) {
        self.signal.reset();
    }

    /// Sleeps until it is signalled. Returns `false` if the deadline comes first.
    pub fn sleep(&self, deadline: Option<Instant>) -> bool {
        self.signal.wait(deadline)
    }

    /// Returns the waker of a task.
    ///
    /// # Safety
    ///
    /// The caller holds the lock of the queue in which the node is linked.
    #[allow(clippy::mut_from_ref, reason = "the lock is what makes it exclusive")]
    pub(super) unsafe fn waker(&self) -> &mut Option<Waker> {
        // SAFETY: invariant 2 of `Node`: the caller holds the lock of the node's queue.
        unsafe { &mut *self.waker.get() }
    }

    /// Sets the signal of a node that has been unlinked; the wake is left to do.
    ///
    /// # Safety
    ///
    /// The node is alive, and the caller holds the lock of the queue it was in.
    /// Its owner may have freed it when this returns.
    pub(super) unsafe fn choose(node: *const Self) -> Wake {
        // SAFETY: the node is alive until `notify`.
        unsafe { (*node).touch() };
        // SAFETY: the node is alive until `notify`, and the caller holds the queue's lock.
        let waker = unsafe { (*node).waker().take() };
        // SAFETY: the node is alive.
        let asleep = unsafe { Parker::notify(&raw const (*node).signal) };
        match (waker, asleep) {
            (Some(waker), _) => Wake::Task(waker),
            (None, Some(word)) => Wake::Thread(word),
            (None, None) => Wake::Nobody,
        }
    }

    /// Signals and wakes the thread of a node.
    ///
    /// # Safety
    ///
    /// The node is alive. It may have been freed when this returns.
    pub unsafe fn signal(node: *const Self) {
        // SAFETY: the node is alive.
        if let Some(word) = unsafe { Parker::notify(&raw const (*node).signal) } {
            wake_one(word);
        }
    }
}
