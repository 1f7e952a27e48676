//! The sending ends, and their weak forms.

use std::fmt;
use std::time::{Duration, Instant};

use blitz_io_core::deadline;
use blitz_io_observe::{CalledAt, Named, Object};

use super::error::{SendError, SendTimeoutError, TrySendError};
use super::tx::{Tx, WeakTx};
use crate::wait::may_block;

/// The methods that senders of bounded and of unbounded channels share.
macro_rules! sender {
    (
        $(#[$attribute:meta])* $name:ident,
        $(#[$weak_attribute:meta])* $weak:ident
    ) => {
        $(#[$attribute])*
        pub struct $name<T> {
            pub(super) tx: Tx<T>,
        }

        impl<T> $name<T> {
            pub(super) fn new(tx: Tx<T>) -> Self {
                Self { tx }
            }

            /// Waits until the receiver closes the channel or is dropped.
            ///
            /// # Cancel safety
            ///
            /// It may be dropped and called again at any time.
            ///
            /// ```
            /// # pollster::block_on(async {
            /// use blitz_io::sync::mpsc;
            ///
            /// let (tx, rx) = mpsc::channel::<()>(1);
            /// drop(rx);
            /// tx.closed().await;
            ///
            /// let (tx, mut rx) = mpsc::unbounded_channel::<()>();
            /// rx.close();
            /// tx.closed().await;
            /// # });
            /// ```
            #[track_caller]
            pub fn closed(&self) -> impl Future<Output = ()> {
                CalledAt::new(async move {
                    self.tx.closed().await;
                })
            }

            /// Blocks the thread until the receiver closes the channel or is dropped.
            ///
            /// # Panics
            ///
            /// In a task, if the runtime is that of this project: it must not be blocked.
            ///
            /// ```
            /// use blitz_io::sync::mpsc;
            ///
            /// let (tx, rx) = mpsc::channel::<()>(1);
            /// let dropped = std::thread::spawn(move || drop(rx));
            /// tx.blocking_closed();
            /// # dropped.join().unwrap();
            /// ```
            #[track_caller]
            pub fn blocking_closed(&self) {
                let _call = may_block();
                self.tx.closed_until(None);
            }

            /// Waits as [`blocking_closed`](Self::blocking_closed) does, but no longer than `timeout`.
            /// Returns `true` if the receiver has closed the channel or has been dropped.
            ///
            /// # Panics
            ///
            /// In a task, if the runtime is that of this project: it must not be blocked.
            ///
            /// ```
            /// use blitz_io::sync::mpsc;
            /// use std::time::Duration;
            ///
            /// let (tx, rx) = mpsc::unbounded_channel::<()>();
            /// assert!(!tx.blocking_closed_timeout(Duration::from_millis(1)));
            /// drop(rx);
            /// assert!(tx.blocking_closed_timeout(Duration::from_millis(1)));
            /// ```
            #[track_caller]
            pub fn blocking_closed_timeout(&self, timeout: Duration) -> bool {
                let _call = may_block();
                self.tx.closed_until(deadline::after(timeout))
            }

            /// Waits as [`blocking_closed`](Self::blocking_closed) does, but no longer than until
            /// `deadline`. Returns `true` if the receiver has closed the channel or has been dropped.
            ///
            /// # Panics
            ///
            /// In a task, if the runtime is that of this project: it must not be blocked.
            ///
            /// ```
            /// use blitz_io::sync::mpsc;
            /// use std::time::Instant;
            ///
            /// let (tx, rx) = mpsc::channel::<()>(1);
            /// drop(rx);
            /// assert!(tx.blocking_closed_deadline(Instant::now()));
            /// ```
            #[track_caller]
            pub fn blocking_closed_deadline(&self, deadline: Instant) -> bool {
                let _call = may_block();
                self.tx.closed_until(Some(deadline))
            }

            /// Returns `true` if the receiver has closed the channel or has been dropped.
            pub fn is_closed(&self) -> bool {
                self.tx.is_closed()
            }

            /// Returns `true` if both send into the same channel.
            pub fn same_channel(&self, other: &Self) -> bool {
                self.tx.is(&other.tx)
            }

            /// Returns a handle that does not keep the channel open.
            #[must_use = "the weak sender is a new handle, and this one stays as it is"]
            pub fn downgrade(&self) -> $weak<T> {
                let tx = self.tx.downgrade();
                $weak { tx }
            }

            /// Returns how many senders there are.
            pub fn strong_count(&self) -> usize {
                self.tx.strong_count()
            }

            /// Returns how many weak senders there are.
            pub fn weak_count(&self) -> usize {
                self.tx.weak_count()
            }
        }

        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                Self::new(self.tx.clone())
            }
        }

        impl<T> Named for $name<T> {
            fn inspected(&self) -> &Object {
                &self.tx.observed.object
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("chan", &self.tx)
                    .finish()
            }
        }

        $(#[$weak_attribute])*
        pub struct $weak<T> {
            tx: WeakTx<T>,
        }

        impl<T> $weak<T> {
            /// Returns a sender, unless all senders have been dropped.
            pub fn upgrade(&self) -> Option<$name<T>> {
                self.tx.upgrade().map($name::new)
            }

            /// Returns the number of senders.
            pub fn strong_count(&self) -> usize {
                self.tx.0.strong_count()
            }

            /// Returns the number of weak senders.
            pub fn weak_count(&self) -> usize {
                self.tx.0.weak_count()
            }
        }

        impl<T> Clone for $weak<T> {
            fn clone(&self) -> Self {
                let tx = self.tx.clone();
                Self { tx }
            }
        }

        impl<T> fmt::Debug for $weak<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($weak))
            }
        }
    };
}

