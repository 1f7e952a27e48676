use std::fmt;
use std::time::{Duration, Instant};

use blitz_io_futex::atomic::Ordering;
use blitz_io_sync::internals::{EventSpin, deadline};

use crate::endpoint::Endpoint;
use crate::error::SendError;
use crate::event_count::SLEEPER;
use crate::loan::Loan;
use crate::ring::{Claim, Corrupt, Exclusive};
use crate::settings::{Kind, WhenFull};

/// The sending end of a [`Route`](crate::Route), [`Channel`](crate::Channel) or
/// [`Queue`](crate::Queue).
///
/// It can be moved to another thread; several threads use several senders. Dropping it
/// leaves the segment. If the process is killed while it sends, its message is absent, and
/// the other participants notice within a twentieth of a second.
pub struct Sender {
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

/// How long a sender waits for room.
#[derive(Clone, Copy)]
enum Wait {
    Not,
    Until(Option<Instant>),
}

impl Sender {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            limit: 0,
            exclusive: Exclusive::new(),
            buffer: Vec::new(),
            claimed: None,
        }
    }

    /// Sends a copy of `message`. When the ring is full, follows the segment's [`WhenFull`]
    /// policy; by default it blocks until there is room.
    ///
    /// With [`WhenFull::DropOldest`] it still waits while another participant uses the
    /// oldest message: a sender that writes it, or a receiver of a queue that has taken it.
    ///
    /// # Errors
    ///
    /// [`SendError::TooLong`], [`SendError::Forked`], [`SendError::Corrupt`], and
    /// [`SendError::Full`] with [`WhenFull::Fail`].
    #[inline]
    pub fn send(&mut self, message: &[u8]) -> Result<(), SendError> {
        self.send_waiting(message, self.usual_wait(None))
    }

    /// Sends a copy of `message` if there is room.
    ///
    /// # Errors
    ///
    /// [`SendError::Full`] if there is none; otherwise as [`send`](Self::send).
    #[inline]
    pub fn try_send(&mut self, message: &[u8]) -> Result<(), SendError> {
        self.send_waiting(message, Wait::Not)
    }

    /// Sends as [`send`](Self::send) does, but waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`SendError::TimedOut`] if there was no room until then; otherwise as
    /// [`send`](Self::send).
    pub fn send_timeout(&mut self, message: &[u8], timeout: Duration) -> Result<(), SendError> {
        self.send_waiting(message, self.usual_wait(deadline::after(timeout)))
    }

    /// Sends as [`send`](Self::send) does, but waits no longer than until `deadline`.
    ///
    /// # Errors
    ///
    /// [`SendError::TimedOut`] if there was no room until then; otherwise as
    /// [`send`](Self::send).
    pub fn send_until(&mut self, message: &[u8], deadline: Instant) -> Result<(), SendError> {
        self.send_waiting(message, self.usual_wait(Some(deadline)))
    }

    /// Claims the place of the next message, to write `len` bytes directly into it. Blocks
    /// like [`send`](Self::send) when the ring is full.
    ///
    /// Messages that are sent after this, also by other senders, wait behind it until the
    /// loan is sent or dropped; so fill it soon.
    ///
    /// The loan is a private buffer, copied when it is sent, while receivers may copy the
    /// place. In a route or channel this is the case
    ///
    /// * with [`WhenFull::DropOldest`],
    /// * while there is an [observer](crate::Builder::observer), and
    /// * while a receiver that joined with history is reading it.
    ///
    /// ```
    /// # if blitz_io::ipc::is_supported() {
    /// use blitz_io::ipc::Route;
    /// # let name = &format!("frames-doc-{}", std::process::id());
    /// # let _ = r#"
    /// let name = "frames";
    /// # "#;
    /// let frames = Route::builder().capacity(4).max_len(1 << 20);
    /// let (mut camera, mut screen) = (frames.sender(name)?, frames.receiver(name)?);
    /// let mut frame = camera.loan(1 << 20)?;
    /// frame.fill(7);
    /// frame.send()?;
    /// assert!(screen.recv()?.iter().all(|&byte| byte == 7));
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub fn loan(&mut self, len: usize) -> Result<Loan<'_>, SendError> {
        let wait = self.usual_wait(None);
        self.loan_waiting(len, wait)
    }

    /// Does what [`loan`](Self::loan) does, if there is room.
    ///
    /// # Errors
    ///
    /// [`SendError::Full`] if there is none; otherwise as [`send`](Self::send).
    pub fn try_loan(&mut self, len: usize) -> Result<Loan<'_>, SendError> {
        self.loan_waiting(len, Wait::Not)
    }

    /// Does what [`loan`](Self::loan) does, but waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`SendError::TimedOut`] if there was no room until then; otherwise as
    /// [`send`](Self::send).
    pub fn loan_timeout(&mut self, len: usize, timeout: Duration) -> Result<Loan<'_>, SendError> {
        let wait = self.usual_wait(deadline::after(timeout));
        self.loan_waiting(len, wait)
    }

    /// Does what [`loan`](Self::loan) does, but waits no longer than until `deadline`.
    ///
    /// # Errors
    ///
    /// [`SendError::TimedOut`] if there was no room until then; otherwise as
    /// [`send`](Self::send).
    pub fn loan_until(&mut self, len: usize, deadline: Instant) -> Result<Loan<'_>, SendError> {
        let wait = self.usual_wait(Some(deadline));
        self.loan_waiting(len, wait)
    }

    /// Returns the length of the longest message, in bytes.
    pub fn max_len(&self) -> usize {
        self.endpoint.segment.settings.max_len
    }

    /// Returns how many messages the ring holds.
    pub fn capacity(&self) -> usize {
        self.endpoint.segment.settings.capacity
    }

    /// Returns how messages find their receivers.
    pub fn kind(&self) -> Kind {
        self.endpoint.segment.settings.kind
    }

    #[cfg(unix)]
    pub(crate) fn fails_when_full(&self) -> bool {
        self.endpoint.segment.settings.when_full == WhenFull::Fail
    }

    fn usual_wait(&self, deadline: Option<Instant>) -> Wait {
        match self.endpoint.segment.settings.when_full {
            WhenFull::Fail => Wait::Not,
            WhenFull::Block | WhenFull::DropOldest => Wait::Until(deadline),
        }
    }

    #[inline]
    fn send_waiting(&mut self, message: &[u8], wait: Wait) -> Result<(), SendError> {
        let position = self.claim(message.len(), wait)?;
        self.write_and_publish(position, message)
    }

    /// Sends a copy of `message` at the claimed position.
    #[inline]
    pub(crate) fn write_and_publish(
        &mut self,
        position: u64,
        message: &[u8],
    ) -> Result<(), SendError> {
        let ring = &self.endpoint.segment.ring;
        let exclusive = ring.is_exclusive(position, &mut self.exclusive);
        let index = ring.index(position);
        ring.memory.write(index, message, exclusive);
        self.publish(position, message.len())
    }

    fn loan_waiting(&mut self, len: usize, wait: Wait) -> Result<Loan<'_>, SendError> {
        let position = self.claim(len, wait)?;
        Ok(self.lend(position, len))
    }

    pub(crate) fn lend(&mut self, position: u64, len: usize) -> Loan<'_> {
        self.claimed = Some(position);
        let ring = &self.endpoint.segment.ring;
        let in_place = ring.is_exclusive(position, &mut self.exclusive);
        if !in_place {
            self.buffer.resize(len, 0);
        }
        Loan::new(self, position, len, in_place)
    }

    /// Sends the first `len` bytes of a loan that was written into the buffer.
    pub(crate) fn publish_buffer(&mut self, position: u64, len: usize) -> Result<(), SendError> {
        let ring = &self.endpoint.segment.ring;
        let index = ring.index(position);
        ring.memory.write(index, &self.buffer[..len], false);
        self.publish(position, len)
    }

    pub(crate) fn buffer(&self) -> &[u8] {
        &self.buffer
    }

    pub(crate) fn buffer_mut(&mut self) -> &mut [u8] {
        &mut self.buffer
    }

    /// Claims the next position if there is room.
    #[cfg(unix)]
    pub(crate) fn claim_now(&mut self, len: usize) -> Result<u64, SendError> {
        self.claim(len, Wait::Not)
    }

    /// Claims the next position.
    #[inline]
    fn claim(&mut self, len: usize, wait: Wait) -> Result<u64, SendError> {
        let max = self.max_len();
        if len > max {
            return Err(SendError::TooLong { len, max });
        }
        if self.endpoint.is_forked() {
            return Err(SendError::Forked);
        }
        if self.endpoint.corrupt {
            return Err(SendError::Corrupt);
        }
        if let Some(position) = self.claimed {
            self.give_up(position);
        }
        match self.try_claim()? {
            Some(position) => Ok(position),
            None => self.wait_for_room(wait),
        }
    }

    /// Claims the next position. Returns `None` if the ring is full.
    #[inline]
    fn try_claim(&mut self) -> Result<Option<u64>, SendError> {
        let ring = &self.endpoint.segment.ring;
        match ring.try_claim(self.endpoint.me, &mut self.limit) {
            Claim::Claimed(position) => Ok(Some(position)),
            Claim::Full => Ok(None),
            Claim::Corrupt => Err(self.found_corrupt()),
        }
    }

    #[cold]
    fn wait_for_room(&mut self, wait: Wait) -> Result<u64, SendError> {
        let Wait::Until(until) = wait else {
            self.endpoint.look_if_due();
            return self.try_claim()?.ok_or(SendError::Full);
        };
        let mut spin = EventSpin::new();
        loop {
            if let Some(position) = self.try_claim()? {
                return Ok(position);
            }
            if self.endpoint.patience.turn(&mut spin) {
                continue;
            }
            let key = self.endpoint.segment.ring.room().prepare(SLEEPER);
            if let Some(position) = self.try_claim()? {
                return Ok(position);
            }
            if self.endpoint.look_if_due() {
                continue;
            }
            if deadline::is_past(until) {
                return Err(SendError::TimedOut);
            }
            let Endpoint {
                segment, patience, ..
            } = &mut self.endpoint;
            patience.sleep(segment.ring.room(), key, until);
        }
    }

    /// Makes the claimed message visible.
    #[inline]
    pub(crate) fn publish(&mut self, position: u64, len: usize) -> Result<(), SendError> {
        self.claimed = None;
        let ring = &self.endpoint.segment.ring;
        let length = ring.memory.length(ring.index(position));
        length.store(len as u64, Ordering::Relaxed);
        match ring.publish(self.endpoint.me, position) {
            Ok(()) => {
                self.endpoint.segment.notify_published(position);
                Ok(())
            }
            Err(Corrupt) => Err(self.found_corrupt()),
        }
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
            Err(Corrupt) => _ = self.found_corrupt(),
        }
    }

    /// Returns where the bytes of the claimed message are.
    pub(crate) fn bytes(&self, position: u64) -> std::ptr::NonNull<u8> {
        let ring = &self.endpoint.segment.ring;
        ring.memory.bytes(ring.index(position))
    }

    pub(crate) fn is_forked(&self) -> bool {
        self.endpoint.is_forked()
    }

    #[cold]
    fn found_corrupt(&mut self) -> SendError {
        self.endpoint.corrupt = true;
        SendError::Corrupt
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("kind", &self.kind())
            .field("path", &self.endpoint.segment.path)
            .finish_non_exhaustive()
    }
}
