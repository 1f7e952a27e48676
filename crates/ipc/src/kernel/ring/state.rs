//! The state of a sent message, as its sender sees it.

use super::{Phase, Ring};

/// The state of a message: see [`Sender::message_state`](crate::Sender::message_state).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MessageState {
    /// No sender has claimed this position yet.
    Ahead,
    /// A sender is writing it, or has died while it wrote it.
    Claimed,
    /// It is whole. In a queue, no receiver is done with it.
    Sent,
    /// A receiver of a queue is done with it.
    Consumed,
    /// Its sender gave up or died: there is no message.
    Absent,
    /// A later message has its place, so it is not known any more whether there was one. In
    /// a queue that does not drop messages, a message that was sent has been consumed.
    Overwritten,
}

impl Ring {
    pub fn state(&self, position: u64) -> MessageState {
        let stamp = self.stamp(position);
        if stamp.position() > position {
            return MessageState::Overwritten;
        }
        if stamp.position() < position {
            return MessageState::Ahead;
        }
        match stamp.phase() {
            Phase::Free | Phase::Unknown => MessageState::Ahead,
            Phase::Claimed => MessageState::Claimed,
            Phase::Published | Phase::Taken => MessageState::Sent,
            Phase::Consumed => MessageState::Consumed,
            Phase::Tombstone => MessageState::Absent,
        }
    }

    /// Returns the first position from `from` on and below `end` whose message is sent, and in a
    /// queue not consumed.
    pub fn find_sent(&self, from: u64, end: u64) -> Option<u64> {
        // A hostile participant may have moved the tail, but a ring holds no more than this.
        let from = from.max(end.saturating_sub(self.capacity));
        (from..end).find(|&position| self.state(position) == MessageState::Sent)
    }
}
