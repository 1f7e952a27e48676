//! The end that sends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use blitz_io_core::coop;
use blitz_io_core::deadline::after;
use blitz_io_futex::atomic::Ordering;
use blitz_io_observe::named;
use blitz_io_observe::{Caller, Kind};

use super::chan::Channel;
use super::error::{SendError, SendTimeoutError, TrySendError};
use super::futures::{Closed, Send};
use blitz_io_core::debug_fields;

/// The end that sends. Clones of it send into the same channel.
///
/// The channel is closed when the last one is dropped.
pub struct Sender<T> {
    pub(super) channel: Arc<Channel<T>>,
}

impl<T> Sender<T> {
    pub(super) fn new(channel: Arc<Channel<T>>) -> Self {
        Self { channel }
    }

    /// Sends a value; waits until there is room, or, in a channel without a buffer,
    /// until a receiver takes it.
    ///
    /// **Cancel safety.** When the future is dropped before it is done, the value
    /// is dropped with it, and was not sent.
    ///
    /// # Errors
    ///
    /// If the channel is closed, now or while waiting. The value comes back.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use blitz_io::sync::mpmc::{self, SendError};
    ///
    /// let (sender, receiver) = mpmc::bounded(1);
    /// sender.send("first").await?;
    /// drop(receiver);
    /// assert_eq!(sender.send("second").await, Err(SendError("second")));
    /// # Ok::<(), SendError<&str>>(()) }).unwrap();
    /// ```
    #[inline]
    #[track_caller]
    pub fn send(&self, value: T) -> Send<'_, T> {
        Send::new(&self.channel, Some(value))
    }

    /// Sends a value; the thread waits until there is room, or, in a channel without
    /// a buffer, until a receiver takes it.
    ///
    /// # Errors
    ///
    /// If the channel is closed, now or while waiting. The value comes back.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// let (sender, receiver) = blitz_io::sync::mpmc::unbounded();
    /// sender.blocking_send(1)?;
    /// assert_eq!(receiver.blocking_recv(), Ok(1));
    /// # Ok::<(), blitz_io::sync::mpmc::SendError<i32>>(())
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias = "send_blocking")]
    pub fn blocking_send(&self, value: T) -> Result<(), SendError<T>> {
        coop::assert_may_block();
        self.channel
            .send_until(value, None)
            .map_err(|error| SendError(error.into_inner()))
    }

    /// The name of [`blocking_send`](Sender::blocking_send) in async-channel.
    ///
    /// # Errors
    ///
    /// As [`blocking_send`](Sender::blocking_send).
    #[inline]
    #[track_caller]
    #[deprecated(note = "use `blocking_send`")]
    pub fn send_blocking(&self, value: T) -> Result<(), SendError<T>> {
        self.blocking_send(value)
    }

    /// Sends a value if that is possible at once.
    ///
    /// # Errors
    ///
    /// If there is no room, or, in a channel without a buffer, no receiver that
    /// waits; or if the channel is closed. The value comes back.
    ///
    /// ```
    /// use blitz_io::sync::mpmc::{self, TrySendError};
    ///
    /// let (sender, receiver) = mpmc::bounded(1);
    /// assert_eq!(sender.try_send(1), Ok(()));
    /// assert_eq!(sender.try_send(2), Err(TrySendError::Full(2)));
    /// drop(receiver);
    /// assert_eq!(sender.try_send(3), Err(TrySendError::Closed(3)));
    /// ```
    #[inline]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        let sent = self.channel.try_send(value);
        match &sent {
            Ok(()) => self.channel.sends(),
            Err(TrySendError::Full(_)) => self.channel.refuses(Kind::MpmcSend, "full"),
            Err(TrySendError::Closed(_)) => self.channel.refuses(Kind::MpmcSend, "closed"),
        }
        sent
    }

    /// Sends as [`blocking_send`](Sender::blocking_send) does, but waits no longer than `timeout`.
    ///
    /// For threads. A task awaits [`send`](Sender::send) in a `timeout` of its runtime.
    ///
    /// # Errors
    ///
    /// If `timeout` elapses, or the channel is closed. The error returns the value.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::mpmc::{self, SendTimeoutError};
    /// use std::time::Duration;
    ///
    /// let (sender, _receiver) = mpmc::bounded(1);
    /// let soon = Duration::from_millis(1);
    /// assert_eq!(sender.blocking_send_timeout(7, soon), Ok(()));
    /// assert_eq!(sender.blocking_send_timeout(8, soon), Err(SendTimeoutError::Timeout(8)));
    /// ```
    #[track_caller]
    pub fn blocking_send_timeout(
        &self,
        value: T,
        timeout: Duration,
    ) -> Result<(), SendTimeoutError<T>> {
        coop::assert_may_block();
        let sent = self.channel.send_until(value, after(timeout));
        sent.map_err(SendTimeoutError::after)
    }

    /// Sends as [`blocking_send`](Sender::blocking_send) does, but waits no longer than until
    /// `deadline`.
    ///
    /// # Errors
    ///
    /// If the deadline passes, or the channel is closed. The error returns the value.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::mpmc;
    /// use std::time::Instant;
    ///
    /// let (sender, _receiver) = mpmc::bounded(1);
    /// assert_eq!(sender.blocking_send_deadline(7, Instant::now()), Ok(())); // there is room
    /// ```
    #[track_caller]
    pub fn blocking_send_deadline(
        &self,
        value: T,
        deadline: Instant,
    ) -> Result<(), SendTimeoutError<T>> {
        coop::assert_may_block();
        let sent = self.channel.send_until(value, Some(deadline));
        sent.map_err(SendTimeoutError::after)
    }

    /// The name of [`blocking_send_timeout`](Sender::blocking_send_timeout) in crossbeam-channel. That
    /// of [`mpsc`](crate::mpsc), which is Tokio's, is async.
    ///
    /// # Errors
    ///
    /// As [`blocking_send_timeout`](Sender::blocking_send_timeout).
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    #[track_caller]
    #[deprecated(
        note = "blocks the thread: use `blocking_send_timeout`, and in a task `time::timeout(timeout, sender.send(value))`"
    )]
    pub fn send_timeout(&self, value: T, timeout: Duration) -> Result<(), SendTimeoutError<T>> {
        self.blocking_send_timeout(value, timeout)
    }

    /// The name of [`blocking_send_deadline`](Sender::blocking_send_deadline) in crossbeam-channel.
    ///
    /// # Errors
    ///
    /// As [`blocking_send_deadline`](Sender::blocking_send_deadline).
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    #[track_caller]
    #[deprecated(
        note = "blocks the thread: use `blocking_send_deadline`, and in a task `time::timeout_at(deadline, sender.send(value))`"
    )]
    pub fn send_deadline(&self, value: T, deadline: Instant) -> Result<(), SendTimeoutError<T>> {
        self.blocking_send_deadline(value, deadline)
    }

    /// Sends a value without waiting. If there is no room, the oldest value in the
    /// channel has to go, and is returned; in a channel without a buffer, where
    /// no receiver waits, the value itself.
    ///
    /// # Errors
    ///
    /// If the channel is closed. The value comes back.
    ///
    /// ```
    /// let (sender, receiver) = blitz_io::sync::mpmc::bounded(1);
    /// assert_eq!(sender.force_send(1), Ok(None));
    /// assert_eq!(sender.force_send(2), Ok(Some(1)));
    /// assert_eq!(receiver.try_recv(), Ok(2));
    /// ```
    pub fn force_send(&self, value: T) -> Result<Option<T>, SendError<T>> {
        self.channel.force_send(value)
    }

    /// Waits until the channel is closed.
    ///
    /// **Cancel safety.** The future may be dropped at any time.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// let (sender, receiver) = blitz_io::sync::mpmc::bounded::<()>(1);
    /// drop(receiver);
    /// sender.closed().await;
    /// # });
    /// ```
    #[track_caller]
    pub fn closed(&self) -> Closed<'_, T> {
        Closed::new(&self.channel, None)
    }

    /// Blocks the thread until the channel is closed.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// let (sender, receiver) = blitz_io::sync::mpmc::bounded::<()>(1);
    /// drop(receiver);
    /// sender.blocking_closed();
    /// ```
    #[track_caller]
    pub fn blocking_closed(&self) {
        coop::assert_may_block();
        self.channel.closed_until(None, Caller::here());
    }

    /// Blocks the thread until the channel is closed, but no longer than `timeout`. Returns `true` if it
    /// is closed.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let (sender, receiver) = blitz_io::sync::mpmc::bounded::<()>(1);
    /// assert!(!sender.blocking_closed_timeout(Duration::from_millis(1)));
    /// drop(receiver);
    /// assert!(sender.blocking_closed_timeout(Duration::from_millis(1)));
    /// ```
    #[track_caller]
    pub fn blocking_closed_timeout(&self, timeout: Duration) -> bool {
        coop::assert_may_block();
        self.channel.closed_until(after(timeout), Caller::here())
    }

    /// Blocks the thread until the channel is closed, but no longer than until `deadline`. Returns `true`
    /// if it is closed.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use std::time::Instant;
    ///
    /// let (sender, receiver) = blitz_io::sync::mpmc::bounded::<()>(1);
    /// drop(receiver);
    /// assert!(sender.blocking_closed_deadline(Instant::now()));
    /// ```
    #[track_caller]
    pub fn blocking_closed_deadline(&self, deadline: Instant) -> bool {
        coop::assert_may_block();
        self.channel.closed_until(Some(deadline), Caller::here())
    }
}

