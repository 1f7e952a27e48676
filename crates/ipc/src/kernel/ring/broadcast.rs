//! The receivers' side of a route or channel: cursors. The protocol is in `mod.rs`.

use blitz_io_futex::atomic::{Ordering, fence};

use super::{OBSERVER, Phase, Ring, Stamp};

/// The state of the ring at a receiver's cursor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Look {
    /// A whole message.
    Ready,
    /// There will never be a message at this position.
    Skip,
    /// There is no message yet.
    Empty,
    /// A sender is writing the message, or has died while writing it.
    Claimed,
    /// Senders have used the place again.
    Overwritten,
    /// A value that this library never writes.
    Corrupt,
}

/// The positions at which a receiver begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cursor {
    /// The first position that it reads.
    pub first: u64,
    /// Senders wait for this receiver from this position on.
    pub safe: u64,
}

impl Ring {
    /// Looks at the message at `cursor`.
    #[inline]
    pub fn look(&self, cursor: u64) -> Look {
        let stamp = self.stamp(cursor);
        let position = stamp.position();
        if position == cursor {
            return match stamp.phase() {
                Phase::Published => Look::Ready,
                Phase::Claimed => Look::Claimed,
                Phase::Tombstone => Look::Skip,
                Phase::Free => Look::Empty,
                _ => Look::Corrupt,
            };
        }
        if position > cursor {
            return Look::Overwritten;
        }
        if position + self.capacity == cursor {
            Look::Empty
        } else {
            Look::Corrupt
        }
    }

    /// Returns `true` if the message at `cursor`, which was ready before its bytes were copied,
    /// still is. Then the copy is whole.
    pub fn is_still_ready(&self, cursor: u64) -> bool {
        fence(Ordering::Acquire);
        let word = self.memory.stamp(self.index(cursor));
        word.load(Ordering::Relaxed) == Stamp::new(cursor, Phase::Published, 0).0
    }

    /// Moves the cursor of participant `me`. The caller notifies `room` afterwards.
    #[inline]
    pub fn set_cursor(&self, me: usize, cursor: u64) {
        self.memory.cursor(me).swap(cursor);
    }

    /// Returns the position from which a receiver that was overtaken continues.
    pub fn oldest(&self) -> u64 {
        let tail = self.memory.tail().load(Ordering::Acquire);
        tail.saturating_sub(self.capacity)
    }

    /// Makes participant `me` a receiver, of new messages or also of those that the ring
    /// still holds.
    pub fn join(&self, me: usize, history: bool) -> Cursor {
        let word = self.memory.cursor(me);
        let early = self.memory.tail().load(Ordering::Acquire);
        let back = if history { self.capacity } else { 0 };
        word.swap(early.saturating_sub(back));
        if history {
            self.memory.copiers().add(1);
        }
        fence(Ordering::SeqCst);
        let safe = self.memory.tail().load(Ordering::Acquire);
        let first = safe.saturating_sub(back);
        word.swap(first.min(OBSERVER - 1));
        Cursor { first, safe }
    }

    /// Makes participant `me` an observer, of new messages or also of those that the ring
    /// still holds.
    pub fn observe(&self, me: usize, history: bool) -> Cursor {
        self.memory.cursor(me).swap(OBSERVER);
        self.memory.copiers().add(1);
        fence(Ordering::SeqCst);
        let tail = self.memory.tail().load(Ordering::Acquire);
        let first = if history { self.oldest() } else { tail };
        Cursor { first, safe: tail }
    }
}
