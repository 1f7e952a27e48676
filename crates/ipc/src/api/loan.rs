use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::api::error::SendError;
use crate::api::fingerprint::Fingerprint;
use crate::api::mark::{self, Mark};
use crate::api::ring_sender::RingSender;
use crate::kernel::ring::Delivery;

/// The place of a message that is being written, from [`Sender::loan`](crate::Sender::loan).
///
/// At first it holds the bytes of an older message. [`send`](Self::send) makes it visible;
/// if it is dropped, no message is sent.
#[must_use = "a loan that is not sent is discarded"]
pub struct Loan<'a> {
    sender: &'a mut RingSender,
    position: u64,
    len: usize,
    /// `true` if the caller writes it in the segment, and not in the sender's buffer.
    in_place: bool,
    sent: bool,
}

impl<'a> Loan<'a> {
    /// Creates a loan for `position`, which the sender has claimed.
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
    pub fn send(self) -> Result<(), SendError> {
        let word = mark::word_of(self.len, Fingerprint::UNKNOWN);
        self.publish(word)
    }

    /// Sends the written bytes as a message from another machine:
    /// [`Message::is_imported`](crate::Message::is_imported) is true for it, so that a
    /// program that carries messages between machines does not send it back.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub fn send_imported(self) -> Result<(), SendError> {
        let word = Mark::Imported(self.len as u64).word();
        self.publish(word)
    }

    /// Reports, instead of a message, that `count` messages of another machine are missing
    /// here, or with 0 that an unknown number may be. Each receiver gets
    /// [`RecvError::Gap`](crate::RecvError::Gap) once.
    ///
    /// ```
    /// # if blitz_io::ipc::is_supported() {
    /// use blitz_io::ipc::{RecvError, Route};
    /// # let name = &format!("gap-doc-{}", std::process::id());
    /// # let _ = r#"
    /// let name = "prices";
    /// # "#;
    /// let (mut receiver, mut gateway) = (Route::receiver(name)?, Route::sender(name)?);
    /// gateway.loan(0)?.send_gap(3)?;
    /// gateway.send(b"the fifth")?;
    /// assert_eq!(receiver.recv().unwrap_err(), RecvError::Gap(3));
    /// assert_eq!(*receiver.recv()?, *b"the fifth");
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    ///
    /// # Panics
    ///
    /// Panics in a queue, where each message goes to one receiver only, and if `count` is
    /// 2^62 or more.
    #[track_caller]
    pub fn send_gap(self, count: u64) -> Result<(), SendError> {
        let kind = self.sender.endpoint.segment.settings.kind;
        assert!(kind.delivery() == Delivery::Every, "a queue has no gaps");
        assert!(count < Mark::LIMIT, "a gap of {count} messages");
        self.publish(Mark::Gap(count).word())
    }

    /// Returns the position that the message will have: see
    /// [`Message::position`](crate::Message::position).
    pub fn position(&self) -> u64 {
        self.position
    }

    fn publish(mut self, word: u64) -> Result<(), SendError> {
        self.sent = true;
        if self.sender.endpoint.is_forked() {
            return Err(SendError::Forked);
        }
        if !self.in_place {
            self.sender.write_buffer(self.position, self.len);
        }
        self.sender.publish(self.position, word)
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
