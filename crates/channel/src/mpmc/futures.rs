//! What tasks await.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use blitz_sync::internals::coop;

use super::channel::Channel;
use super::error::{RecvError, SendError};
use super::request::Queue;
use super::waiter::Waiter;
use crate::macros::opaque_debug;

/// What [`Sender::send`](super::Sender::send) returns.
///
/// **Cancel safety.** When it is dropped before it is done, the value is dropped
/// with it, and was not sent.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Send<'a, T> {
    channel: &'a Channel<T>,
    waiter: Waiter<T>,
}

/// What [`Receiver::recv`](super::Receiver::recv) returns.
///
/// **Cancel safety.** When it is dropped before it is done, no value is lost: one
/// that it has been given already goes to the next receiver.
///
/// One that is kept without being polled keeps its place in the queue and the value
/// that was assigned to it. Users of async-channel expect that others get the value.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Recv<'a, T> {
    channel: &'a Channel<T>,
    waiter: Waiter<T>,
}

/// What [`Sender::closed`](super::Sender::closed) returns.
///
/// **Cancel safety.** It may be dropped at any time.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Closed<'a, T> {
    channel: &'a Channel<T>,
    waiter: Waiter<T>,
}

impl<'a, T> Send<'a, T> {
    #[inline]
    pub(super) fn new(channel: &'a Channel<T>, value: T) -> Self {
        Self {
            channel,
            waiter: Waiter::new(Some(value)),
        }
    }
}

impl<'a, T> Recv<'a, T> {
    #[inline]
    pub(super) fn new(channel: &'a Channel<T>) -> Self {
        Self {
            channel,
            waiter: Waiter::new(None),
        }
    }
}

impl<'a, T> Closed<'a, T> {
    #[inline]
    pub(super) fn new(channel: &'a Channel<T>) -> Self {
        Self {
            channel,
            waiter: Waiter::new(None),
        }
    }
}

impl<T> Future for Send<'_, T> {
    type Output = Result<(), SendError<T>>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        coop::poll_with(context, |context| {
            self.channel.poll_send(&self.waiter, context)
        })
    }
}

impl<T> Future for Recv<'_, T> {
    type Output = Result<T, RecvError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        coop::poll_with(context, |context| {
            self.channel.poll_recv(&self.waiter, context)
        })
    }
}

impl<T> Future for Closed<'_, T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.channel.poll_closed(&self.waiter, context)
    }
}

impl<T> Drop for Send<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.channel.cancel(&self.waiter, Queue::Senders);
    }
}

impl<T> Drop for Recv<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.channel.cancel(&self.waiter, Queue::Receivers);
    }
}

impl<T> Drop for Closed<'_, T> {
    fn drop(&mut self) {
        self.channel.cancel(&self.waiter, Queue::Watchers);
    }
}

opaque_debug!(Send<'_, T>, Recv<'_, T>, Closed<'_, T>);
