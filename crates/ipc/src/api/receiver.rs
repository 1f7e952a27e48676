use std::fmt;
#[cfg(unix)]
use std::io;
use std::time::{Duration, Instant};

#[cfg(unix)]
use blitz_io_observe::Caller;

#[cfg(unix)]
use crate::api::awaited;
#[cfg(unix)]
use crate::api::doorbell::Doorbell;
use crate::api::endpoint::Endpoint;
use crate::api::error::RecvError;
use crate::api::kind::Kind;
use crate::api::message::Message;
use crate::api::ring_receiver::RingReceiver;
use crate::api::settings::Settings;
use crate::kernel::wait::{self, Wait};

/// The receiving end of a [`Route`](crate::Route), [`Channel`](crate::Channel) or
/// [`Queue`](crate::Queue).
///
/// It can be moved to another thread; several threads use several receivers. Dropping it
/// leaves the segment.
///
/// If the process is killed, the other participants notice within a twentieth of a second.
/// Senders then no longer wait for it, and a message that it had taken from a queue goes to
/// another receiver.
pub struct Receiver {
    pub(crate) ring: RingReceiver,
}

impl Receiver {
    pub(crate) fn new(endpoint: Endpoint, history: bool) -> Self {
        Self {
            ring: RingReceiver::new(endpoint, history, false),
        }
    }

    /// Creates an observer of a route or channel.
    pub(crate) fn observer(endpoint: Endpoint, history: bool) -> Self {
        Self {
            ring: RingReceiver::new(endpoint, history, true),
        }
    }

