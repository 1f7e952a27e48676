//! Tells receivers that no sender is left.
//!
//! A sender's record holds its role while it takes part. The segment counts its senders, and
//! the count never goes down.
//!
//! * A sender that joins writes its role, then counts, then notifies.
//! * A reaper of a sender counts before it clears the role: the sender may have been killed
//!   before it counted itself. A second count does no harm, as receivers only compare counts.
//!
//! So a receiver that sees the count go up, and then no role, knows that the sender has left.
//!
//! **Which senders count.** A receiver waits until the first sender that counts has joined.
//!
//! * In a queue, every sender of the segment counts, also one that left before the receiver
//!   joined. So each receiver of a queue reports the end, whenever it joined: a worker that
//!   replaces a killed one ends as the others do.
//! * In a route or channel, only the senders count that take part when the receiver joins, or join
//!   later. The receiver gets no message of earlier ones, unless it joined with history.

use blitz_io_futex::atomic::Ordering;

use super::{Delivery, Ring};

/// The role of a sender, in its record.
pub const SENDER: u64 = 1;

impl Ring {
    /// Makes participant `me` a sender. Returns `true` if doorbells are to be rung, too.
    pub fn join_sender(&self, me: usize) -> bool {
        self.memory.role(me).swap(SENDER);
        self.count_sender();
        self.notify_joined_sender()
    }

    /// Counts a sender: one that has joined, or a dead one that may not have counted itself.
    pub fn count_sender(&self) {
        self.memory.senders_seen().add(1);
    }

    /// Returns `true` if this record is that of a sender, as far as this is known without
    /// asking the kernel.
    pub fn is_sender(&self, participant: usize) -> bool {
        participant < self.senders && self.memory.role(participant).load(Ordering::Acquire) != 0
    }

    /// Returns the first sender, if there is one.
    fn find_sender(&self) -> Option<usize> {
        (0..self.senders).find(|&participant| self.is_sender(participant))
    }

    /// Returns a count that goes up after a sender has joined, and before one that has died
    /// is reaped.
    pub fn senders_seen(&self) -> u64 {
        self.memory.senders_seen().load(Ordering::Acquire)
    }
}

/// A receiver's view of the senders. The top of this file has the rules.
pub struct Senders {
    /// A sender that counts has joined.
    had_one: bool,
    /// Senders beyond this count are those that count.
    ignored: u64,
    /// The sender that the last search found, which has probably not left.
    last: usize,
}

impl Senders {
    /// Creates the view of a receiver that joins.
    pub fn new(ring: &Ring) -> Self {
        let ignored = match ring.delivery {
            Delivery::Every => ring.senders_seen(),
            Delivery::One => 0,
        };
        let found = ring.find_sender();
        Self {
            had_one: found.is_some(),
            ignored,
            last: found.unwrap_or(0),
        }
    }

    /// Returns `true` if there has been a sender that counts, and none is left.
    pub fn are_gone(&mut self, ring: &Ring) -> bool {
        let seen = ring.senders_seen();
        self.had_one = self.had_one || seen != self.ignored;
        if !self.had_one || ring.is_sender(self.last) {
            return false;
        }
        match ring.find_sender() {
            Some(found) => {
                self.last = found;
                false
            }
            // During the search, a sender may have joined in a record that the search had
            // passed, and then the sender of a later record may have left.
            None => ring.senders_seen() == seen,
        }
    }
}
