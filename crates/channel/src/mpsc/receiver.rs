//! `Receiver` and `UnboundedReceiver`: the receiving ends.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use blitz_io_core::deadline;
use blitz_io_observe::{CalledAt, Named, Object};

use super::error::{RecvTimeoutError, TryRecvError};
use super::rx::Rx;
use crate::wait::may_block;

/// A future that receives. The record of its wait is the channel's.
struct Receives<'a, T>(&'a mut Rx<T>);

impl<T> Drop for Receives<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.future_dropped();
    }
}

/// The methods that receivers of bounded and of unbounded channels share.
macro_rules! receiver {
    ($(#[$attribute:meta])* $name:ident, $text:literal) => {
        $(#[$attribute])*
        pub struct $name<T> {
            rx: Rx<T>,
        }

        impl<T> $name<T> {
            pub(super) fn new(rx: Rx<T>) -> Self {
                Self { rx }
            }

            /// Receives the next value. `None` if there is none and there will be none: all
            /// senders have been dropped, or the channel was [closed](Self::close), and all
            /// values have been received.
            ///
            /// # Cancel safety
            ///
            /// If the future is dropped before it is ready, no value is lost.
            ///
            /// ```
            /// # pollster::block_on(async {
            /// use blitz_io::sync::mpsc;
            ///
            /// let (tx, mut rx) = mpsc::unbounded_channel();
            /// tx.send("hello").unwrap();
            /// drop(tx);
            /// assert_eq!(rx.recv().await, Some("hello"));
            /// assert_eq!(rx.recv().await, None);
            /// # });
            /// ```
            #[track_caller]
            pub fn recv(&mut self) -> impl Future<Output = Option<T>> {
                CalledAt::new(async move {
                    let receives = Receives(&mut self.rx);
                    poll_fn(|cx| receives.0.poll(cx)).await
                })
            }

            /// Receives as many values as there are, up to `limit`, at the end of
            /// `buffer`; waits for the first one. Returns how many there were: 0 if
            /// there will be none, or if `limit` is 0.
            ///
            /// # Cancel safety
            ///
            /// If the future is dropped before it is ready, no value is lost.
            ///
            /// ```
            /// # pollster::block_on(async {
            /// use blitz_io::sync::mpsc;
            ///
            /// let (tx, mut rx) = mpsc::unbounded_channel();
            /// (1..=3).for_each(|n| tx.send(n).unwrap());
            /// let mut numbers = Vec::new();
            /// assert_eq!(rx.recv_many(&mut numbers, 2).await, 2);
            /// assert_eq!(rx.recv_many(&mut numbers, 2).await, 1);
            /// assert_eq!(numbers, [1, 2, 3]);
            /// # });
            /// ```
            #[track_caller]
            pub fn recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> impl Future<Output = usize> {
                CalledAt::new(async move {
                    let receives = Receives(&mut self.rx);
                    poll_fn(|cx| receives.0.poll_many(cx, buffer, limit)).await
                })
            }

            /// Receives the next value if there is one. Waits a moment for a value that is just
            /// being sent.
            ///
            /// # Errors
            ///
            /// [`Empty`](TryRecvError::Empty) if there is none now,
            /// [`Disconnected`](TryRecvError::Disconnected) if there will be none.
            ///
            /// ```
            /// use blitz_io::sync::mpsc::{self, error::TryRecvError};
            ///
            /// let (tx, mut rx) = mpsc::unbounded_channel();
            /// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
            /// tx.send(7).unwrap();
            /// assert_eq!(rx.try_recv(), Ok(7));
            /// drop(tx);
            /// assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
            /// ```
            #[inline]
            pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
                self.rx.try_receive()
            }

            /// Receives the next value, and blocks this thread until it comes. `None` as for
            /// [`recv`](Self::recv).
            ///
            /// For use outside of asynchronous code: it blocks the thread, and
            /// with it every task that would run there.
            ///
            /// # Panics
            ///
            /// In a task, if the runtime is that of this project: it must not be blocked.
            ///
            /// ```
            /// use blitz_io::sync::mpsc;
            ///
            /// let (tx, mut rx) = mpsc::unbounded_channel();
            /// let sender = std::thread::spawn(move || tx.send(7).unwrap());
            /// assert_eq!(rx.blocking_recv(), Some(7));
            /// assert_eq!(rx.blocking_recv(), None);
            /// # sender.join().unwrap();
            /// ```
            #[track_caller]
            #[doc(alias = "recv_blocking")]
            pub fn blocking_recv(&mut self) -> Option<T> {
                let _call = may_block();
                self.rx.blocking(None).ok()
            }

            /// Receives the next value, and blocks this thread until it comes, but not for longer
            /// than `timeout`.
            ///
            /// For threads. A task awaits [`recv`](Self::recv) in a `timeout` of its runtime.
            ///
            /// # Errors
            ///
            /// [`Timeout`](RecvTimeoutError::Timeout) if `timeout` elapses,
            /// [`Closed`](RecvTimeoutError::Closed) if there will be
            /// no value.
            ///
            /// # Panics
            ///
            /// In a task, if the runtime is that of this project: it must not be blocked.
            ///
            /// ```
            /// use blitz_io::sync::mpsc::{self, error::RecvTimeoutError};
            /// use std::time::Duration;
            ///
            /// let (_tx, mut rx) = mpsc::unbounded_channel::<()>();
            /// let result = rx.blocking_recv_timeout(Duration::from_millis(1));
            /// assert_eq!(result, Err(RecvTimeoutError::Timeout));
            /// ```
            #[track_caller]
            #[doc(alias = "recv_timeout")]
            pub fn blocking_recv_timeout(
                &mut self,
                timeout: Duration,
            ) -> Result<T, RecvTimeoutError> {
                let _call = may_block();
                self.rx.blocking(deadline::after(timeout))
            }

            /// Receives the next value, and blocks this thread until it comes, but not for longer
            /// than until `deadline`.
            ///
            /// # Errors
            ///
            /// As [`blocking_recv_timeout`](Self::blocking_recv_timeout).
            ///
            /// # Panics
            ///
            /// In a task, if the runtime is that of this project: it must not be blocked.
            ///
            /// ```
            /// use blitz_io::sync::mpsc;
            /// use std::time::Instant;
            ///
            /// let (tx, mut rx) = mpsc::unbounded_channel();
            /// assert!(rx.blocking_recv_deadline(Instant::now()).unwrap_err().is_timeout());
            /// tx.send(7).unwrap();
            /// assert_eq!(rx.blocking_recv_deadline(Instant::now()), Ok(7));
            /// ```
            #[track_caller]
            #[doc(alias = "recv_deadline")]
            pub fn blocking_recv_deadline(
                &mut self,
                deadline: Instant,
            ) -> Result<T, RecvTimeoutError> {
                let _call = may_block();
                self.rx.blocking(Some(deadline))
            }

            /// Receives as [`recv_many`](Self::recv_many) does, but blocks this thread.
            ///
            /// # Panics
            ///
            /// In a task, if the runtime is that of this project: it must not be blocked.
            ///
            /// ```
            /// use blitz_io::sync::mpsc;
            ///
            /// let (tx, mut rx) = mpsc::unbounded_channel();
            /// (1..=3).for_each(|n| tx.send(n).unwrap());
            /// let mut numbers = Vec::new();
            /// assert_eq!(rx.blocking_recv_many(&mut numbers, 10), 3);
            /// assert_eq!(numbers, [1, 2, 3]);
            /// ```
            #[track_caller]
            pub fn blocking_recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
                let _call = may_block();
                self.rx.blocking_many(buffer, limit)
            }

            /// Takes no more new values. Values that were sent can still be received, and permits
            /// can still send. Receive until there is nothing left, so that nothing is lost.
            ///
            /// ```
            /// use blitz_io::sync::mpsc::{self, error::TryRecvError};
            ///
            /// let (tx, mut rx) = mpsc::channel(2);
            /// tx.try_send(1).unwrap();
            /// let permit = tx.try_reserve().unwrap();
            /// rx.close();
            /// assert!(tx.try_send(2).is_err());
            /// assert_eq!(rx.try_recv(), Ok(1));
            /// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
            /// permit.send(3);
            /// assert_eq!(rx.try_recv(), Ok(3));
            /// assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
            /// ```
            pub fn close(&mut self) {
                self.rx.chan().close();
            }

            /// Returns `true` if the channel was closed or all senders have been dropped. There may
            /// be values left to receive.
            pub fn is_closed(&self) -> bool {
                self.rx.is_closed()
            }

            /// Returns `true` if there are no values to receive now.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Returns how many values there are to receive now.
            pub fn len(&self) -> usize {
                self.rx.len()
            }

            /// Receives the next value, or leaves the waker of `cx` to be woken
            /// when there is one. Only the waker of the latest call is woken.
            ///
            /// It may wake the waker itself and return `Pending`, if a value is
            /// just being sent.
            #[inline]
            pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
                self.rx.poll(cx)
            }

            /// Polls as [`poll_recv`](Self::poll_recv) does, for up to `limit` values;
            /// see [`recv_many`](Self::recv_many).
            pub fn poll_recv_many(
                &mut self,
                cx: &mut Context<'_>,
                buffer: &mut Vec<T>,
                limit: usize,
            ) -> Poll<usize> {
                self.rx.poll_many(cx, buffer, limit)
            }

            /// Returns how many senders there are.
            pub fn sender_strong_count(&self) -> usize {
                self.rx.chan().strong_count()
            }

            /// Returns how many weak senders there are.
            pub fn sender_weak_count(&self) -> usize {
                self.rx.chan().weak_count()
            }
        }

        impl<T> Unpin for $name<T> {}

        #[cfg(feature = "stream")]
        impl<T> futures_core::Stream for $name<T> {
            type Item = T;

            fn poll_next(
                self: std::pin::Pin<&mut Self>,
                cx: &mut Context<'_>,
            ) -> Poll<Option<T>> {
                self.get_mut().poll_recv(cx)
            }
        }

        impl<T> Named for $name<T> {
            fn inspected(&self) -> &Object {
                &self.rx.chan().observed.object
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct($text).field("chan", &self.rx).finish()
            }
        }
    };
}

receiver! {
    /// The receiving end of a bounded channel, made by
    /// [`channel`](super::channel). There is one.
    ///
    /// Dropping it drops the values in the channel, and closes the channel for the
    /// senders.
    Receiver, "Receiver"
}

receiver! {
    /// The receiving end of an unbounded channel, made by
    /// [`unbounded_channel`](super::unbounded_channel). There is one.
    ///
    /// Dropping it drops the values in the channel, and closes the channel for the
    /// senders.
    UnboundedReceiver, "UnboundedReceiver"
}

impl<T> Receiver<T> {
    /// Returns for how many more values there is room now. Room that is reserved by permits, or
    /// belongs to waiting senders, does not count.
    pub fn capacity(&self) -> usize {
        self.rx.chan().capacity()
    }

    /// Returns how many values there is room for in an empty channel.
    pub fn max_capacity(&self) -> usize {
        self.rx.chan().max_capacity
    }
}
