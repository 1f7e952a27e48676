//! The receivers of `mpsc` with the names of `tokio_stream`.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use crate::sync::mpsc::{Receiver, UnboundedReceiver};

macro_rules! wrapper {
    ($(#[$doc:meta])* $name:ident, $receiver:ident, $most:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<T> {
            inner: $receiver<T>,
        }

        impl<T> $name<T> {
            /// Creates a stream from the receiver.
            #[must_use]
            pub fn new(recv: $receiver<T>) -> Self {
                Self { inner: recv }
            }

            /// Returns the receiver.
            #[must_use]
            pub fn into_inner(self) -> $receiver<T> {
                self.inner
            }

            /// Closes the channel, like the receiver's `close`. The stream ends after the
            /// values that were sent.
            pub fn close(&mut self) {
                self.inner.close();
            }
        }

        impl<T> Stream for $name<T> {
            type Item = T;

            fn poll_next(
                mut self: Pin<&mut Self>,
                context: &mut Context<'_>,
            ) -> Poll<Option<T>> {
                self.inner.poll_recv(context)
            }

            /// Returns the number of values in the channel; once it is closed, the upper
            /// bound includes the values that may still come from permits.
            fn size_hint(&self) -> (usize, Option<usize>) {
                if self.inner.is_closed() {
                    // In this order, a permit that is used between the two reads is counted
                    // once.
                    let most = $most(&self.inner);
                    let least = self.inner.len();
                    (least, Some(most.max(least)))
                } else {
                    (self.inner.len(), None)
                }
            }
        }

        impl<T> AsRef<$receiver<T>> for $name<T> {
            fn as_ref(&self) -> &$receiver<T> {
                &self.inner
            }
        }

        impl<T> AsMut<$receiver<T>> for $name<T> {
            fn as_mut(&mut self) -> &mut $receiver<T> {
                &mut self.inner
            }
        }

        impl<T> From<$receiver<T>> for $name<T> {
            fn from(recv: $receiver<T>) -> Self {
                Self::new(recv)
            }
        }
    };
}

wrapper! {
    /// A stream of the values of a bounded channel. (The [`Receiver`] itself is one, too.)
    ///
    /// # Examples
    ///
    /// With `StreamExt` of the crate `futures-util`:
    ///
    /// ```
    /// use blitz_io::stream::wrappers::ReceiverStream; // was: tokio_stream::wrappers
    /// use blitz_io::sync::mpsc;
    /// use futures_util::StreamExt; // the crate futures-util
    ///
    /// # pollster::block_on(async {
    /// let (tx, rx) = mpsc::channel(2);
    /// tx.send(1).await.unwrap();
    /// tx.send(2).await.unwrap();
    /// drop(tx);
    /// assert_eq!(ReceiverStream::new(rx).collect::<Vec<_>>().await, [1, 2]);
    /// # });
    /// ```
    ReceiverStream, Receiver, |receiver: &Receiver<T>| {
        receiver.max_capacity() - receiver.capacity()
    }
}

wrapper! {
    /// A stream of the values of an unbounded channel. (The [`UnboundedReceiver`] itself is
    /// one, too.)
    ///
    /// # Examples
    ///
    /// With `StreamExt` of the crate `futures-util`:
    ///
    /// ```
    /// use blitz_io::stream::wrappers::UnboundedReceiverStream;
    /// use blitz_io::sync::mpsc;
    /// use futures_util::StreamExt; // the crate futures-util
    ///
    /// # pollster::block_on(async {
    /// let (tx, rx) = mpsc::unbounded_channel();
    /// tx.send(1).unwrap();
    /// drop(tx);
    /// assert_eq!(UnboundedReceiverStream::new(rx).collect::<Vec<_>>().await, [1]);
    /// # });
    /// ```
    UnboundedReceiverStream, UnboundedReceiver, |receiver: &UnboundedReceiver<T>| receiver.len()
}
