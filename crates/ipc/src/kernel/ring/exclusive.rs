//! Whether a sender of a route or channel has a place for itself while it writes.
//!
//! A receiver's cursor keeps senders away from the messages that it reads in place. A
//! *copier* is a receiver that may read a place while a sender writes to it:
//!
//! * a receiver with history, until it has reached the tail at which it joined;
//! * an observer, at any time;
//! * every receiver of a ring that drops the oldest.
//!
//! A copier copies, and throws the copy away if the stamp has changed. But a race of plain
//! accesses is undefined behaviour even then. So a sender that does not have the place for
//! itself writes by atomic words, as the copier reads (`memory/copy.rs`), and lends a
//! private buffer instead of the place.
//!
//! The protocol:
//!
//! * A copier that joins writes its cursor (an observer writes [`OBSERVER`]), counts up
//!   `copiers`, passes a fence, and looks at stamps.
//! * A sender that has claimed a place reads `copiers`. If it has changed, or the position
//!   has reached those cursors that the sender saw last, it reads all cursors.
//!
//! **The place is the sender's own** if every cursor is above the position that the place
//! held before. Two cases:
//!
//! 1. *A copier that joins.* If its fence comes after the claim, the copier sees that the
//!    place is claimed. Otherwise the sender sees the new count, and therefore the cursor.
//! 2. *A copier that the sender saw.* Cursors only go up. So the copier had finished with
//!    all positions below the cursor when the sender read it. The sender reads the cursors
//!    again when its position has reached the slowest cursor that it saw, plus the
//!    capacity.

use blitz_io_core::fences;
use blitz_io_futex::atomic::Ordering;

use super::{Delivery, INACTIVE, OBSERVER, Ring};

/// A sender's last view of the copiers.
#[derive(Clone, Copy, Debug)]
pub struct Exclusive {
    /// The count of copiers at its last look.
    copiers: u64,
    /// Positions below this one are its own when it has claimed them.
    until: u64,
}

impl Exclusive {
    /// Returns the view of a new sender, which has not looked yet: no copier has joined.
    pub(crate) const fn new() -> Self {
        Self {
            copiers: 0,
            until: u64::MAX,
        }
    }
}

impl Ring {
    /// Returns `true` if the sender, which has claimed `position`, has its place for itself until
    /// it publishes.
    #[inline]
    pub fn is_exclusive(&self, position: u64, known: &mut Exclusive) -> bool {
        if self.delivery == Delivery::One {
            // The stamp keeps all others away.
            return true;
        }
        if self.drop_oldest {
            return false;
        }
        fences::after_rmw();
        let copiers = self.memory.copiers().load(Ordering::SeqCst);
        if copiers != known.copiers || position >= known.until {
            *known = Exclusive {
                copiers,
                until: self.exclusive_until(),
            };
        }
        position < known.until
    }

    #[cold]
    fn exclusive_until(&self) -> u64 {
        let cursors = (0..self.participants).map(|participant| {
            let cursor = self.memory.cursor(participant);
            cursor.load(Ordering::SeqCst)
        });
        cursors
            .map(|cursor| match cursor {
                INACTIVE => u64::MAX,
                OBSERVER => 0,
                _ => cursor.saturating_add(self.capacity),
            })
            .fold(u64::MAX, u64::min)
    }
}
