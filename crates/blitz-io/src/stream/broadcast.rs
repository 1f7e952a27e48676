//! The values of a `broadcast` channel as a stream.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use blitz_io_core::coop;
use futures_core::Stream;

use super::reusable::Reusable;
use crate::sync::broadcast::{
    Receiver,
    error::{RecvError, TryRecvError},
};

/// A stream of the values of a [`broadcast`](crate::sync::broadcast) channel.
///
/// The stream ends when the channel is closed. Where values were missed there is one error,
/// and the stream continues with the oldest value that is left.
///
/// Waiting for a value allocates; taking a value that has already been sent does not.
///
/// # Examples
///
/// With `StreamExt` of the crate `futures-util`:
///
/// ```
/// use blitz_io::stream::wrappers::{BroadcastStream, errors::BroadcastStreamRecvError};
/// use blitz_io::sync::broadcast;
/// use futures_util::StreamExt; // the crate futures-util
///
/// # pollster::block_on(async {
/// let (tx, rx) = broadcast::channel(2);
/// for number in 1..=3 {
///     tx.send(number).unwrap();
/// }
/// drop(tx);
/// let all: Vec<_> = BroadcastStream::new(rx).collect().await;
/// assert_eq!(all, [Err(BroadcastStreamRecvError::Lagged(1)), Ok(2), Ok(3)]);
/// # });
/// ```
pub struct BroadcastStream<T> {
    inner: Reusable<Receiver<T>, Result<T, RecvError>>,
}

impl<T: 'static + Clone + Send> BroadcastStream<T> {
    /// Creates a stream from the receiver.
    #[must_use]
    pub fn new(rx: Receiver<T>) -> Self {
        let inner = Reusable::new(rx, |mut receiver| {
            Box::pin(async move { (receiver.recv().await, receiver) })
        });
        Self { inner }
    }
}

impl<T: 'static + Clone + Send> Stream for BroadcastStream<T> {
    type Item = Result<T, BroadcastStreamRecvError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let received = self.inner.poll(context, |receiver| {
            coop::attempt(|| match receiver.try_recv() {
                Ok(value) => Some(Ok(value)),
                Err(TryRecvError::Lagged(missed)) => Some(Err(RecvError::Lagged(missed))),
                Err(TryRecvError::Closed) => Some(Err(RecvError::Closed)),
                Err(TryRecvError::Empty) => None,
            })
        });
        Poll::Ready(match ready!(received) {
            Ok(value) => Some(Ok(value)),
            Err(RecvError::Lagged(missed)) => Some(Err(BroadcastStreamRecvError::Lagged(missed))),
            Err(RecvError::Closed) => None,
        })
    }
}

impl<T> fmt::Debug for BroadcastStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastStream").finish()
    }
}

impl<T: 'static + Clone + Send> From<Receiver<T>> for BroadcastStream<T> {
    fn from(recv: Receiver<T>) -> Self {
        Self::new(recv)
    }
}

/// An error of a [`BroadcastStream`].
#[derive(Debug, PartialEq, Eq, Clone)]
pub enum BroadcastStreamRecvError {
    /// The stream was too slow: this many values were overwritten before it took them.
    Lagged(u64),
}

impl fmt::Display for BroadcastStreamRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lagged(missed) => write!(f, "channel lagged by {missed}"),
        }
    }
}

impl Error for BroadcastStreamRecvError {}
