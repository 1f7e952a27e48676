//! A bucket's queue of parked threads: a list through nodes that lie on the threads' stacks.
//!
//! Invariants:
//!
//! 1. A node that is in a queue, or in a [`Chain`], lives and does not move: its thread leaves
//!    `park` only after it has removed the node under the bucket's lock, or has seen `UNPARKED`.
//! 2. `key`, `next` and `queued` of a node in a queue change only under the lock of the queue's
//!    bucket; `key` changes only under the locks of both buckets.
//! 3. A node in a chain belongs to the thread that has the chain. `UNPARKED` is that thread's last
//!    access to the node.

use std::cell::Cell;
use std::ptr;

use super::tokens::{DEFAULT_UNPARK_TOKEN, FilterOp, ParkToken, UnparkToken};
use crate::atomic::{AtomicU32, AtomicUsize, Ordering};

/// The states of a node's word.
pub(super) const PARKED: u32 = 0;
pub(super) const UNPARKED: u32 = 1;

/// A thread that parks.
pub(super) struct Node {
    /// The word on which the thread sleeps.
    pub(super) word: AtomicU32,
    pub(super) key: AtomicUsize,
    next: Cell<*const Node>,
    /// The node is in the queue of its key's bucket.
    queued: Cell<bool>,
    park_token: ParkToken,
    unpark_token: Cell<UnparkToken>,
    /// Wakes the owner, by the address of the word.
    wake: fn(*const AtomicU32),
}

impl Node {
    pub(super) fn new(key: usize, park_token: ParkToken, wake: fn(*const AtomicU32)) -> Self {
        Self {
            word: AtomicU32::new(PARKED),
            key: AtomicUsize::new(key),
            next: Cell::new(ptr::null()),
            queued: Cell::new(false),
            park_token,
            unpark_token: Cell::new(DEFAULT_UNPARK_TOKEN),
            wake,
        }
    }

    /// Returns the token of the unpark, if there was one.
    pub(super) fn unparked(&self) -> Option<UnparkToken> {
        let is_unparked = self.word.load(Ordering::Acquire) == UNPARKED;
        is_unparked.then(|| self.unpark_token.get())
    }
}

/// A list of nodes in the order in which they came.
struct List {
    first: *const Node,
    last: *const Node,
}

impl List {
    const EMPTY: Self = Self {
        first: ptr::null(),
        last: ptr::null(),
    };

    /// Appends a list.
    ///
    /// # Safety
    ///
    /// The nodes of both lists live, and the caller has the right to change them: invariants 2 and 3.
    unsafe fn append(&mut self, other: Self) {
        if other.first.is_null() {
            return;
        }
        // SAFETY: by this function's contract, the last node of a list that is not empty lives.
        match unsafe { self.last.as_ref() } {
            Some(last) => last.next.set(other.first),
            None => self.first = other.first,
        }
        self.last = other.last;
    }
}

pub(super) struct Queue(List);

// SAFETY: only threads that hold the bucket's lock follow the pointers, whose nodes live (invariant 1)
// and which those threads may change (invariant 2).
unsafe impl Send for Queue {}

impl Queue {
    pub(super) const fn new() -> Self {
        Self(List::EMPTY)
    }

    /// Appends a node.
    ///
    /// # Safety
    ///
    /// The caller keeps invariant 1, and `key` belongs to this queue's bucket.
    pub(super) unsafe fn push(&mut self, node: &Node) {
        node.queued.set(true);
        let list = List {
            first: node,
            last: node,
        };
        // SAFETY: the nodes of the queue live (invariant 1), and `&mut self` shows that this thread
        // holds the lock.
        unsafe { self.0.append(list) };
    }

    /// Removes the nodes of `key` for which `choose` returns `Unpark`. Also returns `true` if one remains.
    pub(super) fn take(
        &mut self,
        key: usize,
        mut choose: impl FnMut(ParkToken) -> FilterOp,
    ) -> (Chain, bool) {
        let mut chain = Chain {
            nodes: List::EMPTY,
            len: 0,
        };
        let mut remains = false;
        let (mut previous, mut current): (*const Node, _) = (ptr::null(), self.0.first);
        // SAFETY: invariant 1: the nodes of the queue live.
        while let Some(node) = unsafe { current.as_ref() } {
            let next = node.next.get();
            let decision = if node.key.load(Ordering::Relaxed) == key {
                choose(node.park_token)
            } else {
                previous = current;
                current = next;
                continue;
            };
            match decision {
                FilterOp::Unpark => {
                    // SAFETY: `previous` is null or the node before this one in the queue.
                    unsafe { self.unlink(previous, node) };
                    chain.push(node);
                }
                FilterOp::Skip => {
                    remains = true;
                    previous = current;
                }
                FilterOp::Stop => return (chain, true),
            }
            current = next;
        }
        (chain, remains)
    }

