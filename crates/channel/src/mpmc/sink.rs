//! A sender as a sink.

use std::borrow::Cow;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_sink::Sink;

use blitz_io_core::coop;

use super::error::{SendError, TrySendError};
use super::request::Queue;
use super::sender::Sender;
use super::waiter::Waiter;
use blitz_io_core::debug_is_name;

/// A sender as a sink: the result of [`Sender::sink`] and [`Sender::into_sink`].
///
/// It takes one value that does not fit into the channel yet, which is sent by
/// flushing, and is dropped with the sink if that has not been done. It allocates
/// once, when that happens for the first time.
pub struct SendSink<'a, T> {
    /// `None` after it has been closed.
    sender: Option<Cow<'a, Sender<T>>>,
    waiter: Option<Pin<Box<Waiter<T>>>>,
}

impl<T> Sender<T> {
    /// Returns a sink that sends into this channel.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use futures_util::SinkExt; // the crate futures-util
    ///
    /// let (sender, receiver) = blitz_io::sync::mpmc::bounded(1);
    /// sender.sink().send(1).await.unwrap();
    /// assert_eq!(receiver.try_recv(), Ok(1));
    /// # });
    /// ```
    pub fn sink(&self) -> SendSink<'_, T> {
        SendSink::new(Cow::Borrowed(self))
    }

    /// Makes this sender a sink. Closing the sink drops the sender.
    pub fn into_sink(self) -> SendSink<'static, T> {
        SendSink::new(Cow::Owned(self))
    }
}

impl<'a, T> SendSink<'a, T> {
    fn new(sender: Cow<'a, Sender<T>>) -> Self {
        Self {
            sender: Some(sender),
            waiter: None,
        }
    }

    fn poll_pending(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        match (&self.sender, &self.waiter) {
            (Some(sender), Some(waiter)) if !waiter.is_done() => {
                coop::poll_with(cx, |cx| sender.channel.poll_send(waiter, cx))
            }
            _ => Poll::Ready(Ok(())),
        }
    }
}

impl<T> Sink<T> for SendSink<'_, T> {
    type Error = SendError<T>;

    /// Waits until the value that is kept back, if there is one, has been sent.
    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        self.get_mut().poll_pending(cx)
    }

    /// Sends a value, or keeps it back if that is not possible at once.
    fn start_send(self: Pin<&mut Self>, value: T) -> Result<(), SendError<T>> {
        let this = self.get_mut();
        let Some(sender) = &this.sender else {
            return Err(SendError(value));
        };
        let kept = this.waiter.as_ref().is_some_and(|waiter| !waiter.is_done());
        assert!(!kept, "`start_send` without a `poll_ready` that was ready");
        match sender.try_send(value) {
            Ok(()) => {}
            Err(TrySendError::Closed(value)) => return Err(SendError(value)),
            Err(TrySendError::Full(value)) => match &this.waiter {
                Some(waiter) => waiter.restart(Some(value)),
                None => this.waiter = Some(Box::pin(Waiter::new(Some(value)))),
            },
        }
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        self.get_mut().poll_pending(cx)
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        let this = self.get_mut();
        let flushed = ready!(this.poll_pending(cx));
        this.sender = None;
        Poll::Ready(flushed)
    }
}

impl<T> Drop for SendSink<'_, T> {
    fn drop(&mut self) {
        if let (Some(sender), Some(waiter)) = (&self.sender, &self.waiter) {
            sender.channel.cancel(waiter, Queue::Senders);
        }
    }
}

debug_is_name!(impl<T> SendSink<'_, T>);
