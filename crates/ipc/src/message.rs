use std::fmt;
use std::ops::Deref;

use crate::Receiver;

/// A received message, which dereferences to `[u8]`.
///
/// It is read in the segment, where its sender has put it. If the segment drops the oldest
/// message when it is full, it is a copy instead. Its place becomes free again when this is
/// dropped, so senders wait for a receiver that keeps it. If a receiver of a queue dies
/// with it, another receiver gets it.
///
/// A participant that does not keep the rules may change the bytes while they are read. If
/// you do not trust all participants, make a copy with [`recv_into`](Receiver::recv_into)
/// before you look at the bytes twice.
pub struct Message<'a> {
    receiver: &'a mut Receiver,
}

impl<'a> Message<'a> {
    /// The receiver must hold the message.
    pub(crate) fn new(receiver: &'a mut Receiver) -> Self {
        Self { receiver }
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
