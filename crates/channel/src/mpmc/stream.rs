//! A receiver as a stream.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::{FusedStream, Stream};

use blitz_io_core::coop;

use super::error::TryRecvError;
use super::receiver::Receiver;
use super::waiter::Waiter;

/// The values to come. It ends when the channel is empty and closed.
///
/// The receiver allocates once, when it has to wait for the first time. A value wakes all
/// receivers that wait as streams, and the first that is polled gets it. A receiver that waits in
/// [`recv`](Receiver::recv) or as a thread goes before them. In a channel without a buffer,
/// [`try_send`](super::Sender::try_send) does not find a stream that waits; a sender that waits
/// does.
///
/// ```
/// # pollster::block_on(async {
/// use futures_util::StreamExt; // the crate futures-util
///
/// let (sender, mut receiver) = blitz_io::sync::mpmc::unbounded();
/// sender.try_send(1).unwrap();
/// drop(sender);
/// assert_eq!(receiver.next().await, Some(1));
/// assert_eq!(receiver.next().await, None);
/// # });
/// ```
impl<T> Stream for Receiver<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let this = self.get_mut();
        coop::poll_with(cx, |cx| this.poll_in_budget(cx))
    }
}

impl<T> Receiver<T> {
    fn poll_in_budget(&mut self, cx: &Context<'_>) -> Poll<Option<T>> {
        if let Some(waiter) = &self.stream {
            if self.channel.stream_waits(waiter, cx.waker()) {
                return Poll::Pending;
            }
        }
        match self.channel.receive() {
            Ok(value) => return Poll::Ready(Some(value)),
            Err(TryRecvError::Closed) => return Poll::Ready(None),
            Err(TryRecvError::Empty) => {}
        }
        let waiter = self
            .stream
            .get_or_insert_with(|| Box::pin(Waiter::new(None)));
        self.channel.poll_stream(waiter, cx.waker())
    }
}

impl<T> FusedStream for Receiver<T> {
    fn is_terminated(&self) -> bool {
        self.channel.is_closed() && self.channel.len() == 0
    }
}
