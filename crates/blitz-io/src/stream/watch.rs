//! The values of a `watch` channel as a stream.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use blitz_io_core::coop;
use futures_core::Stream;

use super::reusable::Reusable;
use crate::sync::watch::{Receiver, error::RecvError};

/// A stream of the values of a [`watch`](crate::sync::watch) channel.
///
/// It yields clones of the latest value: after [`new`](WatchStream::new) first the current
/// one, after [`from_changes`](WatchStream::from_changes) only later ones. Values that are
/// replaced before the stream is polled are skipped. It ends when the sender has been
/// dropped.
///
/// Waiting for a change allocates.
///
/// # Examples
///
/// With `StreamExt` of the crate `futures-util`:
///
/// ```
/// use blitz_io::stream::wrappers::WatchStream;
/// use blitz_io::sync::watch;
/// use futures_util::StreamExt; // the crate futures-util
///
/// # pollster::block_on(async {
/// let (tx, rx) = watch::channel("first");
/// let mut values = WatchStream::new(rx);
/// assert_eq!(values.next().await, Some("first"));
/// tx.send("second").unwrap();
/// assert_eq!(values.next().await, Some("second"));
/// drop(tx);
/// assert_eq!(values.next().await, None);
/// # });
/// ```
pub struct WatchStream<T> {
    inner: Reusable<Receiver<T>, Result<T, RecvError>>,
}

impl<T: 'static + Clone + Send + Sync> WatchStream<T> {
    /// Creates a stream that begins with the current value.
    #[must_use]
    pub fn new(mut rx: Receiver<T>) -> Self {
        rx.mark_changed();
        Self::from_changes(rx)
    }

    /// Creates a stream that begins with the next change.
    #[must_use]
    pub fn from_changes(rx: Receiver<T>) -> Self {
        let inner = Reusable::new(rx, |mut receiver| {
            Box::pin(async move {
                let result = receiver.changed().await;
                let value = result.map(|()| receiver.borrow_and_update().clone());
                (value, receiver)
            })
        });
        Self { inner }
    }
}

impl<T: 'static + Clone + Send + Sync> Stream for WatchStream<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let received = self.inner.poll(context, |receiver| {
            // A closed channel may still have a change: `changed` reports it.
            let changed = matches!(receiver.has_changed(), Ok(true));
            coop::attempt(|| changed.then(|| Ok(receiver.borrow_and_update().clone())))
        });
        Poll::Ready(ready!(received).ok())
    }
}

impl<T> fmt::Debug for WatchStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchStream").finish()
    }
}

impl<T: 'static + Clone + Send + Sync> From<Receiver<T>> for WatchStream<T> {
    fn from(recv: Receiver<T>) -> Self {
        Self::new(recv)
    }
}
