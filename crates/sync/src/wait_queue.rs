//! A queue of waiting threads, first come, first served.
//!
//! A waiting thread is a [`Node`] on its own stack, linked into the list of a
//! [`WaitQueue`]; nothing is allocated. The list is guarded by a small lock that
//! is held for a few instructions.
//!
//! # States of a node
//!
//! Two facts describe a node: whether it is *linked*, which only the holder of
//! the queue's lock may change or ask, and its *signal*, on which its thread
//! sleeps: [`ASLEEP`] or [`SIGNALLED`].
//!
//! Whoever wakes a thread sets its signal and then wakes it by address. From the
//! moment the signal is set, the thread may run on and its node may be gone, so
//! setting it is the last thing done to the node, and the system never reads
//! the address it is given.
//!
//! # Two ways to use it
//!
//! *Take out and signal*, as a condition variable does: [`WaitQueue::notify_one`]
//! unlinks the first node under the lock and signals it after releasing the lock.
//! A thread whose time is up looks under the lock whether it is still linked. If
//! it is, it unlinks itself and has timed out. If it is not, somebody has chosen
//! it and will signal it: it waits for that, which is a matter of instructions,
//! and counts as notified. So no notification is spent on a thread that left,
//! and no node goes away while somebody holds a pointer to it.
//!
//! *Signal in place*, as the semaphore does: the node stays linked, and keeps its
//! place, until its thread unlinks it. It is signalled under the lock, and its
//! thread does not leave without taking the lock.
//!
//! # No wake-up is lost
//!
//! The signal is a futex word. It is set before the wake, and the system compares
//! it when the thread goes to sleep.

use std::cell::{Cell, UnsafeCell};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr;
use std::time::Instant;

use blitz_futex::atomic::{AtomicU32, AtomicUsize, Ordering};
use blitz_futex::{WaitResult, wait_until, wake_one};

use crate::list_lock::ListLock;
use crate::macros::const_unless_loom;

/// The thread may sleep.
const ASLEEP: u32 = 0;
/// The thread has been chosen.
const SIGNALLED: u32 = 1;

/// See the head of this file.
pub struct WaitQueue {
    lock: ListLock,
    /// How many nodes are linked. Written under the lock, read without it.
    len: AtomicUsize,
    list: UnsafeCell<List>,
}

// SAFETY: the list is used only by the holder of the lock, and its nodes are
// kept alive by their threads as long as they are linked.
unsafe impl Send for WaitQueue {}
// SAFETY: as above.
unsafe impl Sync for WaitQueue {}

// No user's code runs under the lock, so a panic cannot leave the list half done.
impl UnwindSafe for WaitQueue {}
impl RefUnwindSafe for WaitQueue {}

/// The nodes, while the lock is held.
pub(crate) struct List {
    first: *const Node,
    last: *const Node,
    len: usize,
}

/// One waiting thread.
pub struct Node {
    signal: AtomicU32,
    linked: Cell<bool>,
    previous: Cell<*const Node>,
    next: Cell<*const Node>,
    /// How much it waits for.
    pub(crate) need: u32,
    /// It has waited for too long.
    pub(crate) is_late: Cell<bool>,
}

impl WaitQueue {
    const_unless_loom! {
        /// Nobody waits.
        pub const fn new() -> Self {
            Self {
                lock: ListLock::new(),
                len: AtomicUsize::new(0),
                list: UnsafeCell::new(List { first: ptr::null(), last: ptr::null(), len: 0 }),
            }
        }
    }

    /// Whether nobody waits. Sees every wait that happened before the call.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len.load(Ordering::Relaxed) == 0
    }

    /// Runs `with` on the list, under the lock.
    pub(crate) fn locked<R>(&self, with: impl FnOnce(&mut List) -> R) -> R {
        self.lock.locked(|| {
            // SAFETY: we hold the lock.
            let list = unsafe { &mut *self.list.get() };
            let result = with(list);
            self.len.store(list.len, Ordering::Relaxed);
            result
        })
    }

    /// Puts a node at the end of the queue.
    ///
    /// # Safety
    ///
    /// The node stays where it is until [`WaitQueue::sleep`] has returned for it.
    pub unsafe fn join(&self, node: &Node) {
        // SAFETY: the caller keeps the node where it is while it is linked.
        self.locked(|list| unsafe { list.push(node) });
    }

    /// Sleeps until somebody takes the node out and signals it, or takes it out
    /// itself at the deadline. Whether it was signalled.
    pub fn sleep(&self, node: &Node, deadline: Option<Instant>) -> bool {
        if node.sleep(deadline) {
            return true;
        }
        if self.locked(|list| list.remove(node)) == Removed::Now {
            return false;
        }
        // Chosen in the last moment: the signal is on its way.
        node.sleep(None)
    }

    /// Takes out and signals the first node. Whether there was one.
    pub fn notify_one(&self) -> bool {
        match self.locked(List::pop) {
            Some(node) => {
                // SAFETY: we took it out, and it stays until we signal it.
                unsafe { Node::signal(node) };
                true
            }
            None => false,
        }
    }

    /// Takes out and signals all nodes. How many there were.
    pub fn notify_all(&self) -> usize {
        let (mut next, all) = self.locked(List::take);
        // SAFETY: we took it out, and it stays until we signal it.
        while let Some(node) = unsafe { next.as_ref() } {
            next = node.next.get();
            // SAFETY: as above.
            unsafe { Node::signal(node) };
        }
        all
    }
}

