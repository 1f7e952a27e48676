//! The senders' side of the ring: claim, publish, give up. The protocol is in `mod.rs`.

use blitz_io_futex::atomic::{Ordering, fence};

use super::stamp::MAX_POSITION;
use super::{Corrupt, Delivery, INACTIVE, OBSERVER, Phase, Ring, Stamp};

/// The outcome of an attempt to claim a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// The sender has claimed this position.
    Claimed(u64),
    /// A receiver or another sender is not done with the oldest place.
    Full,
    /// See [`Corrupt`].
    Corrupt,
}

/// The meaning of the stamp at the tail for a sender.
enum AtTail {
    /// The position is claimed; the tail lags.
    Ahead,
    /// The place can be claimed.
    Reusable,
    /// The place is still in use.
    Busy,
    /// The tail that was read is old, or the stamp makes no sense.
    Odd,
}

impl Ring {
    /// Tries to claim the next position for participant `me`. `limit` is the sender's: the
    /// first position that it may not claim without another look at the cursors.
    #[inline]
    pub fn try_claim(&self, me: usize, limit: &mut u64) -> Claim {
        loop {
            let tail = self.memory.tail().load(Ordering::Acquire);
            let stamp = self.stamp(tail);
            match self.at_tail(stamp, tail) {
                AtTail::Reusable => {}
                AtTail::Busy => return Claim::Full,
                AtTail::Ahead => {
                    self.advance_tail(tail);
                    continue;
                }
                // If the tail is the same before and after, a place has the stamp of that
                // position or of the previous lap.
                AtTail::Odd => {
                    if self.memory.tail().load(Ordering::Acquire) == tail {
                        return Claim::Corrupt;
                    }
                    continue;
                }
            }
            if tail >= *limit && self.delivery == Delivery::Every && !self.drop_oldest {
                *limit = self.find_limit();
                if tail >= *limit {
                    return Claim::Full;
                }
            }
            let claimed = Stamp::new(tail, Phase::Claimed, me);
            let word = self.memory.stamp(self.index(tail));
            if word.replace(stamp.0, claimed.0) {
                // For readers that copy: none sees the new bytes and the old stamp.
                fence(Ordering::Release);
                self.advance_tail(tail);
                return Claim::Claimed(tail);
            }
        }
    }

    #[inline]
    fn at_tail(&self, stamp: Stamp, tail: u64) -> AtTail {
        let (position, phase) = (stamp.position(), stamp.phase());
        if tail >= MAX_POSITION - self.capacity {
            return AtTail::Odd;
        }
        if phase == Phase::Free {
            return if position == tail {
                AtTail::Reusable
            } else {
                AtTail::Odd
            };
        }
        if position == tail {
            return AtTail::Ahead;
        }
        if position + self.capacity != tail {
            return AtTail::Odd;
        }
        match (phase, self.delivery) {
            (Phase::Tombstone, _) | (Phase::Published, Delivery::Every) => AtTail::Reusable,
            (Phase::Consumed, Delivery::One) => AtTail::Reusable,
            (Phase::Published, Delivery::One) if self.drop_oldest => AtTail::Reusable,
            (Phase::Published | Phase::Taken, Delivery::One) | (Phase::Claimed, _) => AtTail::Busy,
            _ => AtTail::Odd,
        }
    }

    /// Advances the tail past `position`, which is claimed, unless another sender has done
    /// so.
    #[inline]
    fn advance_tail(&self, position: u64) {
        self.memory.tail().replace(position, position + 1);
    }

    /// Returns the first position that must not be claimed before some cursor has advanced.
    #[cold]
    fn find_limit(&self) -> u64 {
        let tail = self.memory.tail().load(Ordering::Acquire);
        fence(Ordering::SeqCst);
        let slowest = (0..self.participants)
            .map(|participant| self.memory.cursor(participant).load(Ordering::Acquire))
            .filter(|&cursor| cursor != INACTIVE && cursor != OBSERVER)
            .fold(tail, u64::min);
        slowest.saturating_add(self.capacity)
    }

    /// Makes the claimed message visible. The caller notifies `published` afterwards.
    #[inline]
    pub fn publish(&self, me: usize, position: u64) -> Result<(), Corrupt> {
        self.end_claim(me, position, Phase::Published)
    }

    /// Gives a claim up, so that there will be no message. The caller notifies `published`.
    pub fn give_up(&self, me: usize, position: u64) -> Result<(), Corrupt> {
        self.end_claim(me, position, Phase::Tombstone)
    }

    #[inline]
    fn end_claim(&self, me: usize, position: u64, phase: Phase) -> Result<(), Corrupt> {
        let claimed = Stamp::new(position, Phase::Claimed, me);
        if self.change(claimed, Stamp::new(position, phase, 0)) {
            Ok(())
        } else {
            Err(Corrupt)
        }
    }
}
