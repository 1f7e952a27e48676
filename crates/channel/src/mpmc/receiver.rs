//! The end that receives.

use std::sync::Arc;
use std::time::{Duration, Instant};

use blitz_io_core::coop;
use blitz_io_core::deadline::after;
use blitz_io_futex::atomic::Ordering;
use blitz_io_observe::Kind;
use blitz_io_observe::named;

use super::chan::Channel;
use super::error::{RecvError, RecvTimeoutError, TryRecvError};
use super::futures::Recv;
use super::sender::shared_by_both_ends;
use blitz_io_core::debug_fields;

/// The end that receives. Clones of it receive from the same channel; each value
/// goes to one of them.
///
/// The channel is closed when the last one is dropped, and the values in it are
/// dropped too.
pub struct Receiver<T> {
    pub(super) channel: Arc<Channel<T>>,
    /// The waiter of a stream. It is made when the stream has to wait for the first
    /// time.
    #[cfg(feature = "stream")]
    pub(super) stream: Option<std::pin::Pin<Box<super::waiter::Waiter<T>>>>,
}

impl<T> Receiver<T> {
    pub(super) fn new(channel: Arc<Channel<T>>) -> Self {
        Self {
            channel,
            #[cfg(feature = "stream")]
            stream: None,
        }
    }

    /// Receives a value; waits until there is one.
    ///
    /// **Cancel safety.** No value is lost when the future is dropped before it is
    /// done: one that it has been given already goes to the next receiver.
    ///
    /// A future that is kept without being polled keeps its place in the queue and the
    /// value that was assigned to it. Users of async-channel expect that others get the
    /// value.
    ///
    /// # Errors
    ///
    /// If the channel is empty and closed.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use blitz_io::sync::mpmc::{self, RecvError};
    ///
    /// let (sender, receiver) = mpmc::bounded(1);
    /// sender.send(1).await.unwrap();
    /// drop(sender);
    /// assert_eq!(receiver.recv().await, Ok(1));
    /// assert_eq!(receiver.recv().await, Err(RecvError));
    /// # });
    /// ```
    #[inline]
    #[track_caller]
    pub fn recv(&self) -> Recv<'_, T> {
        Recv::new(&self.channel, None)
    }

    /// Receives a value; the thread waits until there is one.
    ///
    /// # Errors
    ///
    /// If the channel is empty and closed.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// let (sender, receiver) = blitz_io::sync::mpmc::bounded(0);
    /// let thread = std::thread::spawn(move || sender.blocking_send(1));
    /// assert_eq!(receiver.blocking_recv(), Ok(1));
    /// # thread.join().unwrap().unwrap();
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias = "recv_blocking")]
    pub fn blocking_recv(&self) -> Result<T, RecvError> {
        coop::assert_may_block();
        self.channel.recv_until(None).map_err(|_| RecvError)
    }

    /// The name of [`blocking_recv`](Receiver::blocking_recv) in async-channel.
    ///
    /// # Errors
    ///
    /// As [`blocking_recv`](Receiver::blocking_recv).
    #[inline]
    #[track_caller]
    #[deprecated(note = "use `blocking_recv`")]
    pub fn recv_blocking(&self) -> Result<T, RecvError> {
        self.blocking_recv()
    }

    /// Receives a value if that is possible at once.
    ///
    /// # Errors
    ///
    /// If the channel is empty, or empty and closed.
    ///
    /// ```
    /// use blitz_io::sync::mpmc::{self, TryRecvError};
    ///
    /// let (sender, receiver) = mpmc::unbounded();
    /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    /// sender.try_send(1).unwrap();
    /// assert_eq!(receiver.try_recv(), Ok(1));
    /// drop(sender);
    /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
    /// ```
    #[inline]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let received = self.channel.try_recv();
        match &received {
            Ok(_) => self.channel.receives(),
            Err(TryRecvError::Empty) => self.channel.refuses(Kind::MpmcReceive, "empty"),
            Err(TryRecvError::Closed) => self.channel.refuses(Kind::MpmcReceive, "closed"),
        }
        received
    }

    /// Receives as [`blocking_recv`](Receiver::blocking_recv) does, but waits no longer than `timeout`.
    ///
    /// For threads. A task awaits [`recv`](Receiver::recv) in a `timeout` of its runtime.
    ///
    /// # Errors
    ///
    /// If `timeout` elapses, or the channel is empty and closed.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::mpmc::{self, RecvTimeoutError};
    /// use std::time::Duration;
    ///
    /// let (sender, receiver) = mpmc::unbounded();
    /// let soon = Duration::from_millis(1);
    /// assert_eq!(receiver.blocking_recv_timeout(soon), Err(RecvTimeoutError::Timeout));
    /// sender.try_send(7).unwrap();
    /// assert_eq!(receiver.blocking_recv_timeout(soon), Ok(7));
    /// ```
    #[track_caller]
    pub fn blocking_recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        coop::assert_may_block();
        let received = self.channel.recv_until(after(timeout));
        received.map_err(RecvTimeoutError::after)
    }

    /// Receives as [`blocking_recv`](Receiver::blocking_recv) does, but waits no longer than until
    /// `deadline`.
    ///
    /// # Errors
    ///
    /// If the deadline passes, or the channel is empty and closed.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::mpmc::{self, RecvTimeoutError};
    /// use std::time::Instant;
    ///
    /// let (_sender, receiver) = mpmc::unbounded::<()>();
    /// let received = receiver.blocking_recv_deadline(Instant::now());
    /// assert_eq!(received, Err(RecvTimeoutError::Timeout));
    /// ```
    #[track_caller]
    pub fn blocking_recv_deadline(&self, deadline: Instant) -> Result<T, RecvTimeoutError> {
        coop::assert_may_block();
        let received = self.channel.recv_until(Some(deadline));
        received.map_err(RecvTimeoutError::after)
    }

    /// The name of [`blocking_recv_timeout`](Receiver::blocking_recv_timeout) in crossbeam-channel.
    ///
    /// # Errors
    ///
    /// As [`blocking_recv_timeout`](Receiver::blocking_recv_timeout).
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    #[track_caller]
    #[deprecated(
        note = "blocks the thread: use `blocking_recv_timeout`, and in a task `time::timeout(timeout, receiver.recv())`"
    )]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        self.blocking_recv_timeout(timeout)
    }

    /// The name of [`blocking_recv_deadline`](Receiver::blocking_recv_deadline) in crossbeam-channel.
    ///
    /// # Errors
    ///
    /// As [`blocking_recv_deadline`](Receiver::blocking_recv_deadline).
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    #[track_caller]
    #[deprecated(
        note = "blocks the thread: use `blocking_recv_deadline`, and in a task `time::timeout_at(deadline, receiver.recv())`"
    )]
    pub fn recv_deadline(&self, deadline: Instant) -> Result<T, RecvTimeoutError> {
        self.blocking_recv_deadline(deadline)
    }
}

shared_by_both_ends!(Receiver, receivers);

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        #[cfg(feature = "stream")]
        if let Some(waiter) = self.stream.take() {
            self.channel.cancel(&waiter, super::request::Queue::Streams);
        }
        self.channel.drop_receiver();
    }
}

named!(Receiver<T>: channel.object);