/// The methods that both ends share.
macro_rules! shared_by_both_ends {
    ($end:ident, $count:ident) => {
        impl<T> $end<T> {
            /// Closes the channel: sending fails from now on, and all waiters are woken.
            /// Receivers still get the remaining values. Returns `false` if it was closed before.
            ///
            /// ```
            /// use blitz_io::sync::mpmc::{self, TryRecvError};
            ///
            /// let (sender, receiver) = mpmc::unbounded();
            /// sender.try_send(1).unwrap();
            /// assert!(receiver.close());
            /// assert!(!sender.close());
            /// assert!(sender.try_send(2).is_err());
            /// assert_eq!(receiver.try_recv(), Ok(1));
            /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
            /// ```
            pub fn close(&self) -> bool {
                self.channel.close()
            }

            /// Returns `true` if the channel is closed.
            #[must_use]
            pub fn is_closed(&self) -> bool {
                self.channel.is_closed()
            }

            /// Returns `true` if there is no value in the channel. One without a
            /// buffer is always empty.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.channel.len() == 0
            }

            /// Returns `true` if there is no room in the channel. One without a buffer
            /// is always full.
            #[must_use]
            pub fn is_full(&self) -> bool {
                self.channel.is_full()
            }

            /// Returns how many values are in the channel.
            #[must_use]
            pub fn len(&self) -> usize {
                self.channel.len()
            }

            /// Returns how many values there is room for. `None` if there is no
            /// limit.
            #[must_use]
            pub fn capacity(&self) -> Option<usize> {
                self.channel.capacity()
            }

            /// Returns how many senders there are.
            #[must_use]
            pub fn sender_count(&self) -> usize {
                self.channel.senders.load(Ordering::SeqCst)
            }

            /// Returns how many receivers there are.
            #[must_use]
            pub fn receiver_count(&self) -> usize {
                self.channel.receivers.load(Ordering::SeqCst)
            }

            /// Returns `true` if both are ends of the same channel.
            #[must_use]
            pub fn same_channel(&self, other: &Self) -> bool {
                Arc::ptr_eq(&self.channel, &other.channel)
            }
        }

        impl<T> Clone for $end<T> {
            fn clone(&self) -> Self {
                self.channel.$count.fetch_add(1, Ordering::Relaxed);
                Self::new(self.channel.clone())
            }
        }

        debug_fields!(impl<T> $end<T>, |this| {
            capacity: this.capacity(),
            len: this.len(),
            senders: this.sender_count(),
            receivers: this.receiver_count(),
            closed: this.is_closed(),
            ..
        });
    };
}

pub(super) use shared_by_both_ends;

shared_by_both_ends!(Sender, senders);

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.channel.drop_sender();
    }
}

named!(Sender<T>: channel.object);
