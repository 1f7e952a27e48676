use std::fmt;
#[cfg(unix)]
use std::io;
use std::time::{Duration, Instant};

#[cfg(all(feature = "async", unix))]
use blitz_io_observe::Caller;

#[cfg(all(feature = "async", unix))]
use crate::api::awaited;
#[cfg(unix)]
use crate::api::doorbell::Doorbell;
use crate::api::drain::Drain;
use crate::api::endpoint::Endpoint;
use crate::api::error::{SendError, WaitError};
use crate::api::fingerprint::Fingerprint;
use crate::api::kind::Kind;
use crate::api::loan::Loan;
use crate::api::ring_sender::RingSender;
use crate::api::send_with::{SendOptions, SendWith};
use crate::api::settings::Settings;
use crate::kernel::ring::{Delivery, MessageState};
use crate::kernel::wait::{self, Wait};

/// The sending end of a [`Route`](crate::Route), [`Channel`](crate::Channel) or
/// [`Queue`](crate::Queue).
///
/// It can be moved to another thread; several threads use several senders. Dropping it
/// leaves the segment. If the process is killed while it sends, its message is absent, and
/// the other participants notice within a twentieth of a second.
///
/// A sender that leaves as the last participant takes the segment with it, and the messages that
/// no receiver has taken: see [`drained`](Self::drained).
pub struct Sender {
    pub(crate) ring: RingSender,
}

