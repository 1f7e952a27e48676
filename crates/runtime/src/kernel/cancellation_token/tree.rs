//! The tree of tokens.
//!
//! # A node
//!
//! All clones of a token share a [`Node`]. It counts them, and lives as long as
//! there is one, so it takes one allocation and needs no second counter. Its
//! `state` has three flags, which are never cleared:
//!
//! * [`CANCELLED`]: the node, or an ancestor, has been cancelled;
//! * [`WAITING`]: a waiter has been in the node's queue;
//! * [`IN_FAMILY`]: the node has, or has had, a parent or a child.
//!
//! # A family
//!
//! All nodes that descend from one root are a *family* and share a lock, which
//! guards the links between them: to the parent, to the first child, and to the
//! siblings. As there is one lock for all of them, no lock order is needed and nothing can
//! deadlock. It is held for a few instructions when a token gets a child or is dropped, and
//! for some more for each descendant when one is cancelled. No waker is called under it. A
//! root makes its family with its first child; before that it needs no lock.
//!
//! Links do not keep nodes alive. A node whose last token is dropped leaves the family
//! under the lock, before it is freed. Its parent adopts its children, so that they are
//! still cancelled with their ancestors. If there is no parent, they become roots, each
//! with its descendants. So a chain of tokens, each the child of the one before, of which
//! only the latest is kept, does not grow.
//!
//! # Cancelling
//!
//! The thread that sets `CANCELLED` of a node wakes the waiters there. [`cancel`] sets it
//! in its own node. If the node is in a family, [`cancel`] then takes the node out of the
//! tree, under the lock, and sets the flag in all descendants. That takes no recursion:
//! whenever a child leaves the node, the node adopts the child's children. The nodes with
//! waiters are kept in a list until the lock is free. The list reuses the links between
//! siblings, and holds a counted handle for each node. A node whose last token is just
//! being dropped has no waiters, and is not kept.
//!
//! # No waiter is forgotten
//!
//! *A child* checks its parent's `CANCELLED` under the lock before it is linked. If it is
//! not set, the thread that sets it, in the parent or an ancestor, has not taken the lock
//! yet, and will find the child. The one exception is a root that has no child yet:
//! cancelling it takes no lock. The canceller learns about children from the step that
//! sets `CANCELLED`. Either it sees `IN_FAMILY`, or the thread that sets that flag
//! afterwards sees `CANCELLED`, and makes the child cancelled.
//!
//! *A waiter* sets `WAITING` and looks at `CANCELLED` with one step, under
//! the lock of the node's queue, and joins the queue if it is not set. The thread that sets
//! `CANCELLED` sees `WAITING` then, and chooses all that are in the queue, under
//! the same lock. If that comes before the join, `CANCELLED` was set before it too.
//!
//! [`cancel`]: Handle::cancel

use std::mem;
use std::process::abort;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use blitz_io_core::{ListLock, Panics, WaitQueue, Watched};
use blitz_io_futex::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use blitz_io_observe::Origin;

/// The node, or an ancestor, has been cancelled.
const CANCELLED: u32 = 1;
/// A waiter has been in the node's queue.
const WAITING: u32 = 2;
/// The node has, or has had, a parent or a child.
const IN_FAMILY: u32 = 4;

/// The state that the clones of a token share.
pub(super) struct Node {
    /// Number of tokens of this node.
    handles: AtomicUsize,
    state: AtomicU32,
    /// The tasks that wait until it is cancelled.
    pub(super) waiters: WaitQueue,
    /// Unknown for a child, which another node's token cancels, too.
    pub(super) origin: Origin,
    /// The pointer of an `Arc`, or null. Set once, before [`IN_FAMILY`].
    family: AtomicPtr<Family>,
    /// Used under the family's lock, or by the thread that has taken the node out of the
    /// tree.
    place: Watched<Place>,
}

/// The lock that all nodes of a family share.
type Family = ListLock;

/// A node's links in the tree.
#[derive(Clone, Copy)]
struct Place {
    parent: *const Node,
    first_child: *const Node,
    previous: *const Node,
    next: *const Node,
}

impl Place {
    /// Neither a parent nor children.
    const ALONE: Self = Self {
        parent: ptr::null(),
        first_child: ptr::null(),
        previous: ptr::null(),
        next: ptr::null(),
    };
}

/// A token: a counted pointer to a node.
pub(super) struct Handle(NonNull<Node>);

// SAFETY: the node that handles share is atomic or guarded by a lock, as the module documentation
// says.
unsafe impl Send for Handle {}
// SAFETY: the node is atomic or guarded by a lock, so threads may share a handle, too.
unsafe impl Sync for Handle {}

impl Handle {
    pub(super) fn root() -> Self {
        Self::of(0, ptr::null_mut(), Origin::of_object())
    }

