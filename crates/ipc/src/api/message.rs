use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;

use crate::api::ring_receiver::RingReceiver;

/// A received message, which dereferences to `[u8]`.
///
/// The message is read in the segment, where its sender has written it. If the segment
/// drops the oldest message when it is full, the message is a copy instead. Dropping the
/// message frees its place, so senders wait for a receiver that keeps it. If a receiver of
/// a queue dies before it drops a message, another receiver gets that message; so does a
/// receiver after [`put_back`](Self::put_back).
///
/// A participant that does not keep the protocol may change the bytes at any time. If you
/// do not trust all participants, copy the message with [`recv_into`](crate::Receiver::recv_into)
/// before you read its bytes twice.
pub struct Message<'a> {
    receiver: &'a mut RingReceiver,
}

impl<'a> Message<'a> {
    /// Creates a message of `receiver`, which must hold one.
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

    /// Returns `true` if the message came from another machine: see
    /// [`Loan::send_imported`](crate::Loan::send_imported).
    pub fn is_imported(&self) -> bool {
        self.receiver.held_position().1
    }

    pub(crate) fn fingerprint(&self) -> u32 {
        self.receiver.held_fingerprint()
    }

    /// Returns the message to the segment, as if it had not been received.
    ///
    /// A message of a queue goes to the next receiver that looks for one, and keeps its
    /// [`position`](Self::position). A message of a route or channel is the next that this
    /// receiver receives.
    ///
    /// A future that holds a message while it waits is dropped when its task is cancelled or its
    /// runtime ends, and drops the message. If the message must not count as consumed then, put
    /// it back in the `Drop` of a guard.
    ///
    /// ```
    /// # if blitz_io::ipc::is_supported() {
    /// use blitz_io::ipc::Queue;
    /// # let name = &format!("put-back-doc-{}", std::process::id());
    /// # let _ = r#"
    /// let name = "jobs";
    /// # "#;
    /// let (mut busy, mut idle) = (Queue::receiver(name)?, Queue::receiver(name)?);
    /// Queue::sender(name)?.send(b"calibrate")?;
    /// busy.recv()?.put_back();
    /// assert_eq!(*idle.recv()?, *b"calibrate");
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put_back(self) {
        let mut message = ManuallyDrop::new(self);
        message.receiver.put_back();
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
