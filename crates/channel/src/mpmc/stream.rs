//! A receiver as a stream.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::{FusedStream, Stream};

use super::error::TryRecvError;
use super::receiver::Receiver;
use super::waiter::Waiter;

/// The values to come. It ends when the channel is empty and closed.
///
/// The receiver allocates once, when it has to wait for the first time. A value
/// that it has been given but that nobody has asked for goes to another receiver
/// when this one is dropped.
///
/// ```
/// # pollster::block_on(async {
/// use futures_util::StreamExt;
///
/// let (sender, mut receiver) = blitz_channel::mpmc::unbounded();
/// sender.try_send(1).unwrap();
/// drop(sender);
/// assert_eq!(receiver.next().await, Some(1));
/// assert_eq!(receiver.next().await, None);
/// # });
/// ```
impl<T> Stream for Receiver<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let this = self.get_mut();
        if this.stream.is_none() {
            match this.channel.receive() {
                Ok(value) => return Poll::Ready(Some(value)),
                Err(TryRecvError::Closed) => return Poll::Ready(None),
                Err(TryRecvError::Empty) => {}
            }
        }
        let waiter = this
            .stream
            .get_or_insert_with(|| Box::pin(Waiter::new(None)));
        let received = this.channel.poll_recv(waiter, context);
        if received.is_ready() {
            waiter.restart(None);
        }
        received.map(Result::ok)
    }
}

impl<T> FusedStream for Receiver<T> {
    fn is_terminated(&self) -> bool {
        let waits = self
            .stream
            .as_ref()
            .is_some_and(|waiter| waiter.is_waiting());
        self.channel.is_closed() && self.channel.len() == 0 && !waits
    }
}