impl Sender {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self {
            ring: RingSender::new(endpoint),
        }
    }

    /// Sends a copy of `message`. When the ring is full, follows the segment's [`WhenFull`](crate::WhenFull)
    /// policy; by default it blocks until there is room.
    ///
    /// With [`WhenFull::DropOldest`](crate::WhenFull::DropOldest) it still waits while another participant uses the
    /// oldest message: a sender that writes it, or a receiver of a queue that has taken it.
    ///
    /// After this the message is in the segment, which keeps it as long as there is a
    /// participant. No receiver need have taken it: see [`drained`](Self::drained).
    ///
    /// # Errors
    ///
    /// [`SendError::TooLong`], [`SendError::Forked`], [`SendError::Corrupt`], and
    /// [`SendError::Full`] with [`WhenFull::Fail`](crate::WhenFull::Fail).
    #[inline]
    #[track_caller]
    pub fn send(&mut self, message: &[u8]) -> Result<(), SendError> {
        self.ring.send(message, Fingerprint::UNKNOWN, Wait::Forever)
    }

    /// Sends a copy of `message` if there is room.
    ///
    /// # Errors
    ///
    /// [`SendError::Full`] if there is none; otherwise as [`send`](Self::send).
    #[inline]
    pub fn try_send(&mut self, message: &[u8]) -> Result<(), SendError> {
        self.ring.send(message, Fingerprint::UNKNOWN, Wait::No)
    }

    /// Sends as [`send`](Self::send) does, but waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`SendError::TimedOut`] if there was no room until then; otherwise as
    /// [`send`](Self::send).
    #[track_caller]
    pub fn send_timeout(&mut self, message: &[u8], timeout: Duration) -> Result<(), SendError> {
        self.ring
            .send(message, Fingerprint::UNKNOWN, Wait::after(timeout))
    }

    /// Sends a copy of `message` when there is room, waiting in the runtime of blitz-io
    /// without blocking it. See [`Receiver::recv_async`](crate::Receiver::recv_async).
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send), and [`SendError::Io`] if the descriptor cannot be made or
    /// registered, or the runtime has ended.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in one without I/O, if it has to wait.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped before it is ready has sent nothing.
    #[cfg(all(feature = "async", unix))]
    #[track_caller]
    pub fn send_async(&mut self, message: &[u8]) -> impl Future<Output = Result<(), SendError>> {
        self.send_async_as(message, Fingerprint::UNKNOWN)
    }

    /// Sends as [`send_async`](Self::send_async) does a value of the type with this fingerprint.
    #[cfg(all(feature = "async", unix))]
    #[track_caller]
    pub(crate) fn send_async_as(
        &mut self,
        message: &[u8],
        fingerprint: Fingerprint,
    ) -> impl Future<Output = Result<(), SendError>> {
        let caller = Caller::here();
        async move {
            let position = self.ring.claim_in_runtime(message.len(), caller).await?;
            self.ring.write_and_publish(position, message, fingerprint)
        }
    }

    /// Returns this sender with options: how long it waits for room, and for what.
    ///
    /// ```
    /// # if blitz_io::ipc::is_supported() {
    /// use blitz_io::ipc::{Route, SendError, SendOptions};
    /// use std::time::Instant;
    /// # let name = &format!("with-doc-{}", std::process::id());
    /// # let _ = r#"
    /// let name = "frames";
    /// # "#;
    /// let frames = Route::builder().capacity(1);
    /// let (mut camera, _screen) = (frames.sender(name)?, frames.receiver(name)?);
    /// camera.send(b"first")?;
    /// let now = SendOptions::new().deadline(Instant::now());
    /// assert_eq!(camera.with(now).send(b"second"), Err(SendError::TimedOut));
    /// assert!(camera.with(SendOptions::new().no_wait()).loan(10).is_err());
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with(&mut self, options: SendOptions) -> SendWith<'_> {
        SendWith::new(self, options)
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
    /// * with [`WhenFull::DropOldest`](crate::WhenFull::DropOldest),
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
    #[track_caller]
    pub fn loan(&mut self, len: usize) -> Result<Loan<'_>, SendError> {
        self.lend(len, Wait::Forever)
    }

    /// Claims the place of the next message, as [`loan`](Self::loan) does, when there is
    /// room. Waits as [`send_async`](Self::send_async) does.
    ///
    /// # Errors
    ///
    /// As [`send_async`](Self::send_async).
    ///
    /// # Panics
    ///
    /// Panics as [`send_async`](Self::send_async) does.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped before it is ready has claimed no place.
    #[cfg(all(feature = "async", unix))]
    #[track_caller]
    pub fn loan_async(&mut self, len: usize) -> impl Future<Output = Result<Loan<'_>, SendError>> {
        let caller = Caller::here();
        async move {
            let position = self.ring.claim_in_runtime(len, caller).await?;
            Ok(Loan::new(&mut self.ring, position, len))
        }
    }

    /// Returns the descriptor to wait on between attempts with [`SendOptions::arm`].
    ///
    /// # Errors
    ///
    /// Returns the system's error, for example when there are too many descriptors.
    #[cfg(unix)]
    pub fn doorbell(&mut self) -> io::Result<Doorbell> {
        self.ring.endpoint.doorbell().cloned()
    }

    /// Returns the length of the longest message, in bytes.
    pub fn max_len(&self) -> usize {
        self.settings().max_len
    }

    /// Returns how many messages the ring holds.
    pub fn capacity(&self) -> usize {
        self.settings().capacity
    }

    /// Returns how messages find their receivers.
    pub fn kind(&self) -> Kind {
        self.settings().kind
    }

    /// Returns a random number that tells this segment from earlier and later ones with the
    /// same name.
    pub fn segment_id(&self) -> u64 {
        self.ring.endpoint.segment.id()
    }

    /// Returns the state of the message at `position`, of any sender.
    ///
    /// ```
    /// # if blitz_io::ipc::is_supported() {
    /// use blitz_io::ipc::{MessageState, Queue};
    /// # let name = &format!("state-doc-{}", std::process::id());
    /// # let _ = r#"
    /// let name = "jobs";
    /// # "#;
    /// let (mut sender, mut worker) = (Queue::sender(name)?, Queue::receiver(name)?);
    /// sender.send(b"sweep")?;
    /// let job = worker.recv()?;
    /// let position = job.position();
    /// assert_eq!(sender.message_state(position), MessageState::Sent);
    /// drop(job);
    /// assert_eq!(sender.message_state(position), MessageState::Consumed);
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn message_state(&self, position: u64) -> MessageState {
        self.ring.endpoint.segment.ring.state(position)
    }

    /// Blocks until receivers have consumed every message of a queue that was sent before this
    /// call, by any sender. If there is no receiver, it waits for one.
    ///
    /// Messages that no receiver has consumed are lost when the last participant leaves the
    /// segment. So a sender that may be the last one calls this before it is dropped.
    ///
    /// ```
    /// # if blitz_io::ipc::is_supported() {
    /// use blitz_io::ipc::{Queue, WaitError};
    /// use std::time::Duration;
    /// # let name = &format!("drained-doc-{}", std::process::id());
    /// # let _ = r#"
    /// let name = "jobs";
    /// # "#;
    /// let (mut sender, mut worker) = (Queue::sender(name)?, Queue::receiver(name)?);
    /// sender.send(b"sweep")?;
    /// let job = worker.recv()?;
    /// let soon = Duration::from_millis(1);
    /// assert_eq!(sender.drained_timeout(soon), Err(WaitError::TimedOut));
    /// drop(job);
    /// assert_eq!(sender.drained(), Ok(()));
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`WaitError::Forked`] and [`WaitError::Corrupt`].
    ///
    /// # Panics
    ///
    /// Panics in a route or channel, whose receivers consume no message.
    #[track_caller]
    pub fn drained(&mut self) -> Result<(), WaitError> {
        wait::block(&mut self.drain(), Wait::Forever)
    }

    /// Waits as [`drained`](Self::drained) does, but no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`WaitError::TimedOut`] if a message was left then; otherwise as
    /// [`drained`](Self::drained).
    ///
    /// # Panics
    ///
    /// Panics as [`drained`](Self::drained) does.
    #[track_caller]
    pub fn drained_timeout(&mut self, timeout: Duration) -> Result<(), WaitError> {
        wait::block(&mut self.drain(), Wait::after(timeout))
    }

    /// Waits as [`drained`](Self::drained) does, but no longer than until `deadline`.
    ///
    /// # Errors
    ///
    /// As [`drained_timeout`](Self::drained_timeout).
    ///
    /// # Panics
    ///
    /// Panics as [`drained`](Self::drained) does.
    #[track_caller]
    #[doc(alias = "drained_until")]
    pub fn drained_deadline(&mut self, deadline: Instant) -> Result<(), WaitError> {
        wait::block(&mut self.drain(), Wait::Until(deadline))
    }

    /// Waits as [`drained`](Self::drained) does, in the runtime of blitz-io without blocking it.
    ///
    /// # Errors
    ///
    /// As [`drained`](Self::drained), and [`WaitError::Io`] if the descriptor cannot be made or
    /// registered, or the runtime has ended.
    ///
    /// # Panics
    ///
    /// Panics as [`drained`](Self::drained) and [`send_async`](Self::send_async) do.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped has changed nothing.
    #[cfg(all(feature = "async", unix))]
    #[track_caller]
    pub fn drained_async(&mut self) -> impl Future<Output = Result<(), WaitError>> {
        let caller = Caller::here();
        async move { awaited::in_runtime(&mut self.drain(), caller).await }
    }

    fn drain(&mut self) -> Drain<'_> {
        let is_queue = self.kind().delivery() == Delivery::One;
        assert!(is_queue, "only a queue's receivers consume messages");
        Drain::new(&mut self.ring.endpoint)
    }

    fn settings(&self) -> &Settings {
        &self.ring.endpoint.segment.settings
    }

    #[track_caller]
    pub(crate) fn lend(&mut self, len: usize, wait: Wait) -> Result<Loan<'_>, SendError> {
        let position = self.ring.claim(len, wait)?;
        Ok(Loan::new(&mut self.ring, position, len))
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("kind", &self.kind())
            .field("path", &self.ring.endpoint.segment.path)
            .finish_non_exhaustive()
    }
}
