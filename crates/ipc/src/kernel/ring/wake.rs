//! Decides which sleepers a change of a route or channel wakes: only those that can make
//! progress.
//!
//! With many participants, most changes are of no use to the sleepers. So a notifier that
//! finds the flag of an event count set checks the conditions that the sleepers wait for.
//! It leaves flag and sleepers alone if this change meets none of them:
//!
//! * A message at `position` is awaited by receivers whose cursor is `position`. Other
//!   receivers wait for an earlier one, whose sender has not published it yet. An observer
//!   may await any message.
//! * A receiver that advances past `position` makes room if senders wait for the place that
//!   it has left: if the tail is at `position + capacity`, or beyond. Otherwise a slower
//!   receiver holds the senders up, or nothing does.
//!
//! **No wake-up is lost.**
//!
//! 1. *Receivers.* A receiver that sleeps has set its cursor before the flag, and has read
//!    the stamp after it. If it did not see the message, its fence comes before the
//!    notifier's, which therefore reads this cursor.
//! 2. *Senders.* A sender that sleeps has read the tail, then passed a fence, then read the
//!    cursors (`find_limit`). If it read the old cursor, its fence comes before the one
//!    after the cursor's change, so the notifier reads this tail or a later one.
//! 3. *Senders that wait for the place of another position.* The change of the same cursor
//!    wakes them in the same way. The tail at which senders wait is always exactly the
//!    capacity above the slowest cursor, and the cursor of a waiting receiver does not
//!    change.
//!
//! Queues, and rings that drop the oldest message, wake for every change, because there no
//! cursor says which sleeper waits for what.

use blitz_io_futex::atomic::Ordering;

use super::{Delivery, OBSERVER, Ring};
use crate::kernel::event_count::EventCount;

/// The event for which a participant waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Awaited {
    /// A message: receivers, as long as there is a sender.
    Published = 1,
    /// A free place: senders, and the receivers of a queue that has no sender.
    Room = 2,
}

impl Ring {
    /// Returns the event count on which the participants that wait for this event sleep.
    #[inline]
    pub fn event_count(&self, awaited: Awaited) -> EventCount<'_> {
        EventCount(match awaited {
            Awaited::Published => self.memory.published(),
            Awaited::Room => self.memory.room(),
        })
    }

    /// Returns the event count on which receivers sleep.
    #[inline]
    pub fn published(&self) -> EventCount<'_> {
        self.event_count(Awaited::Published)
    }

    /// Returns the event count on which senders sleep.
    #[inline]
    pub fn room(&self) -> EventCount<'_> {
        self.event_count(Awaited::Room)
    }

    /// Returns the event for which a receiver waits that has seen no sender, and then found
    /// no message; `None` if no message will come.
    #[cold]
    pub fn awaited_without_senders(&self) -> Option<Awaited> {
        if self.delivery == Delivery::Every || self.is_drained() {
            return None;
        }
        Some(Awaited::Room)
    }

    /// Wakes the receivers that wait without a sender, after a sender has written its role.
    /// Returns `true` if doorbells are to be rung, too.
    pub fn notify_joined_sender(&self) -> bool {
        self.room().notify()
    }

    /// Wakes receivers after `position` was published or given up. Returns `true` if
    /// doorbells are to be rung, too.
    #[inline]
    pub fn notify_published(&self, position: u64) -> bool {
        let published = self.published();
        published.has_waiters() && self.is_awaited(position) && published.notify_waiters()
    }

    /// Wakes senders after a receiver has advanced past `position`, or consumed it. Returns
    /// `true` if doorbells are to be rung, too.
    #[inline]
    pub fn notify_room(&self, position: u64) -> bool {
        let room = self.room();
        room.has_waiters() && self.held_senders_up(position) && room.notify_waiters()
    }

    fn wakes_always(&self) -> bool {
        self.delivery == Delivery::One || self.drop_oldest
    }

    #[cold]
    fn is_awaited(&self, position: u64) -> bool {
        self.wakes_always()
            || (0..self.participants).any(|participant| {
                let cursor = self.memory.cursor(participant).load(Ordering::Acquire);
                cursor == position || cursor == OBSERVER
            })
    }

    #[cold]
    fn held_senders_up(&self, position: u64) -> bool {
        let tail = self.memory.tail().load(Ordering::Acquire);
        let needed = position.saturating_add(self.capacity);
        self.wakes_always() || needed <= tail
    }
}