/// What [`List::remove`] found.
#[derive(PartialEq, Eq)]
pub(crate) enum Removed {
    Now,
    Before,
}

impl List {
    /// Links a node behind the others.
    ///
    /// # Safety
    ///
    /// The node stays where it is as long as it is linked.
    pub(crate) unsafe fn push(&mut self, node: &Node) {
        node.previous.set(self.last);
        node.next.set(ptr::null());
        node.linked.set(true);
        // SAFETY: a linked node is alive.
        match unsafe { self.last.as_ref() } {
            Some(last) => last.next.set(node),
            None => self.first = node,
        }
        self.last = node;
        self.len += 1;
    }

    /// Unlinks a node, if it is linked.
    pub(crate) fn remove(&mut self, node: &Node) -> Removed {
        if !node.linked.replace(false) {
            return Removed::Before;
        }
        let (previous, next) = (node.previous.get(), node.next.get());
        // SAFETY: a linked node is alive, and so are its linked neighbours.
        match unsafe { previous.as_ref() } {
            Some(previous) => previous.next.set(next),
            None => self.first = next,
        }
        // SAFETY: as above.
        match unsafe { next.as_ref() } {
            Some(next) => next.previous.set(previous),
            None => self.last = previous,
        }
        self.len -= 1;
        Removed::Now
    }

    fn pop(&mut self) -> Option<*const Node> {
        let first = self.first;
        // SAFETY: a linked node is alive.
        self.remove(unsafe { first.as_ref() }?);
        Some(first)
    }

    /// Unlinks all nodes. The first of them, which still leads to the others, and
    /// how many they are.
    fn take(&mut self) -> (*const Node, usize) {
        self.iter().for_each(|node| node.linked.set(false));
        let all = (self.first, self.len);
        (self.first, self.last, self.len) = (ptr::null(), ptr::null(), 0);
        all
    }

    /// Whether the node is before all others.
    pub(crate) fn is_first(&self, node: &Node) -> bool {
        ptr::eq(self.first, node)
    }

    /// The nodes in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Node> {
        // SAFETY: a linked node is alive.
        let first = unsafe { self.first.as_ref() };
        // SAFETY: as above.
        std::iter::successors(first, |node| unsafe { node.next.get().as_ref() })
    }
}

impl Node {
    /// A node that waits for `need`.
    pub fn new(need: u32) -> Self {
        Self {
            signal: AtomicU32::new(ASLEEP),
            linked: Cell::new(false),
            previous: Cell::new(ptr::null()),
            next: Cell::new(ptr::null()),
            need,
            is_late: Cell::new(false),
        }
    }

    pub(crate) fn is_signalled(&self) -> bool {
        self.signal.load(Ordering::Acquire) == SIGNALLED
    }

    /// Takes a signal back, to sleep again.
    pub(crate) fn reset(&self) {
        self.signal.store(ASLEEP, Ordering::Relaxed);
    }

    /// Sleeps until it is signalled. `false` if the deadline comes first.
    pub(crate) fn sleep(&self, deadline: Option<Instant>) -> bool {
        while !self.is_signalled() {
            if wait_until(&self.signal, ASLEEP, deadline) == WaitResult::TimedOut {
                return self.is_signalled();
            }
        }
        true
    }

    /// Signals and wakes a node.
    ///
    /// # Safety
    ///
    /// The node is alive. It may be gone when this returns.
    pub(crate) unsafe fn signal(node: *const Node) {
        // SAFETY: the node is alive until the store.
        let signal = unsafe { &raw const (*node).signal };
        // SAFETY: as above.
        unsafe { (*signal).store(SIGNALLED, Ordering::Release) };
        wake_one(signal);
    }
}
