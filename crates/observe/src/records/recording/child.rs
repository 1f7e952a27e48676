//! `ChildRecord`: the record of a child that the future of its scope polls. It is a task in reports, with a number that
//! tells it from others.
//!
//! During its poll, the child is the current task of the thread (`current.rs`), so its waits and locks are its own. Its wakers
//! are counted as a task's are.

use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

use super::caller::Caller;
use super::current::Entered;
use super::place::{TaskFacts, TaskReading, TaskState};
use super::scope::{Members, OfScope};
use super::wait::Wait;
use super::{Origin, Waiter, lint, recorders, trace};
use crate::records::ScopeChild;

/// The references that a child's scope has to it.
const OWN: usize = 1;

/// The part of a child that its record reads.
pub struct ChildState {
    id: u64,
    is_polled: AtomicBool,
    of_scope: OfScope,
}

impl ChildState {
    /// Creates the field of a child with this id, which has one handle.
    #[must_use]
    pub fn new(id: u64, scope: &Members) -> Self {
        let of_scope = OfScope::new();
        of_scope.belongs_to(scope);
        of_scope.add_handle();
        Self {
            id,
            is_polled: AtomicBool::new(false),
            of_scope,
        }
    }

    /// A poll of the child begins, or has ended. It begins before the child looks as if it were not woken.
    #[inline]
    pub fn set_polled(&self, is_polled: bool) {
        self.is_polled.store(is_polled, Ordering::Release);
    }

    /// The child is woken. `is_ready`: it is not polled before by an earlier wake-up.
    #[inline]
    pub fn woken(&self, is_ready: bool) {
        if recorders::is_any_on() {
            self.note_wake(is_ready);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_wake(&self, is_ready: bool) {
        let child = Waiter::child(self.id);
        if is_ready && recorders::traces() {
            trace::child_woken(child);
        }
        if recorders::lints() {
            lint::woken(child, super::current::word());
        }
    }

    /// The child's handle is about to give up its reference.
    pub fn handle_dropped(&self) {
        self.of_scope.remove_handle();
    }
}

/// The record of a child, beside its future. It removes the record when it is dropped.
pub struct ChildRecord {
    record: Wait,
    id: u64,
}

impl ChildRecord {
    /// Begins the record of a child with this id. It is one of `C`, whose wakers poll it.
    #[must_use]
    pub fn new<C: ScopeChild>(id: u64, caller: Caller) -> Self {
        let facts = TaskFacts {
            state: read::<C>,
            name: [0; 32],
            is_root: false,
            is_pinned: false,
            job: None,
            runtime: 0,
            origin: Origin::of_task(),
        };
        let child = Waiter::child(id);
        if recorders::traces() {
            trace::child_spawned(child, caller);
        }
        let mut record = Wait::new(caller);
        record.begin_task(child.number(), facts);
        Self { record, id }
    }

    /// Begins a poll of the child, which lasts until the result is dropped.
    ///
    /// # Safety
    ///
    /// The waker is that of a `C`, an `Arc` of it, which exists as long as this.
    #[inline]
    pub unsafe fn enter(&self, waker: &Waker) -> Entered {
        self.record.set_header(waker.data());
        self.record.enter_child(Waiter::child(self.id))
    }
}

/// # Safety
///
/// The pointer is that of an `Arc<C>` which exists.
unsafe fn read<C: ScopeChild>(child: *const ()) -> TaskReading {
    // SAFETY: by this function's contract, the pointer is that of an `Arc`, which this does not drop.
    let child = ManuallyDrop::new(unsafe { Arc::from_raw(child.cast::<C>()) });
    let state = child.state();
    let (references, handles) = state.of_scope.with_handles(|| Arc::strong_count(&child));
    TaskReading {
        state: if state.is_polled.load(Ordering::Acquire) {
            TaskState::Running
        } else if child.is_woken() {
            TaskState::Scheduled
        } else {
            TaskState::Idle
        },
        wakers: references.saturating_sub(OWN + handles),
        scope: state.of_scope.facts(),
    }
}