sender! {
    /// The sending end of a bounded channel, made by [`channel`](super::channel).
    ///
    /// It can be cloned. The channel ends for the receiver when all senders have been dropped.
    Sender,
    /// A [`Sender`] that does not keep the channel open, made by
    /// [`Sender::downgrade`].
    ///
    /// ```
    /// use blitz_io::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel::<u8>(1);
    /// let weak = tx.downgrade();
    /// assert!(weak.upgrade().is_some());
    /// drop(tx);
    /// assert!(weak.upgrade().is_none());
    /// ```
    WeakSender
}

sender! {
    /// The sending end of an unbounded channel, made by
    /// [`unbounded_channel`](super::unbounded_channel).
    ///
    /// It can be cloned. The channel ends for the receiver when all senders have been dropped.
    UnboundedSender,
    /// An [`UnboundedSender`] that does not keep the channel open, made by
    /// [`UnboundedSender::downgrade`].
    ///
    /// ```
    /// use blitz_io::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::unbounded_channel::<u8>();
    /// let weak = tx.downgrade();
    /// assert!(weak.upgrade().is_some());
    /// drop(tx);
    /// assert!(weak.upgrade().is_none());
    /// ```
    WeakUnboundedSender
}

impl<T> Sender<T> {
    /// Sends a value. Waits for room if need be, behind the senders that wait already.
    ///
    /// # Errors
    ///
    /// If the receiver has closed the channel or has been dropped. Success does not mean that the
    /// value will be received: the receiver may be dropped at any time.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is ready, nothing was sent, the value
    /// is lost, and so is the place in the queue. [`reserve`](Self::reserve)
    /// keeps the value out of it.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use blitz_io::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::channel(1);
    /// tx.send("hello").await.unwrap();
    /// assert_eq!(rx.recv().await, Some("hello"));
    /// drop(rx);
    /// assert_eq!(tx.send("again").await.unwrap_err().0, "again");
    /// # });
    /// ```
    #[track_caller]
    pub fn send(&self, value: T) -> impl Future<Output = Result<(), SendError<T>>> {
        CalledAt::new(async move {
            if let Some(claim) = self.tx.claim_in_budget() {
                self.tx.fill(claim, value);
                return Ok(());
            }
            match self.tx.reserve(1).await {
                Ok(()) => {
                    self.tx.send_permitted(value);
                    Ok(())
                }
                Err(_) => {
                    self.tx.refuses(&TrySendError::Closed(()));
                    Err(SendError(value))
                }
            }
        })
    }

