//! What is known of a task without its type.

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::task::Waker;

use super::id::Id;
use super::schedule::Ran;
use super::state::State;
use blitz_sync::internals::Watched;

/// The first part of a task's memory, and what everybody has a pointer to.
///
/// What a poll needs comes last, beside the future; what only matters when a task begins
/// or ends comes first, and is as long as a cache line. So tasks that are neighbours in
/// memory and are polled by different workers do not share a line that is written with
/// each poll, wherever the allocator puts them.
#[repr(C)]
pub struct Header {
    /// The next one in a queue. Belongs to whoever holds the token.
    pub(super) queue_next: Watched<Option<NonNull<Header>>>,
    /// The neighbours in the list of the runtime's tasks. Belongs to who has the list.
    pub(super) links: Watched<Links>,
    /// Wakes the waiter for the task. There if the state says so.
    pub(super) join_waker: Watched<MaybeUninit<Waker>>,
    /// What is in the task's memory. Belongs to whoever has what is there.
    pub(super) stage: Watched<Stage>,
    /// Whether the task is in its list. Belongs to who has the list.
    pub(super) is_listed: Watched<bool>,
    /// In which list the task is or was.
    pub(super) list_id: ListId,
    id: Id,
    pub(super) vtable: &'static Vtable,
    pub(super) state: State,
}

/// The list that a task was bound to: its shard, and which of its two.
#[derive(Clone, Copy)]
pub(super) struct ListId(u32);

impl ListId {
    const OWN: u32 = 1 << 31;

    /// The list with a lock.
    #[inline]
    pub(super) fn shared(shard: usize) -> Self {
        Self(shard as u32)
    }

    /// The owner's list.
    #[inline]
    pub(super) fn own(shard: usize) -> Self {
        Self(shard as u32 | Self::OWN)
    }

    /// Whether it is the owner's.
    #[inline]
    pub(super) fn is_own(self) -> bool {
        self.0 & Self::OWN != 0
    }

    #[inline]
    pub(super) fn shard(self) -> usize {
        (self.0 & !Self::OWN) as usize
    }
}

/// The place of a task in a list.
#[derive(Clone, Copy)]
pub(super) struct Links {
    pub(super) previous: Option<NonNull<Header>>,
    pub(super) next: Option<NonNull<Header>>,
}

/// What is in a task's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// The future.
    Future,
    /// Its output.
    Value,
    /// What it panicked with.
    Panic,
    /// Nothing: the future was dropped before it had an output.
    Cancelled,
    /// Nothing any more: the output was taken or dropped.
    Empty,
}

// SAFETY: who may use which field when is said by the state and the lists' locks.
unsafe impl Send for Header {}
// SAFETY: as above.
unsafe impl Sync for Header {}

impl Header {
    pub(super) fn new(vtable: &'static Vtable, id: Id, list_id: ListId) -> Self {
        Self {
            state: State::new(),
            vtable,
            id,
            queue_next: Watched::new(None),
            links: Watched::new(Links {
                previous: None,
                next: None,
            }),
            join_waker: Watched::new(MaybeUninit::uninit()),
            stage: Watched::new(Stage::Future),
            is_listed: Watched::new(false),
            list_id,
        }
    }

    /// The task's number.
    #[inline]
    pub fn id(&self) -> Id {
        self.id
    }

    /// Whether there is a future, an output or a panic in the task's memory.
    ///
    /// # Safety
    ///
    /// The caller has the contents.
    #[inline]
    pub(super) unsafe fn has_contents(&self) -> bool {
        // SAFETY: as the caller promises.
        let stage = self.stage.with(|stage| unsafe { *stage });
        !matches!(stage, Stage::Cancelled | Stage::Empty)
    }

    /// Takes the join handle's waker.
    ///
    /// # Safety
    ///
    /// It is there, and the caller's.
    #[inline]
    pub(super) unsafe fn take_join_waker(&self) -> Waker {
        // Only read, since the join handle may be comparing it with another.
        self.join_waker
            // SAFETY: the waker is there and the caller's.
            .with(|waker| unsafe { (*waker).assume_init_read() })
    }

    /// The next task in an intrusive queue.
    ///
    /// # Safety
    ///
    /// The queue holds this task's token, and nobody changes the queue meanwhile.
    #[inline]
    #[allow(dead_code, reason = "for intrusive queues")]
    pub(crate) unsafe fn queue_next(&self) -> Option<NonNull<Header>> {
        // SAFETY: the caller holds the token.
        self.queue_next.with(|next| unsafe { *next })
    }

    /// Sets the next task in an intrusive queue.
    ///
    /// # Safety
    ///
    /// The queue holds this task's token, and nobody else looks at the queue meanwhile.
    #[inline]
    #[allow(dead_code, reason = "for intrusive queues")]
    pub(crate) unsafe fn set_queue_next(&self, next: Option<NonNull<Header>>) {
        // SAFETY: the caller holds the token.
        self.queue_next.with_mut(|place| unsafe { *place = next });
    }
}

/// What depends on the types of future and scheduler.
pub(super) struct Vtable {
    /// Runs a token.
    pub(super) run: unsafe fn(NonNull<Header>) -> Ran,
    /// Gives a token to the scheduler. The caller has a reference meanwhile.
    pub(super) schedule: unsafe fn(NonNull<Header>),
    /// Wakes and gives up a reference.
    pub(super) wake_by_value: unsafe fn(NonNull<Header>),
    /// Drops the future of a task that the caller has shut down, and completes it.
    pub(super) shut_down: unsafe fn(NonNull<Header>),
    /// Takes the output to where the pointer says, a `Poll<Result<T, JoinError>>`.
    pub(super) take: unsafe fn(NonNull<Header>, *mut ()),
    /// Drops the output for a join handle.
    pub(super) drop_output: unsafe fn(NonNull<Header>),
    /// Gives the memory back.
    pub(super) free: unsafe fn(NonNull<Header>),
}

/// Frees a task.
///
/// # Safety
///
/// The caller has released the last reference.
#[inline]
pub(super) unsafe fn free(task: NonNull<Header>) {
    // SAFETY: nobody else uses the task, and it is of the type that the table is for.
    unsafe { (task.as_ref().vtable.free)(task) }
}

/// Gives up a reference.
///
/// # Safety
///
/// The caller has one, and does not use the task any more.
#[inline]
pub(super) unsafe fn release(task: NonNull<Header>) {
    // SAFETY: the caller's reference keeps the task.
    if unsafe { task.as_ref() }.state.release() {
        // SAFETY: it was the last one.
        unsafe { free(task) }
    }
}

/// Gives up a reference that is probably the last one.
///
/// # Safety
///
/// As for [`release`].
#[inline]
pub(super) unsafe fn release_last(task: NonNull<Header>) {
    // SAFETY: the caller's reference keeps the task.
    if unsafe { task.as_ref() }.state.release_last() {
        // SAFETY: it was the last one.
        unsafe { free(task) }
    }
}

/// Aborts a task.
///
/// # Safety
///
/// The caller has a reference.
pub(super) unsafe fn abort(task: NonNull<Header>) {
    // SAFETY: the caller's reference keeps the task.
    let header = unsafe { task.as_ref() };
    if header.state.cancel() {
        // SAFETY: `cancel` made a token, which is for this call.
        unsafe { (header.vtable.schedule)(task) }
    }
}
