//! Sending to the ring of a segment: the one operation behind the methods of a `Sender`.
//!
//! Every form of sending claims a position, which may have to wait, and then writes and
//! publishes.

#[cfg(unix)]
use std::io;

use blitz_io_futex::atomic::Ordering;
use blitz_io_observe as observe;
#[cfg(unix)]
use blitz_io_observe::Caller;

#[cfg(unix)]
use crate::api::awaited;
use crate::api::endpoint::Endpoint;
use crate::api::error::SendError;
use crate::api::fingerprint::Fingerprint;
use crate::api::kind::WhenFull;
use crate::api::mark;
use crate::kernel::ring::{Awaited, Claim, Corrupt, Exclusive};
use crate::kernel::wait::{self, Wait, Waiter};

/// The sending end of a ring.
pub(crate) struct RingSender {
    pub(crate) endpoint: Endpoint,
    /// See `ring`: the first position that must not be claimed without a look at the
    /// cursors.
    limit: u64,
    exclusive: Exclusive,
    /// The bytes of a loan that must not be written in place.
    buffer: Vec<u8>,
    /// A claim whose loan was forgotten.
    claimed: Option<u64>,
}

impl Waiter for RingSender {
    type End = Endpoint;
    /// The claimed position.
    type Output = u64;
    type Error = SendError;
    const KIND: observe::Kind = observe::Kind::IpcSend;

    #[inline]
    fn end(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    fn awaits(&self) -> Awaited {
        Awaited::Room
    }

    /// Claims the next position, if there is room.
    #[inline]
    fn attempt(&mut self) -> Result<Option<u64>, SendError> {
        let ring = &self.endpoint.segment.ring;
        match ring.try_claim(self.endpoint.me, &mut self.limit) {
            Claim::Claimed(position) => Ok(Some(position)),
            Claim::Full => Ok(None),
            Claim::Corrupt => Err(self.endpoint.found_corrupt()),
        }
    }
}

impl RingSender {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            limit: 0,
            exclusive: Exclusive::new(),
            buffer: Vec::new(),
            claimed: None,
        }
    }

    /// Sends a copy of `message`, which is a value of the type with this fingerprint.
    #[inline]
    #[track_caller]
    pub(crate) fn send(
        &mut self,
        message: &[u8],
        fingerprint: Fingerprint,
        wait: Wait,
    ) -> Result<(), SendError> {
        let position = self.claim(message.len(), wait)?;
        self.write_and_publish(position, message, fingerprint)
    }

    /// Claims the position of a message of `len` bytes.
    #[inline]
    #[track_caller]
    pub(crate) fn claim(&mut self, len: usize, wait: Wait) -> Result<u64, SendError> {
        self.begin(len)?;
        let wait = if self.fails_when_full() {
            Wait::No
        } else {
            wait
        };
        wait::block(self, wait)
    }

    /// Claims the position of a message of `len` bytes, in a task: see [`awaited::when`].
    #[cfg(unix)]
    pub(crate) async fn claim_when<F, R>(
        &mut self,
        len: usize,
        readable: F,
        caller: Caller,
    ) -> Result<u64, SendError>
    where
        F: FnMut() -> R,
        R: Future<Output = io::Result<()>>,
    {
        if self.fails_when_full() {
            return self.claim(len, Wait::No);
        }
        self.begin(len)?;
        awaited::when(self, readable, caller).await
    }

    /// Claims the position of a message of `len` bytes, in a task of the runtime of blitz-io.
    #[cfg(all(feature = "async", unix))]
    pub(crate) async fn claim_in_runtime(
        &mut self,
        len: usize,
        caller: Caller,
    ) -> Result<u64, SendError> {
        if self.fails_when_full() {
            return self.claim(len, Wait::No);
        }
        self.begin(len)?;
        awaited::in_runtime(self, caller).await
    }

    /// Claims the position of a message of `len` bytes if there is room, or else arms the
    /// doorbell.
    #[cfg(unix)]
    pub(crate) fn claim_or_arm(&mut self, len: usize) -> Result<u64, SendError> {
        self.begin(len)?;
        awaited::attempt_or_arm(self)?.ok_or(SendError::Full)
    }

    /// Checks the length, and gives up the claim of a loan that was forgotten.
    #[inline]
    fn begin(&mut self, len: usize) -> Result<(), SendError> {
        let max = self.endpoint.segment.settings.max_len;
        if len > max {
            return Err(SendError::TooLong { len, max });
        }
        if let Some(position) = self.claimed {
            self.give_up(position);
        }
        Ok(())
    }

    #[inline]
    fn fails_when_full(&self) -> bool {
        self.endpoint.segment.settings.when_full == WhenFull::Fail
    }

    /// Notes that `position` is lent. Returns `true` if its bytes may be written in place; if
    /// not, the buffer has `len` bytes.
    pub(crate) fn lend(&mut self, position: u64, len: usize) -> bool {
        self.claimed = Some(position);
        let ring = &self.endpoint.segment.ring;
        let in_place = ring.is_exclusive(position, &mut self.exclusive);
        if !in_place {
            self.buffer.resize(len, 0);
        }
        in_place
    }

    /// Sends a copy of `message` at the claimed position.
    #[inline]
    pub(crate) fn write_and_publish(
        &mut self,
        position: u64,
        message: &[u8],
        fingerprint: Fingerprint,
    ) -> Result<(), SendError> {
        let ring = &self.endpoint.segment.ring;
        let exclusive = ring.is_exclusive(position, &mut self.exclusive);
        let index = ring.index(position);
        ring.memory.write(index, message, exclusive);
        self.publish(position, mark::word_of(message.len(), fingerprint))
    }

    /// Copies the first `len` bytes of a loan that was written into the buffer.
    pub(crate) fn write_buffer(&mut self, position: u64, len: usize) {
        let ring = &self.endpoint.segment.ring;
        let index = ring.index(position);
        ring.memory.write(index, &self.buffer[..len], false);
    }

    pub(crate) fn buffer(&self) -> &[u8] {
        &self.buffer
    }

    pub(crate) fn buffer_mut(&mut self) -> &mut [u8] {
        &mut self.buffer
    }

    /// Makes the claimed message visible, with this word for its length: see `mark.rs`.
    #[inline]
    pub(crate) fn publish(&mut self, position: u64, word: u64) -> Result<(), SendError> {
        self.claimed = None;
        let ring = &self.endpoint.segment.ring;
        let length = ring.memory.length(ring.index(position));
        length.store(word, Ordering::Relaxed);
        observe::trace::sent(|| self.endpoint.segment.id(), position);
        let published = ring.publish(self.endpoint.me, position);
        self.endpoint.checked::<_, SendError>(published)?;
        self.endpoint.segment.notify_published(position);
        Ok(())
    }

    /// Leaves the claimed position without a message.
    pub(crate) fn give_up(&mut self, position: u64) {
        self.claimed = None;
        if self.endpoint.is_forked() {
            return;
        }
        let ring = &self.endpoint.segment.ring;
        match ring.give_up(self.endpoint.me, position) {
            Ok(()) => self.endpoint.segment.notify_published(position),
            Err(Corrupt) => self.endpoint.note_corrupt(),
        }
    }

    /// Returns where the bytes of the claimed message are.
    pub(crate) fn bytes(&self, position: u64) -> std::ptr::NonNull<u8> {
        let ring = &self.endpoint.segment.ring;
        ring.memory.bytes(ring.index(position))
    }
}
