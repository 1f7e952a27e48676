//! The receivers' side of a queue: take, consume, put back. The protocol is in `mod.rs`.
//!
//! **No message is skipped.** Receivers advance next only past positions that are taken,
//! consumed, turned into tombstones, or reused. If the place of next has the stamp of a
//! later position, receivers advance next to that position - capacity + 1. Positions are
//! claimed in order, so every earlier place has been reused. But a taken message that is
//! published again, because its receiver died or puts it back, lies behind next.
//!
//! 1. The reaper, or the receiver, publishes the message, counts `restored` up, and then
//!    notifies.
//! 2. A receiver that sees a different count than at its last fruitless search goes through
//!    the whole ring before it looks at next.
//! 3. A receiver that was asleep is notified after the count, so it sees the new count,
//!    too.

use blitz_io_futex::atomic::Ordering;

use super::{Corrupt, Phase, Ring, Stamp};

/// The outcome of an attempt to take a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Take {
    /// The receiver has taken the message at this position.
    Taken(u64),
    /// There is no message.
    Empty,
    /// See [`Corrupt`].
    Corrupt,
}

impl Ring {
    /// Tries to take a message for participant `me`. `searched` is the receiver's: the
    /// count of restorations at its last fruitless search.
    #[inline]
    pub fn try_take(&self, me: usize, searched: &mut u64) -> Take {
        let restored = self.memory.restored().load(Ordering::Acquire);
        if restored != *searched {
            if let Some(position) = self.search(me) {
                return Take::Taken(position);
            }
            *searched = restored;
        }
        // A search takes messages without next, and senders may drop messages at next. But
        // next advances past reused positions in one step, so what is left is less than a
        // lap, unless a participant writes nonsense.
        for _ in 0..self.capacity * 4 {
            let next = self.memory.next().load(Ordering::Acquire);
            let stamp = self.stamp(next);
            let position = stamp.position();
            if position == next {
                match stamp.phase() {
                    Phase::Published => {
                        if self.take(stamp, me) {
                            self.advance_next(next, next + 1);
                            return Take::Taken(next);
                        }
                    }
                    Phase::Claimed | Phase::Free => return Take::Empty,
                    Phase::Taken | Phase::Consumed | Phase::Tombstone => {
                        self.advance_next(next, next + 1);
                    }
                    Phase::Unknown => return Take::Corrupt,
                }
            } else if position > next {
                // With a stamp that makes no sense, position - capacity may lie behind next.
                let reused = position.saturating_sub(self.capacity).max(next);
                self.advance_next(next, reused + 1);
            } else if position + self.capacity == next {
                return Take::Empty;
            } else if self.memory.next().load(Ordering::Acquire) == next {
                return Take::Corrupt;
            }
        }
        Take::Empty
    }

    #[inline]
    fn take(&self, message: Stamp, me: usize) -> bool {
        let taken = Stamp::new(message.position(), Phase::Taken, me);
        self.change(message, taken)
    }

    #[inline]
    fn advance_next(&self, from: u64, to: u64) {
        self.memory.next().replace(from, to);
    }

    /// Takes any message that is in the ring, the oldest first.
    #[cold]
    fn search(&self, me: usize) -> Option<u64> {
        let oldest = self.oldest();
        (oldest..oldest + self.capacity).find(|&position| {
            let stamp = self.stamp(position);
            stamp.position() == position
                && stamp.phase() == Phase::Published
                && self.take(stamp, me)
        })
    }

    /// Returns `true` if no message is left that a receiver has or can still get. Only for a
    /// receiver that has seen that there is no sender: the top of `mod.rs` has the reason.
    pub(super) fn is_drained(&self) -> bool {
        (0..self.capacity).all(|index| {
            let word = self.memory.stamp(index).load(Ordering::Acquire);
            !matches!(Stamp(word).phase(), Phase::Published | Phase::Taken)
        })
    }

    /// Ends the use of a taken message. The caller notifies `room` afterwards.
    #[inline]
    pub fn consume(&self, me: usize, position: u64) -> Result<(), Corrupt> {
        let taken = Stamp::new(position, Phase::Taken, me);
        if self.change(taken, Stamp::new(position, Phase::Consumed, 0)) {
            Ok(())
        } else {
            Err(Corrupt)
        }
    }

    /// Publishes a taken message again, for any receiver. The caller notifies both event
    /// counts afterwards, as after a reap.
    pub fn put_back(&self, me: usize, position: u64) -> Result<(), Corrupt> {
        let taken = Stamp::new(position, Phase::Taken, me);
        if !self.change(taken, Stamp::new(position, Phase::Published, 0)) {
            return Err(Corrupt);
        }
        self.memory.restored().add(1);
        Ok(())
    }
}
