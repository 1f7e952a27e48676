//! `Place`: the memory of a record, and the parts of the record.

use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::time::Instant;

use super::about::AboutRef;
use super::block::Block;
use super::scope_facts::ScopeFacts;
use super::{Kind, Origin, Waiter};
use crate::records::kernel::slot::Slot;
use blitz_io_futex::source::Watched;

/// One place for a record.
pub(super) struct Place {
    pub(super) slot: Slot<Value>,
    /// The facts of a task. The rules of the slot's value hold here, too, but only tasks write this.
    task: Watched<Option<TaskFacts>>,
    /// The word of the thread that polls the task, or polled it last.
    pub(super) thread: AtomicU64,
    /// Number of polls that have begun of tasks with this place.
    pub(super) polls: AtomicU64,
    /// The header of a task, or null before its first poll. Valid while the record is set. In a free
    /// place, the next free one. Otherwise without a meaning.
    pub(super) header: AtomicPtr<()>,
}

// SAFETY: a thread uses `task` only while it may use the slot's value.
unsafe impl Sync for Place {}

impl Place {
    /// Creates a free place, the last one of its chain.
    pub(super) const fn new() -> Self {
        Self {
            slot: Slot::new(),
            task: Watched::new(None),
            thread: AtomicU64::new(0),
            polls: AtomicU64::new(0),
            header: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Returns the next free place after this one, which is free.
    #[inline]
    pub(super) fn next(&self) -> Option<&'static Self> {
        let next = self.header.load(Ordering::Relaxed);
        // SAFETY: the link of a free place is null, or that to a place. Places are never freed.
        unsafe { next.cast::<Self>().as_ref() }
    }

    /// Makes the other one the next free place after this one, which is free.
    #[inline]
    pub(super) fn link(&self, next: Option<&'static Self>) {
        let next = next.map_or(ptr::null(), ptr::from_ref);
        self.header.store(next.cast_mut().cast(), Ordering::Relaxed);
    }

    /// Sets the facts of the task for whose record this place is.
    ///
    /// # Safety
    ///
    /// The caller owns the place, which has no record.
    pub(super) unsafe fn set_task(&self, facts: TaskFacts) {
        // SAFETY: no reader uses a place without a record.
        self.task.with_mut(|task| unsafe { *task = Some(facts) });
    }

    /// Returns the facts of the task for whose record this place is.
    ///
    /// # Safety
    ///
    /// The record is this value, and is set until the call returns.
    pub(super) unsafe fn task(&self, value: &Value) -> Option<TaskFacts> {
        if value.kind != Kind::Task {
            return None;
        }
        // SAFETY: by this function's contract, the record is set, so the owner does not write the facts.
        self.task.with(|task| unsafe { *task })
    }
}

/// The value of a slot.
#[derive(Clone, Copy)]
pub(super) struct Value {
    /// The number of the wait. It stays the same if the thread sleeps several times.
    pub(super) id: u64,
    pub(super) kind: Kind,
    pub(super) is_timed: bool,
    pub(super) blocks_thread: bool,
    /// The time is exact, as that of the wait's end will be.
    pub(super) is_measured: bool,
    pub(super) waiter: Waiter,
    pub(super) thread: Waiter,
    pub(super) target: Target,
    /// The address in the waker that the future has kept. If the wait blocks its thread, that of the
    /// futex on which the thread sleeps. Or 0.
    pub(super) address: usize,
    pub(super) location: Option<&'static Location<'static>>,
    /// Nanoseconds of the monotonic clock.
    pub(super) since: u64,
}

/// The object, task or value that a record waits for.
#[derive(Clone, Copy)]
pub(super) enum Target {
    /// An object, whose block has this generation while it exists.
    Object(&'static Block, u32),
    /// The number of a task or a descriptor, the value that a futex holds, or 0.
    Number(u64),
    /// An object without a block, of which only the origin is known.
    Made(Origin),
    /// A deadline.
    Until(Instant),
}

impl Value {
    /// Returns the address in the waker that the future has kept, or 0.
    pub(super) fn waker(&self) -> usize {
        if self.blocks_thread { 0 } else { self.address }
    }

    /// Returns the address of the futex on which the thread sleeps, or 0.
    pub(super) fn word(&self) -> usize {
        if self.blocks_thread { self.address } else { 0 }
    }
}

/// A task, as its record knows it.
#[derive(Clone, Copy)]
pub struct TaskFacts {
    /// Reads from a task's header its state.
    ///
    /// # Safety
    ///
    /// The function may only be called with the header while the record is set.
    pub state: unsafe fn(*const ()) -> TaskReading,
    /// The first bytes of its name.
    pub name: [u8; 32],
    /// `true` for a future that a thread drives, which is not a task.
    pub is_root: bool,
    /// `true` for a task that stays on the thread of its first poll, such as a fiber.
    pub is_pinned: bool,
    /// The description of a closure on a thread for blocking work, which is not a task.
    pub job: Option<AboutRef>,
    /// The number of its runtime, or 0.
    pub runtime: u64,
    /// The task or thread that spawned it.
    pub origin: Origin,
}

/// The facts that a task's header has.
#[derive(Clone, Copy, Debug)]
pub struct TaskReading {
    /// The state.
    pub state: TaskState,
    /// The number of references to the task beside its own, its join handle's and its scope's: its wakers, and handles that
    /// can abort it.
    pub wakers: usize,
    /// The scope of which it is a child.
    pub scope: Option<ScopeFacts>,
}

/// The state of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskState {
    /// The task waits for a wake-up.
    Idle,
    /// The task was woken and is queued.
    Scheduled,
    /// A thread polls it.
    Running,
}