    /// Removes the first `count` nodes of `key`. Also returns `true` if one remains.
    pub(super) fn take_first(&mut self, key: usize, count: usize) -> (Chain, bool) {
        let mut left = count;
        self.take(key, |_| {
            if left == 0 {
                return FilterOp::Stop;
            }
            left -= 1;
            FilterOp::Unpark
        })
    }

    /// Appends nodes of another queue, or of this one, under `key`.
    ///
    /// # Safety
    ///
    /// The caller holds the locks of the bucket that the nodes come from and of this queue's, to which
    /// `key` belongs.
    pub(super) unsafe fn requeue(&mut self, mut chain: Chain, key: usize) {
        for node in &chain {
            node.key.store(key, Ordering::Relaxed);
            node.queued.set(true);
        }
        chain.len = 0;
        let nodes = std::mem::replace(&mut chain.nodes, List::EMPTY);
        // SAFETY: the nodes live, and this thread has the chain (invariant 3) and this queue's lock.
        unsafe { self.0.append(nodes) };
    }

    /// Removes a node whose wait ends without an unpark. Returns `true` if no other node has its key,
    /// and `None` if a thread has already taken the node out to unpark it.
    pub(super) fn leave(&mut self, leaving: &Node) -> Option<bool> {
        if !leaving.queued.get() {
            return None;
        }
        let key = leaving.key.load(Ordering::Relaxed);
        let mut is_last = true;
        let (mut previous, mut current): (*const Node, _) = (ptr::null(), self.0.first);
        // SAFETY: invariant 1: the nodes of the queue live.
        while let Some(node) = unsafe { current.as_ref() } {
            let next = node.next.get();
            if ptr::eq(node, leaving) {
                // SAFETY: `previous` is null or the node before this one in the queue.
                unsafe { self.unlink(previous, node) };
            } else {
                is_last &= node.key.load(Ordering::Relaxed) != key;
                previous = current;
            }
            current = next;
        }
        Some(is_last)
    }

    /// Takes a node out of the list.
    ///
    /// # Safety
    ///
    /// The node is in this queue. `previous` is the one before it, or null if it is the first.
    unsafe fn unlink(&mut self, previous: *const Node, node: &Node) {
        let next = node.next.replace(ptr::null());
        node.queued.set(false);
        // SAFETY: invariant 1: a node of the queue lives.
        match unsafe { previous.as_ref() } {
            Some(previous) => previous.next.set(next),
            None => self.0.first = next,
        }
        if ptr::eq(self.0.last, node) {
            self.0.last = previous;
        }
    }
}

/// Threads that are out of every queue and still asleep. They are woken when this is dropped.
pub(super) struct Chain {
    nodes: List,
    len: usize,
}

impl Chain {
    fn push(&mut self, node: &Node) {
        let list = List {
            first: node,
            last: node,
        };
        // SAFETY: the nodes of the chain belong to this thread (invariant 3), and so does the node,
        // which `unlink` has just taken out of the queue under the lock.
        unsafe { self.nodes.append(list) };
        self.len += 1;
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Sets the token with which the threads are unparked.
    pub(super) fn set_token(&self, token: UnparkToken) {
        for node in self {
            node.unpark_token.set(token);
        }
    }
}

impl<'a> IntoIterator for &'a Chain {
    type Item = &'a Node;
    type IntoIter = Nodes<'a>;

    fn into_iter(self) -> Nodes<'a> {
        Nodes {
            // SAFETY: invariant 1: a node in a chain lives.
            next: unsafe { self.nodes.first.as_ref() },
        }
    }
}

pub(super) struct Nodes<'a> {
    next: Option<&'a Node>,
}

impl<'a> Iterator for Nodes<'a> {
    type Item = &'a Node;

    fn next(&mut self) -> Option<&'a Node> {
        let node = self.next?;
        // SAFETY: invariant 1: a node in a chain lives.
        self.next = unsafe { node.next.get().as_ref() };
        Some(node)
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        let mut current = self.nodes.first;
        // SAFETY: invariant 1: a node in a chain lives, until its word says `UNPARKED`.
        while let Some(node) = unsafe { current.as_ref() } {
            current = node.next.get();
            let (word, wake) = (&raw const node.word, node.wake);
            node.word.store(UNPARKED, Ordering::Release);
            // The node may have been freed. A wake uses only the address.
            wake(word);
        }
    }
}