    fn of(state: u32, family: *mut Family, origin: Origin) -> Self {
        let node = Box::new(Node {
            handles: AtomicUsize::new(1),
            state: AtomicU32::new(state),
            waiters: WaitQueue::new(),
            origin,
            family: AtomicPtr::new(family),
            place: Watched::new(Place::ALONE),
        });
        Self(NonNull::from(Box::leak(node)))
    }

    #[inline]
    pub(super) fn node(&self) -> &Node {
        // SAFETY: a node lives as long as one of its handles.
        unsafe { self.0.as_ref() }
    }

    pub(super) fn as_ptr(&self) -> *const () {
        self.0.as_ptr().cast()
    }

    /// Makes a node that is cancelled with this one.
    pub(super) fn child(&self) -> Self {
        let parent = self.node();
        let state = parent.state.load(Ordering::Acquire);
        if state & CANCELLED != 0 || (state & IN_FAMILY == 0 && parent.found_family()) {
            return Self::of(CANCELLED, ptr::null_mut(), Origin::UNKNOWN);
        }
        let shared = parent.family.load(Ordering::Acquire);
        // SAFETY: the parent's state says that it has a family, and the parent keeps it
        // alive.
        let family = unsafe {
            Arc::increment_strong_count(shared);
            &*shared
        };
        let child = Self::of(IN_FAMILY, shared, Origin::UNKNOWN);
        let linked = family.locked(|| {
            let cancelled = parent.is_cancelled();
            if !cancelled {
                // SAFETY: we hold the lock; both are alive; the child is new.
                unsafe { parent.adopt(child.node()) };
            }
            !cancelled
        });
        if !linked {
            child.node().state.fetch_or(CANCELLED, Ordering::Relaxed);
        }
        child
    }

    /// Cancels the node and everything below it.
    pub(super) fn cancel(&self) {
        let node = self.node();
        if node.is_cancelled() {
            return;
        }
        let before = node.state.fetch_or(CANCELLED, Ordering::AcqRel);
        if before & CANCELLED != 0 {
            return;
        }
        let mut below = ToWake(ptr::null());
        if before & IN_FAMILY != 0 {
            // SAFETY: `family` was set before `IN_FAMILY`, and the node keeps it alive.
            let family = unsafe { &*node.family.load(Ordering::Acquire) };
            // SAFETY: we hold the lock.
            family.locked(|| unsafe { node.cancel_below(&mut below) });
        }
        let mut panics = Panics::new();
        if before & WAITING != 0 {
            node.wake_all(&mut panics);
        }
        for node in below {
            node.node().wake_all(&mut panics);
        }
        panics.go_on();
    }
}

impl Clone for Handle {
    #[inline]
    fn clone(&self) -> Self {
        let before = self.node().handles.fetch_add(1, Ordering::Relaxed);
        if before > usize::MAX / 2 {
            // Only a program that forgets tokens in a loop gets here.
            abort();
        }
        Self(self.0)
    }
}

impl Drop for Handle {
    #[inline]
    fn drop(&mut self) {
        if self.node().handles.fetch_sub(1, Ordering::Release) == 1 {
            // Instead of a fence, which the thread sanitizer does not model.
            self.node().handles.load(Ordering::Acquire);
            // SAFETY: it was the last handle.
            unsafe { Node::free(self.0) };
        }
    }
}

impl Node {
    #[inline]
    pub(super) fn is_cancelled(&self) -> bool {
        self.state.load(Ordering::Acquire) & CANCELLED != 0
    }

    /// Sets [`WAITING`]. `false` if the node has been cancelled. Under the lock of the
    /// queue.
    pub(super) fn announce_waiter(&self) -> bool {
        let mut state = self.state.load(Ordering::Acquire);
        if state & WAITING == 0 {
            state = self.state.fetch_or(WAITING, Ordering::AcqRel);
        }
        state & CANCELLED == 0
    }

    fn wake_all(&self, panics: &mut Panics) {
        panics.put_off(|| {
            self.waiters.notify_all();
        });
    }

    /// Makes the family of a root, for its first child. Returns whether the root is
    /// cancelled.
    #[cold]
    fn found_family(&self) -> bool {
        let family = Arc::into_raw(Arc::new(Family::new()));
        let order = (Ordering::AcqRel, Ordering::Acquire);
        let set =
            (self.family).compare_exchange(ptr::null_mut(), family.cast_mut(), order.0, order.1);
        if set.is_err() {
            // SAFETY: another thread has been faster; this family is not shared.
            drop(unsafe { Arc::from_raw(family) });
        }
        self.state.fetch_or(IN_FAMILY, Ordering::AcqRel) & CANCELLED != 0
    }

    /// Returns the node's links in the tree.
    ///
    /// # Safety
    ///
    /// The caller holds the family's lock, or has taken the node out of the tree, and
    /// uses no other reference to the place at the same time.
    #[allow(clippy::mut_from_ref, reason = "the lock is what makes it exclusive")]
    unsafe fn place(&self) -> &mut Place {
        // SAFETY: no other reference to the place is in use: the caller has the lock or the node.
        self.place.with_mut(|place| unsafe { &mut *place })
    }