    /// Sends a value if there is room and no sender waits for it.
    ///
    /// # Errors
    ///
    /// [`Full`](TrySendError::Full) if there is no room,
    /// [`Closed`](TrySendError::Closed) if the channel is closed. Both give the
    /// value back.
    ///
    /// ```
    /// use blitz_io::sync::mpsc::{self, error::TrySendError};
    ///
    /// let (tx, rx) = mpsc::channel(1);
    /// tx.try_send(1).unwrap();
    /// assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
    /// drop(rx);
    /// assert_eq!(tx.try_send(3), Err(TrySendError::Closed(3)));
    /// ```
    #[inline]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        let sent = self.tx.try_send(message);
        if let Err(refusal) = &sent {
            self.tx.refuses(refusal);
        }
        sent
    }

    /// Sends a value, and blocks this thread until there is room.
    ///
    /// For use outside of asynchronous code: it blocks the thread, and with it
    /// every task that would run there.
    ///
    /// # Errors
    ///
    /// If the channel is closed.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::channel(1);
    /// let sender = std::thread::spawn(move || (1..=3).for_each(|n| tx.blocking_send(n).unwrap()));
    /// let mut sum = 0;
    /// while let Some(n) = rx.blocking_recv() {
    ///     sum += n;
    /// }
    /// assert_eq!(sum, 6);
    /// sender.join().unwrap();
    /// ```
    #[track_caller]
    #[doc(alias = "send_blocking")]
    pub fn blocking_send(&self, value: T) -> Result<(), SendError<T>> {
        let _call = may_block();
        let sent = self.tx.send_blocking(value, || None);
        sent.map_err(|error| SendError(error.into_inner()))
    }

    /// Sends a value, and blocks this thread until there is room, but not for
    /// longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`Timeout`](SendTimeoutError::Timeout) if `timeout` elapses,
    /// [`Closed`](SendTimeoutError::Closed) if the channel is closed. Both give
    /// the value back.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::mpsc::{self, error::SendTimeoutError};
    /// use std::time::Duration;
    ///
    /// let (tx, _rx) = mpsc::channel(1);
    /// tx.blocking_send_timeout(1, Duration::from_millis(1)).unwrap();
    /// assert_eq!(
    ///     tx.blocking_send_timeout(2, Duration::from_millis(1)),
    ///     Err(SendTimeoutError::Timeout(2))
    /// );
    /// ```
    #[track_caller]
    pub fn blocking_send_timeout(
        &self,
        value: T,
        timeout: Duration,
    ) -> Result<(), SendTimeoutError<T>> {
        let _call = may_block();
        self.tx.send_blocking(value, || deadline::after(timeout))
    }

    /// Sends a value, and blocks this thread until there is room, but not for longer than until
    /// `deadline`.
    ///
    /// # Errors
    ///
    /// As [`blocking_send_timeout`](Self::blocking_send_timeout).
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::mpsc;
    /// use std::time::Instant;
    ///
    /// let (tx, _rx) = mpsc::channel(1);
    /// tx.blocking_send_deadline(1, Instant::now()).unwrap(); // there is room
    /// assert!(tx.blocking_send_deadline(2, Instant::now()).unwrap_err().is_timeout());
    /// ```
    #[track_caller]
    #[doc(alias = "send_deadline")]
    pub fn blocking_send_deadline(
        &self,
        value: T,
        deadline: Instant,
    ) -> Result<(), SendTimeoutError<T>> {
        let _call = may_block();
        self.tx.send_blocking(value, || Some(deadline))
    }

    /// Returns for how many more values there is room now. Room that is reserved by permits, or
    /// belongs to waiting senders, does not count.
    ///
    /// ```
    /// use blitz_io::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel(5);
    /// tx.try_send(1).unwrap();
    /// let _permit = tx.try_reserve().unwrap();
    /// assert_eq!((tx.capacity(), tx.max_capacity()), (3, 5));
    /// ```
    pub fn capacity(&self) -> usize {
        self.tx.capacity()
    }

    /// Returns how many values there is room for in an empty channel.
    pub fn max_capacity(&self) -> usize {
        self.tx.max_capacity
    }
}

impl<T> UnboundedSender<T> {
    /// Sends a value. It never waits, so it is for threads and for tasks.
    ///
    /// # Errors
    ///
    /// If the receiver has closed the channel or has been dropped; or if the channel holds
    /// 2^31 - 1 values, the most that it can hold. The error has the value.
    ///
    /// ```
    /// use blitz_io::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::unbounded_channel();
    /// tx.send(7).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(7));
    /// drop(rx);
    /// assert_eq!(tx.send(8).unwrap_err().0, 8);
    /// ```
    #[inline]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        let sent = self.tx.try_send(message);
        if let Err(refusal) = &sent {
            self.tx.refuses(refusal);
        }
        match sent {
            Ok(()) => Ok(()),
            // Full: a queue is never longer than `MAX_VALUES`.
            Err(TrySendError::Closed(message) | TrySendError::Full(message)) => {
                Err(SendError(message))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::mpsc::unbounded_channel;

    #[test]
    fn the_value_that_an_unbounded_channel_has_no_room_for_comes_back() {
        let (tx, mut rx) = unbounded_channel();
        tx.send(1).unwrap();
        let head = tx.tx.set_head_to_hold_most();
        assert_eq!(tx.send(2).unwrap_err().0, 2);
        assert!(!tx.is_closed());
        tx.tx.set_head(head);
        tx.send(3).unwrap();
        drop(tx);
        let received = [rx.try_recv(), rx.try_recv()];
        assert_eq!(received, [Ok(1), Ok(3)]);
        assert!(rx.try_recv().is_err());
    }
}
