use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::error::SendError;
use crate::ring_sender::RingSender;

/// The place of a message that is being written, from [`Sender::loan`](crate::Sender::loan).
///
/// At first it holds the bytes of an older message. [`send`](Self::send) makes it visible;
/// if it is dropped, no message is sent.
pub struct Loan<'a> {
    sender: &'a mut RingSender,
    position: u64,
    len: usize,
    /// Whether it is written in the segment, and not in the sender's buffer.
    in_place: bool,
    sent: bool,
}

impl<'a> Loan<'a> {
    /// The sender has claimed `position`.
    pub(crate) fn new(sender: &'a mut RingSender, position: u64, len: usize) -> Self {
        let in_place = sender.lend(position, len);
        Self {
            sender,
            position,
            len,
            in_place,
            sent: false,
        }
    }

    /// Sends the written bytes.
    ///
    /// # Errors
    ///
    /// [`SendError::Forked`] and [`SendError::Corrupt`].
    pub fn send(mut self) -> Result<(), SendError> {
        self.sent = true;
        if self.sender.endpoint.is_forked() {
            Err(SendError::Forked)
        } else if self.in_place {
            self.sender.publish(self.position, self.len)
        } else {
            self.sender.publish_buffer(self.position, self.len)
        }
    }

    /// Shortens the message to its first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }
}

impl Deref for Loan<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        if !self.in_place {
            return &self.sender.buffer()[..self.len];
        }
        let bytes = self.sender.bytes(self.position);
        // SAFETY: the place has `max_len` bytes, `len` is not more, and the sender has the
        // place for itself (`ring/exclusive.rs`).
        unsafe { std::slice::from_raw_parts(bytes.as_ptr(), self.len) }
    }
}

impl DerefMut for Loan<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        if !self.in_place {
            return &mut self.sender.buffer_mut()[..self.len];
        }
        let bytes = self.sender.bytes(self.position);
        // SAFETY: the place has `max_len` bytes, and `len` is not more. The sender has the
        // place for itself (`ring/exclusive.rs`) and is mutably borrowed, so this is the
        // only slice.
        unsafe { std::slice::from_raw_parts_mut(bytes.as_ptr(), self.len) }
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        if !self.sent {
            self.sender.give_up(self.position);
        }
    }
}

impl fmt::Debug for Loan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loan")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