    /// Makes a node, which is a root, the first child of this one.
    ///
    /// # Safety
    ///
    /// The caller holds the family's lock; the node is alive.
    unsafe fn adopt(&self, child: &Self) {
        // SAFETY: the caller holds the lock; a linked node is alive; each `&mut Place`
        // ends with its statement.
        unsafe {
            let others = mem::replace(&mut self.place().first_child, child);
            if let Some(first) = others.as_ref() {
                first.place().previous = child;
            }
            child.place().parent = self;
            child.place().next = others;
        }
    }

    /// Takes the node, with all that is below, out of the list of its parent's
    /// children: it is a root now.
    ///
    /// # Safety
    ///
    /// The caller holds the family's lock.
    unsafe fn detach(&self) {
        // SAFETY: the caller holds the lock; a linked node is alive; each `&mut Place`
        // ends with its statement.
        unsafe {
            let first_child = self.place().first_child;
            let root = Place {
                first_child,
                ..Place::ALONE
            };
            let place = mem::replace(self.place(), root);
            if let Some(previous) = place.previous.as_ref() {
                previous.place().next = place.next;
            } else if let Some(parent) = place.parent.as_ref() {
                parent.place().first_child = place.next;
            }
            if let Some(next) = place.next.as_ref() {
                next.place().previous = place.previous;
            }
        }
    }

    /// Leaves the tree; the parent gets the children. Without a parent they become roots,
    /// each with its descendants.
    ///
    /// # Safety
    ///
    /// The caller holds the family's lock.
    unsafe fn leave(&self) {
        // SAFETY: the caller holds the lock; a linked node is alive; each `&mut Place`
        // ends with its statement.
        unsafe {
            let parent = self.place().parent.as_ref();
            self.detach();
            while let Some(child) = self.place().first_child.as_ref() {
                child.detach();
                if let Some(parent) = parent {
                    parent.adopt(child);
                }
            }
        }
    }

    /// Cancels everything below this node, and takes it apart. The nodes with waiters are
    /// added to `to_wake`.
    ///
    /// # Safety
    ///
    /// The caller holds the family's lock.
    unsafe fn cancel_below(&self, to_wake: &mut ToWake) {
        // SAFETY: the caller holds the lock; a linked node is alive; each `&mut Place`
        // ends with its statement.
        unsafe {
            self.detach();
            while let Some(node) = self.place().first_child.as_ref() {
                // The children of `node` are children of this one now.
                node.leave();
                let before = node.state.fetch_or(CANCELLED, Ordering::AcqRel);
                if before & (CANCELLED | WAITING) == WAITING {
                    to_wake.push(node);
                }
            }
        }
    }

    /// Adds a handle, unless the last is just being dropped.
    fn keep(&self) -> bool {
        let more = |handles| (handles != 0).then(|| handles + 1);
        (self.handles)
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .is_ok()
    }

    /// Takes the node out of the tree and frees it.
    ///
    /// # Safety
    ///
    /// There is no handle left.
    unsafe fn free(node: NonNull<Self>) {
        // SAFETY: it is freed only here.
        let this = unsafe { node.as_ref() };
        let family = this.family.load(Ordering::Acquire);
        // SAFETY: this node keeps it alive.
        if let Some(family) = unsafe { family.as_ref() } {
            // Even if it has no links: a thread may be cancelling it under the lock.
            // SAFETY: we hold the lock.
            family.locked(|| unsafe { this.leave() });
        }
        // SAFETY: there is no handle, and no node links to it.
        drop(unsafe { Box::from_raw(node.as_ptr()) });
        if !family.is_null() {
            // SAFETY: this was the node's count. The lock has been released.
            drop(unsafe { Arc::from_raw(family) });
        }
    }
}

/// Nodes that have been taken out of the tree, with waiters in each, and a handle for
/// each. The list reuses the links between siblings.
struct ToWake(*const Node);

impl ToWake {
    /// Adds a node, unless its last handle is just being dropped.
    ///
    /// # Safety
    ///
    /// The caller holds the family's lock, and the node has been taken out of the
    /// tree.
    unsafe fn push(&mut self, node: &Node) {
        if node.keep() {
            // SAFETY: the caller holds the family's lock, and the node has been taken out of the tree.
            unsafe { node.place() }.next = mem::replace(&mut self.0, node);
        }
    }
}

impl Iterator for ToWake {
    type Item = Handle;

    fn next(&mut self) -> Option<Handle> {
        let first = NonNull::new(self.0.cast_mut())?;
        // SAFETY: it has been taken out of the tree, and the list has a handle for it.
        self.0 = mem::replace(unsafe { &mut first.as_ref().place().next }, ptr::null());
        Some(Handle(first))
    }
}