    /// Receives the next message, blocking until there is one.
    ///
    /// # Errors
    ///
    /// [`RecvError::Disconnected`] when every message has been received and every sender
    /// that had joined has left or died. A receiver waits until the first sender has joined:
    ///
    /// * In a queue, the first one of the segment. So a receiver that joins after the last
    ///   sender has left receives what is left, and then gets this error as all others do.
    /// * In a route or channel, the first one that takes part when the receiver joins, or joins
    ///   later. So a receiver that joins after the last sender has left waits for the next one.
    ///
    /// The receiver of a queue also waits while another receiver holds a message, because
    /// it gets that message if the other one dies. So a thread must not wait here while it
    /// keeps a message of the same queue.
    ///
    /// [`RecvError::Lagged`] with [`WhenFull::DropOldest`](crate::WhenFull::DropOldest). [`RecvError::Forked`],
    /// [`RecvError::Corrupt`].
    #[inline]
    #[track_caller]
    pub fn recv(&mut self) -> Result<Message<'_>, RecvError> {
        self.receive(Wait::Forever)
    }

    /// Receives the next message if there is one.
    ///
    /// # Errors
    ///
    /// [`RecvError::Empty`] if there is none; otherwise as [`recv`](Self::recv).
    #[inline]
    pub fn try_recv(&mut self) -> Result<Message<'_>, RecvError> {
        self.receive(Wait::No)
    }

    /// Receives as [`recv`](Self::recv) does, but waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`RecvError::TimedOut`] if there was none until then; otherwise as
    /// [`recv`](Self::recv).
    #[track_caller]
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<Message<'_>, RecvError> {
        self.receive(Wait::after(timeout))
    }

    /// Receives as [`recv`](Self::recv) does, but waits no longer than until `deadline`.
    ///
    /// # Errors
    ///
    /// [`RecvError::TimedOut`] if there was none until then; otherwise as
    /// [`recv`](Self::recv).
    #[track_caller]
    #[doc(alias = "recv_until")]
    pub fn recv_deadline(&mut self, deadline: Instant) -> Result<Message<'_>, RecvError> {
        self.receive(Wait::Until(deadline))
    }

    /// Receives the next message, waiting in the runtime of blitz-io without blocking it.
    ///
    /// The runtime that polls the future wakes it, also if another has awaited this receiver before.
    ///
    /// ```
    /// # #[cfg(any(target_os = "linux", target_os = "android"))]
    /// # {
    /// use blitz_io::ipc::Queue;
    ///
    /// # let runtime = blitz_io::runtime::Builder::new_current_thread().enable_all().build()?;
    /// # runtime.block_on(async {
    /// let jobs = Queue::builder().anonymous()?;
    /// let (mut sender, mut receiver) = (jobs.sender()?, jobs.receiver()?);
    /// let sending = blitz_io::spawn(async move { sender.send_async(b"sweep").await });
    /// assert_eq!(*receiver.recv_async().await?, *b"sweep");
    /// sending.await??;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv), and [`RecvError::Io`] if the descriptor cannot be made or
    /// registered, or the runtime has ended.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in one without I/O, if it has to wait.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped has received nothing.
    #[cfg(all(feature = "async", unix))]
    #[track_caller]
    pub fn recv_async(&mut self) -> impl Future<Output = Result<Message<'_>, RecvError>> {
        let caller = Caller::here();
        async move {
            awaited::in_runtime(&mut self.ring, caller).await?;
            Ok(Message::new(&mut self.ring))
        }
    }

    /// Receives the next message; `readable` waits for the [`doorbell`](Self::doorbell).
    ///
    /// This works in any runtime, as `readable` is that runtime's way to wait for a
    /// descriptor. If that way is edge-triggered, `readable` must also clear the readiness.
    ///
    /// ```
    /// use async_io::Async; // smol's; Tokio has `AsyncFd`
    /// use blitz_io::ipc::Route;
    ///
    /// # pollster::block_on(async {
    /// let route = Route::builder().anonymous()?;
    /// let (mut sender, mut receiver) = (route.sender()?, route.receiver()?);
    /// let doorbell = Async::new_nonblocking(receiver.doorbell()?)?;
    /// std::thread::spawn(move || sender.send(b"awaited"));
    ///
    /// let message = receiver.recv_when(|| doorbell.readable()).await?;
    /// assert_eq!(*message, *b"awaited");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv), and [`RecvError::Io`] if `readable` fails.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped has received nothing.
    #[cfg(unix)]
    #[track_caller]
    pub fn recv_when<F, R>(
        &mut self,
        readable: F,
    ) -> impl Future<Output = Result<Message<'_>, RecvError>>
    where
        F: FnMut() -> R,
        R: Future<Output = io::Result<()>>,
    {
        let caller = Caller::here();
        async move {
            awaited::when(&mut self.ring, readable, caller).await?;
            Ok(Message::new(&mut self.ring))
        }
    }

    /// Receives the next message if there is one. Otherwise makes the
    /// [`doorbell`](Self::doorbell) become readable when this should be called again.
    ///
    /// # Errors
    ///
    /// [`RecvError::Empty`] if there is no message: wait for the doorbell. It may become
    /// readable for no reason. Otherwise as [`recv`](Self::recv), and [`RecvError::Io`] if
    /// there can be no doorbell.
    #[cfg(unix)]
    pub fn try_recv_or_arm(&mut self) -> Result<Message<'_>, RecvError> {
        awaited::attempt_or_arm(&mut self.ring)?.ok_or(RecvError::Empty)?;
        Ok(Message::new(&mut self.ring))
    }

    /// Receives the next message into `buffer` if there is one, and returns its length. Otherwise
    /// makes the [`doorbell`](Self::doorbell) become readable when this should be called again.
    ///
    /// # Errors
    ///
    /// As [`recv_into`](Self::recv_into) and [`try_recv_or_arm`](Self::try_recv_or_arm).
    #[cfg(unix)]
    pub fn try_recv_into_or_arm(&mut self, buffer: &mut [u8]) -> Result<usize, RecvError> {
        awaited::attempt_or_arm(&mut self.ring)?.ok_or(RecvError::Empty)?;
        self.ring.copy_out(buffer)
    }

    /// Receives the next message into `buffer` and returns its length, blocking until there
    /// is one.
    ///
    /// The message is released before this returns. So a queue's message is delivered at
    /// most once like this: if the process dies before it has done the work, no other
    /// receiver gets the message. Keep a [`Message`] until the work is done where that
    /// matters.
    ///
    /// # Errors
    ///
    /// [`RecvError::TooShort`] if it does not fit: the next call receives it again.
    /// Otherwise as [`recv`](Self::recv).
    #[inline]
    #[track_caller]
    pub fn recv_into(&mut self, buffer: &mut [u8]) -> Result<usize, RecvError> {
        self.receive_into(buffer, Wait::Forever)
    }

    /// Receives the next message into `buffer` if there is one, and returns its length.
    ///
    /// # Errors
    ///
    /// As [`recv_into`](Self::recv_into) and [`try_recv`](Self::try_recv).
    #[inline]
    pub fn try_recv_into(&mut self, buffer: &mut [u8]) -> Result<usize, RecvError> {
        self.receive_into(buffer, Wait::No)
    }

    /// Receives as [`recv_into`](Self::recv_into) does, but waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`recv_into`](Self::recv_into) and [`recv_timeout`](Self::recv_timeout).
    #[track_caller]
    pub fn recv_into_timeout(
        &mut self,
        buffer: &mut [u8],
        timeout: Duration,
    ) -> Result<usize, RecvError> {
        self.receive_into(buffer, Wait::after(timeout))
    }

    /// Receives as [`recv_into`](Self::recv_into) does, but waits no longer than until
    /// `deadline`.
    ///
    /// # Errors
    ///
    /// As [`recv_into`](Self::recv_into) and [`recv_deadline`](Self::recv_deadline).
    #[track_caller]
    #[doc(alias = "recv_into_until")]
    pub fn recv_into_deadline(
        &mut self,
        buffer: &mut [u8],
        deadline: Instant,
    ) -> Result<usize, RecvError> {
        self.receive_into(buffer, Wait::Until(deadline))
    }

    /// Receives into `buffer` as [`recv_async`](Self::recv_async) does, and returns the
    /// length.
    ///
    /// # Errors
    ///
    /// As [`recv_into`](Self::recv_into) and [`recv_async`](Self::recv_async).
    ///
    /// # Panics
    ///
    /// Panics as [`recv_async`](Self::recv_async) does.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped has received nothing.
    #[cfg(all(feature = "async", unix))]
    #[track_caller]
    pub fn recv_into_async(
        &mut self,
        buffer: &mut [u8],
    ) -> impl Future<Output = Result<usize, RecvError>> {
        let caller = Caller::here();
        async move {
            awaited::in_runtime(&mut self.ring, caller).await?;
            self.ring.copy_out(buffer)
        }
    }

    /// Returns the descriptor to wait on between calls of
    /// [`try_recv_or_arm`](Self::try_recv_or_arm).
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

    /// Returns the position of the next message for this receiver of a route or channel: see
    /// [`Message::position`].
    pub fn next_position(&self) -> u64 {
        self.ring.next_position()
    }

    /// Returns how many places without a message this receiver of a route or channel has
    /// passed: their senders gave up or died. Positions that it misses for another reason
    /// were overwritten.
    pub fn skipped(&self) -> u64 {
        self.ring.skipped()
    }

    fn settings(&self) -> &Settings {
        &self.ring.endpoint.segment.settings
    }

    #[inline]
    #[track_caller]
    fn receive(&mut self, wait: Wait) -> Result<Message<'_>, RecvError> {
        wait::block(&mut self.ring, wait)?;
        Ok(Message::new(&mut self.ring))
    }

    #[inline]
    #[track_caller]
    fn receive_into(&mut self, buffer: &mut [u8], wait: Wait) -> Result<usize, RecvError> {
        wait::block(&mut self.ring, wait)?;
        self.ring.copy_out(buffer)
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("kind", &self.kind())
            .field("path", &self.ring.endpoint.segment.path)
            .finish_non_exhaustive()
    }
}
