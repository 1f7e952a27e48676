use std::fmt;
use std::ops::Deref;

use crate::ring_receiver::RingReceiver;

/// A received message, which dereferences to `[u8]`.
///
/// The message is read in the segment, where its sender has written it. If the segment
/// drops the oldest message when it is full, the message is a copy instead. Dropping the
/// message frees its place, so senders wait for a receiver that keeps it. If a receiver of
/// a queue dies before it drops a message, another receiver gets that message.
///
/// A participant that does not keep the protocol may change the bytes at any time. If you
/// do not trust all participants, copy the message with [`recv_into`](crate::Receiver::recv_into)
/// before you read its bytes twice.
pub struct Message<'a> {
    receiver: &'a mut RingReceiver,
}

impl<'a> Message<'a> {
    /// The receiver must hold the message.
    pub(crate) fn new(receiver: &'a mut RingReceiver) -> Self {
        Self { receiver }
    }

    /// Returns the message's position: each message, and each place whose sender gave up or
    /// died, counts from 0 in this segment. Together with
    /// [`segment_id`](crate::Receiver::segment_id) it identifies the message for ever.
    pub fn position(&self) -> u64 {
        self.receiver.held_position().0
    }

    /// Returns what [`Receiver::skipped`](crate::Receiver::skipped) would return.
    pub fn skipped(&self) -> u64 {
        self.receiver.skipped()
    }

    /// Returns whether the message came from another machine: see
    /// [`Loan::send_imported`](crate::Loan::send_imported).
    pub fn is_imported(&self) -> bool {
        self.receiver.held_position().1
    }
}

impl Deref for Message<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.receiver.held_bytes()
    }
}

impl AsRef<[u8]> for Message<'_> {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Drop for Message<'_> {
    #[inline]
    fn drop(&mut self) {
        self.receiver.release();
    }
}

impl fmt::Debug for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Message").field(&&**self).finish()
    }
}
