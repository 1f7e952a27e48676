//! A worker's place: what belongs to the thread that has taken it, and what others see
//! of it.
//!
//! A thread takes the seat by setting [`taken`](Seat::taken), and gives it back when a
//! task is about to block the thread (`hand_over.rs`); then another one takes it, with
//! all that is queued there. Setting and clearing publish the seat from one thread to
//! the next.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;

use blitz_futex::atomic::{AtomicBool, Ordering};

use super::pace::Pace;
use super::queue::Ring;
use super::slot::Slot;
use super::tray::Tray;
use super::watch::Seen;
use crate::common::Common;
use crate::driver::Driver;
use crate::runtime::metrics::Counters;
use crate::task::Header;

/// See the head of this file.
#[repr(align(128))]
pub(super) struct Seat {
    pub(super) own: Own,
    pub(super) slot: Slot<Header>,
    pub(super) tray: Tray,
    taken: AtomicBool,
    pub(super) ring: Ring<Header>,
    pub(super) counters: Counters,
    pub(super) driver: Driver,
}

/// What only the thread that has taken the seat may use.
pub(super) struct Own {
    /// A task that asked for the end of the queue while the queue was empty.
    pub(super) again: Cell<Option<NonNull<Header>>>,
    /// How many tasks may begin until the next pause, besides those in hand.
    pub(super) left: Cell<u32>,
    /// What `left` was after the last pause.
    span: Cell<u32>,
    /// At how many tasks after the last pause upkeep is due.
    until_upkeep: Cell<u32>,
    /// At how many tasks after the last pause the inject queue goes first.
    until_inject: Cell<u32>,
    event_interval: u32,
    pub(super) pace: Pace,
    pub(super) searching: Cell<bool>,
    /// When it last searched it was because others stood still, so it may rob them.
    pub(super) robs: Cell<bool>,
    /// The last sleep was so short that it would have been better not to sleep.
    pub(super) slept_briefly: Cell<bool>,
    pub(super) seen: RefCell<Seen>,
}

impl Own {
    /// So many tasks begin, or are taken in hand. If others come between those, from the
    /// slot, or somebody robs them, the next pause is that much late or early. (A worker that
    /// leaves makes no pauses.)
    #[inline]
    pub(super) fn begins(&self, count: usize) {
        self.left.set(self.left.get().saturating_sub(count as u32));
    }

    /// How many tasks to have in hand: those that run before the next pause, at most.
    #[inline]
    pub(super) fn most_in_hand(&self) -> usize {
        self.pace.in_hand().min(self.left.get() as usize)
    }

    /// A pause has come. Whether upkeep is due, and whether the inject queue goes first.
    pub(super) fn count_down(&self) -> (bool, bool) {
        let span = self.span.get();
        self.pace.polled(span);
        let is_due = |until: &Cell<u32>, interval: u32| {
            let left = until.get() - span;
            until.set(if left == 0 { interval } else { left });
            left == 0
        };
        let upkeep = is_due(&self.until_upkeep, self.event_interval);
        let inject = is_due(&self.until_inject, self.pace.inject_interval());
        let span = self.until_upkeep.get().min(self.until_inject.get());
        self.span.set(span);
        self.left.set(span);
        (upkeep, inject)
    }
}

// SAFETY: `own` is used only by the thread that has taken the seat, and `take` and
// `give_back` order those threads. What is in it may be sent.
unsafe impl Send for Seat {}
// SAFETY: as above. The rest may be shared anyway.
unsafe impl Sync for Seat {}

impl Seat {
    pub(super) fn new(common: &Common) -> Self {
        let config = &common.config;
        let pace = Pace::new(config.global_queue_interval);
        let span = config.event_interval.min(pace.inject_interval());
        Self {
            own: Own {
                again: Cell::new(None),
                left: Cell::new(span),
                span: Cell::new(span),
                until_upkeep: Cell::new(config.event_interval),
                until_inject: Cell::new(pace.inject_interval()),
                event_interval: config.event_interval,
                pace,
                searching: Cell::new(false),
                robs: Cell::new(false),
                slept_briefly: Cell::new(true),
                seen: RefCell::new(Seen::new(config.worker_threads)),
            },
            slot: Slot::new(),
            tray: Tray::new(),
            taken: AtomicBool::new(false),
            ring: Ring::new(),
            counters: Counters::new(config),
            driver: Driver::new(),
        }
    }

    /// Makes the seat this thread's, unless it is another's.
    pub(super) fn take(&self) -> bool {
        !self.taken.swap(true, Ordering::AcqRel)
    }

    /// Lets another thread take the seat.
    pub(super) fn give_back(&self) {
        self.taken.store(false, Ordering::Release);
    }

    /// Whether there is a task that others may take, even from a worker that stands
    /// still.
    #[inline]
    pub(super) fn has_tasks(&self) -> bool {
        !self.ring.is_empty() || !self.slot.is_empty() || !self.tray.is_empty()
    }

    /// How many those are.
    pub(super) fn queue_depth(&self) -> usize {
        self.ring.len() + self.tray.len() + usize::from(!self.slot.is_empty())
    }
}
