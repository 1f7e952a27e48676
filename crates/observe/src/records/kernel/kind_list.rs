//! `KindList`: the values of an object by kind, such as its `Totals`, in memory that is never freed.
//!
//! # Protocol
//!
//! All lists share one list of free nodes, whose lock serialises all changes. A reader takes no lock.
//!
//! 1. `insert` looks again for the kind, as another thread may have inserted it. Then it takes a
//!    free node, or makes one; writes the kind; links the present first node behind it, a release; and
//!    makes the node the first one, a release.
//! 2. `retire` unlinks all nodes of a dropped object, and frees them.
//! 3. A reader follows the links, each load an acquire.
//!
//! # Why it is correct
//!
//! 1. A kind has one node in a list, by the second look of `insert` under the lock.
//! 2. Each link that a reader follows is a release store, after the node behind it was made. So a
//!    reader sees made nodes only, even if its node has moved to another list.
//! 3. A reader on a node that has moved reads values of another object, and the lists may change
//!    without an end. So it counts its steps, and compares the generation of its object afterwards.

use std::iter;
use std::ptr;

use blitz_io_futex::atomic::{AtomicPtr, AtomicUsize, Ordering};

use blitz_io_futex::const_unless_loom;

/// The totals of an object, by kind of wait; see the module documentation.
pub struct KindList<T: 'static>(AtomicPtr<KindNode<T>>);

/// A value that belongs to one list, or to none.
pub struct KindNode<T: 'static> {
    /// Its index in `Kind::ALL`.
    kind: AtomicUsize,
    next: AtomicPtr<Self>,
    value: T,
}

impl<T> KindNode<T> {
    fn new(value: T) -> Self {
        Self {
            kind: AtomicUsize::new(0),
            next: AtomicPtr::new(ptr::null_mut()),
            value,
        }
    }
}

impl<T> KindList<T> {
    const_unless_loom! {
        /// Creates a list without values.
        #[must_use]
        pub const fn new() -> Self {
            Self(AtomicPtr::new(ptr::null_mut()))
        }
    }

    /// Returns whether the list has no values.
    pub fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed).is_null()
    }

    fn nodes(&self) -> impl Iterator<Item = &'static KindNode<T>> + use<T> {
        // SAFETY: nodes are never freed.
        let get = |link: &AtomicPtr<KindNode<T>>| unsafe {
            link.load(Ordering::Acquire).as_ref::<'static>()
        };
        iter::successors(get(&self.0), move |node: &&KindNode<T>| get(&node.next))
    }

    /// Returns the kinds and their values. The number of steps has no bound if the object is dropped
    /// while the caller walks it.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &'static T)> + use<T> {
        self.nodes()
            .map(|node| (node.kind.load(Ordering::Relaxed), &node.value))
    }

    /// Returns the value of a kind.
    pub fn find(&self, kind: usize) -> Option<&'static T> {
        self.iter()
            .find_map(|(of, value)| (of == kind).then_some(value))
    }

    /// Returns the value of a kind, which has none unless another thread has inserted it. `free` are
    /// the free nodes, whose lock the caller has.
    pub fn insert(&self, kind: usize, free: &mut Vec<&'static KindNode<T>>) -> &'static T
    where
        T: Default,
    {
        if let Some(value) = self.find(kind) {
            return value;
        }
        let node = free
            .pop()
            .unwrap_or_else(|| Box::leak(Box::new(KindNode::new(T::default()))));
        let first = self.0.load(Ordering::Relaxed);
        node.kind.store(kind, Ordering::Relaxed);
        node.next.store(first, Ordering::Release);
        self.0
            .store(ptr::from_ref(node).cast_mut(), Ordering::Release);
        &node.value
    }

    /// Unlinks all values, calls `with` for each, which makes it as new, and adds them to the free
    /// nodes, whose lock the caller has.
    pub fn retire(&self, free: &mut Vec<&'static KindNode<T>>, mut with: impl FnMut(usize, &T)) {
        // A node's successor is known before the node is unlinked.
        let retired = self.nodes();
        self.0.store(ptr::null_mut(), Ordering::Relaxed);
        for node in retired {
            with(node.kind.load(Ordering::Relaxed), &node.value);
            node.next.store(ptr::null_mut(), Ordering::Relaxed);
            free.push(node);
        }
    }
}
