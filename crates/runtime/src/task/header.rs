//! What is known of a task without its type.

use std::mem::{MaybeUninit, offset_of};
use std::ptr::NonNull;
use std::task::Waker;

use super::id::Id;
use super::raw::Vtable;
use super::state::State;
use crate::hints::fetch_to_write;
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
    /// Who waits for the task. There if the state says so.
    pub(super) join_waker: Watched<MaybeUninit<Waker>>,
    /// What is in the task's memory. Belongs to whoever has what is there.
    pub(super) stage: Watched<Stage>,
    /// Whether the task is in its list. Belongs to who has the list.
    pub(super) is_listed: Watched<bool>,
    /// In which list the task is or was.
    pub(super) home: Home,
    id: Id,
    pub(super) vtable: &'static Vtable,
    pub(super) state: State,
}

/// The list that a task was bound to: its shard, and which of its two.
#[derive(Clone, Copy)]
pub(super) struct Home(u32);

impl Home {
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
    pub(super) fn new(vtable: &'static Vtable, id: Id, home: Home) -> Self {
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
            home,
        }
    }

    /// Asks the processor to fetch what a poll of this task will write. There need not be a
    /// task any more.
    ///
    /// Tasks that are neighbours in memory may be on different workers. A processor that
    /// runs along its own ones fetches what comes next by itself, and so takes from the other
    /// what that is about to write.
    #[inline(always)]
    pub(crate) fn fetch(task: *const Self) {
        const BEGIN: usize = offset_of!(Header, vtable);
        const NEXT_LINE: usize = BEGIN + 64;
        fetch_to_write::<BEGIN>(task.cast());
        fetch_to_write::<NEXT_LINE>(task.cast());
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
