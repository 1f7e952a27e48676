//! The children of a scope: which task or thread awaits them, and which references to them are the scope's.
//!
//! A scope drops or aborts its children if its *owner*, the task or thread that awaits it, stops to do so. So what lets
//! the owner proceed may end a child, too. The handles of the scope itself end none as long as the owner waits, so the
//! record of a child does not count them as wakers.
//!
//! 1. [`Members`] is a field of the scope. Its object names the children for the record of the wait for them. The
//!    object's block has the owner, which each poll of the scope writes.
//! 2. [`OfScope`] is a field of the header that a child shares with its wakers and its scope. It leads to that block. A
//!    block is never freed. This one is the scope's as long as the child has a record: the child's future keeps the
//!    scope's `Members`, and the record is removed before that future is dropped.
//! 3. A handle is counted after it has got its reference, and until it gives that up. A reader takes the smaller one of
//!    the counts before and after it reads the references. So it takes no waker for a handle, unless one handle was dropped and
//!    another one made in between; a child has each of its handles once.

use std::collections::BTreeMap;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::block::{Block, LENDS, NAMES};
use super::scope_facts::ScopeFacts;
use super::trace::{self, Abort};
use super::{Caller, Object, Waiter, recorders};

/// The children of a scope that have not ended, for the record of the wait for them.
///
/// A child has a key from before its start until its future has been dropped, and the number of its task once that is
/// known. The keys of a scope are all its own, or all the caller's.
pub struct Members {
    object: Object,
    /// The children may borrow from the owner, and so have its guards.
    lends: bool,
    children: Mutex<Children>,
}

#[derive(Default)]
struct Children {
    next: u64,
    /// The task of each child, by its key; `None` before it is known.
    tasks: BTreeMap<u64, Option<u64>>,
}

impl Members {
    /// Creates a list without children. `lends`: they may borrow from the owner.
    #[must_use]
    pub fn new(lends: bool) -> Self {
        Self {
            object: Object::new(),
            lends,
            children: Mutex::default(),
        }
    }

    /// Returns the object of the waits for the children.
    #[must_use]
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Records that the current task or thread awaits the scope.
    #[inline]
    pub fn awaited(&self) {
        let flag = if self.lends { LENDS } else { 0 };
        let word = Waiter::current().word() | flag;
        let owner = &self.object.block().owner;
        if owner.load(Ordering::Relaxed) != word {
            owner.store(word, Ordering::Relaxed);
        }
    }

    /// Adds a child that is about to be started, and returns its key.
    pub fn add(&self) -> u64 {
        let mut children = self.children();
        children.next += 1;
        let key = children.next;
        children.tasks.insert(key, None);
        children.note(&self.object);
        key
    }

    /// Notes the number of a child's task, unless the child has ended.
    pub fn started(&self, key: u64, task: u64) {
        let mut children = self.children();
        if let Some(known) = children.tasks.get_mut(&key) {
            *known = Some(task);
            children.note(&self.object);
        }
    }

    /// Adds a child under a key of the caller's. `task`: the number of its task, if it is known.
    pub fn add_as(&self, key: u64, task: Option<u64>) {
        let mut children = self.children();
        children.tasks.insert(key, task);
        children.note(&self.object);
    }

    /// Removes a child.
    pub fn remove(&self, key: u64) {
        let mut children = self.children();
        children.tasks.remove(&key);
        children.note(&self.object);
    }

    /// Records that the current task or thread aborts all children whose tasks are known. `at`: the line of the program that
    /// does so.
    pub fn aborted(&self, why: Abort, at: Caller) {
        if recorders::traces() {
            let children = self.children();
            let numbers = children.tasks.values().flatten();
            numbers.for_each(|number| trace::aborted(*number, why, at));
        }
    }

    fn children(&self) -> MutexGuard<'_, Children> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Children {
    /// Names the first children in the record, and counts the others.
    fn note(&self, object: &Object) {
        let known = self.tasks.values().flatten().take(NAMES);
        let mut names = [0; NAMES];
        let mut named = 0;
        for (place, task) in names.iter_mut().zip(known) {
            *place = *task;
            named += 1;
        }
        object.set_members(names, self.tasks.len() - named);
    }
}

/// The scope of a task, if it is a child, and the number of its references that are handles; see the module documentation.
pub struct OfScope {
    scope: AtomicPtr<Block>,
    handles: AtomicUsize,
}

impl OfScope {
    /// Creates the field of a task that is no child.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            scope: AtomicPtr::new(ptr::null_mut()),
            handles: AtomicUsize::new(0),
        }
    }

    /// Makes it a child of the scope.
    pub fn belongs_to(&self, scope: &Members) {
        let block = ptr::from_ref(scope.object.block()).cast_mut();
        self.scope.store(block, Ordering::Release);
    }

    /// One more of its references is a handle of the scope.
    pub fn add_handle(&self) {
        self.handles.fetch_add(1, Ordering::Release);
    }

    /// A handle of the scope is about to give up its reference.
    pub fn remove_handle(&self) {
        self.handles.fetch_sub(1, Ordering::Release);
    }

    /// Calls `references`, and returns the result with the number of handles.
    pub fn with_handles<R>(&self, references: impl FnOnce() -> R) -> (R, usize) {
        let before = self.handles.load(Ordering::Acquire);
        let result = references();
        (result, before.min(self.handles.load(Ordering::Acquire)))
    }

    /// Returns the scope of a child that has a record.
    pub fn facts(&self) -> Option<ScopeFacts> {
        // SAFETY: null, or that of a block. Blocks are never freed.
        let block = unsafe { self.scope.load(Ordering::Acquire).as_ref() }?;
        let word = block.owner.load(Ordering::Relaxed);
        Some(ScopeFacts {
            owner: Waiter::from_word(word & !LENDS)?,
            object: block.id(),
            lends: word & LENDS != 0,
        })
    }
}

impl Default for OfScope {
    fn default() -> Self {
        Self::new()
    }
}
