//! The nodes of a queue, while its lock is held.

use std::ptr;
use std::task::Waker;

use super::node::Node;
use super::wakes::Wake;

/// The nodes of a queue in the order of their arrival, while the lock is held.
pub struct List<T> {
    first: *const Node<T>,
    last: *const Node<T>,
    arrivals: u64,
}

// SAFETY: by the invariants of `Node`, linked nodes are alive, and only the holder of the lock
// around the list uses them. Any thread may use a `T: Send`.
unsafe impl<T: Send> Send for List<T> {}

impl<T> List<T> {
    /// Creates an empty list.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "a list belongs into a lock")]
    pub const fn new() -> Self {
        Self {
            first: ptr::null(),
            last: ptr::null(),
            arrivals: 0,
        }
    }

    /// Returns `true` if none is linked.
    pub fn is_empty(&self) -> bool {
        self.first.is_null()
    }

    /// Returns `true` if more than one is linked.
    pub fn has_several(&self) -> bool {
        self.first != self.last
    }

    /// Returns the number of nodes that have come so far.
    pub fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// Links a node behind the others.
    ///
    /// # Safety
    ///
    /// The node does not move as long as it is linked, and is linked nowhere
    /// else.
    pub unsafe fn push(&mut self, node: &Node<T>) {
        node.touch();
        node.previous.set(self.last);
        node.next.set(ptr::null());
        node.linked.set(true);
        node.arrival.set(self.arrivals);
        // SAFETY: a linked node is alive.
        match unsafe { self.last.as_ref() } {
            Some(last) => last.next.set(node),
            None => self.first = node,
        }
        self.last = node;
        self.arrivals += 1;
    }

    /// Unlinks a node. Returns `false` if it was not linked.
    pub fn remove(&mut self, node: &Node<T>) -> bool {
        node.touch();
        if !node.linked.replace(false) {
            return false;
        }
        let (previous, next) = (node.previous.get(), node.next.get());
        // SAFETY: a linked node is alive, and so are its linked neighbours.
        match unsafe { previous.as_ref() } {
            Some(previous) => previous.next.set(next),
            None => self.first = next,
        }
        // SAFETY: a linked node is alive, and so are its linked neighbours.
        match unsafe { next.as_ref() } {
            Some(next) => next.previous.set(previous),
            None => self.last = previous,
        }
        true
    }

    /// Unlinks a node and signals it. The caller wakes it after it has released the lock.
    ///
    /// # Safety
    ///
    /// The node is linked in this list. It may have been freed when this returns.
    pub unsafe fn choose(&mut self, node: *const Node<T>) -> Wake {
        // SAFETY: a linked node is alive.
        self.remove(unsafe { &*node });
        // SAFETY: it stays alive until it is signalled, and the lock is held.
        unsafe { Node::choose(node) }
    }

    /// Chooses the first node, if there is one.
    pub fn choose_first(&mut self) -> Option<Wake> {
        // SAFETY: it is linked.
        (!self.first.is_null()).then(|| unsafe { self.choose(self.first) })
    }

    /// Chooses the last node, if there is one.
    pub fn choose_last(&mut self) -> Option<Wake> {
        // SAFETY: it is linked.
        (!self.last.is_null()).then(|| unsafe { self.choose(self.last) })
    }

    /// Returns the first node.
    pub fn first(&self) -> Option<&Node<T>> {
        // SAFETY: a linked node is alive.
        unsafe { self.first.as_ref() }
    }

    /// Returns the waker of the first node, if that is a task's.
    pub fn first_waker(&self) -> Option<&Waker> {
        // SAFETY: it is linked here.
        unsafe { self.waker_of(self.first()?) }
    }

    /// Returns the waker of a node, if that is a task's.
    ///
    /// # Safety
    ///
    /// The node is linked in this list.
    pub unsafe fn waker_of(&self, node: *const Node<T>) -> Option<&Waker> {
        // SAFETY: a linked node is alive, and the lock is held.
        unsafe { (*node).waker() }.as_ref()
    }

    /// Returns the last node.
    pub fn last(&self) -> Option<&Node<T>> {
        // SAFETY: a linked node is alive.
        unsafe { self.last.as_ref() }
    }

    /// Returns the first node, if fewer than `arrivals` had come before it. Not bound to
    /// the borrow of the list, so that it can be chosen.
    pub(super) fn first_until<'a>(&self, arrivals: u64) -> Option<&'a Node<T>> {
        // SAFETY: a linked node is alive, and the caller holds the lock.
        unsafe { self.first.as_ref() }.filter(|first| first.arrival.get() < arrivals)
    }

    /// Returns `true` if the node is before all others.
    pub fn is_first(&self, node: &Node<T>) -> bool {
        ptr::eq(self.first, node)
    }

    /// Returns `true` if the node is linked.
    pub fn holds(&self, node: &Node<T>) -> bool {
        node.linked.get()
    }

    /// Returns the nodes in order.
    pub fn iter(&self) -> impl Iterator<Item = &Node<T>> {
        // SAFETY: a linked node is alive.
        std::iter::successors(self.first(), |node| unsafe { node.next.get().as_ref() })
    }

    /// Returns `true` if this waker would be woken for the node, or `None` if it is not linked.
    pub fn will_wake(&self, node: &Node<T>, waker: &Waker) -> Option<bool> {
        // SAFETY: it is linked here, and the lock is held.
        let same = |node: &Node<T>| unsafe { node.waker() }.as_ref().map(|w| w.will_wake(waker));
        node.touch();
        node.linked.get().then(|| same(node).unwrap_or(false))
    }

    /// Lets another waker be woken for the node, if it is linked. Returns whether it is,
    /// and the waker that is no longer needed.
    pub fn change_waker(&mut self, node: &Node<T>, waker: Waker) -> (bool, Option<Waker>) {
        if !node.linked.get() {
            return (false, Some(waker));
        }
        node.touch();
        // SAFETY: it is linked here, and the lock is held.
        (true, unsafe { node.waker() }.replace(waker))
    }
}
