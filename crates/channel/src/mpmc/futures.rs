//! The futures of a channel.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use blitz_io_core::coop;

use super::channel::Channel;
use super::error::{RecvError, SendError};
use super::request::Queue;
use super::waiter::Waiter;
use crate::macros::opaque_debug;

macro_rules! futures {
    ($(
        $(#[$attribute:meta])*
        $name:ident in $queue:ident -> $output:ty {
            |$channel:ident, $waiter:ident, $cx:ident| $poll:expr
        }
    )+) => {$(
        $(#[$attribute])*
        #[must_use = "futures do nothing unless you `.await` or poll them"]
        pub struct $name<'a, T> {
            channel: &'a Channel<T>,
            waiter: Waiter<T>,
        }

        impl<'a, T> $name<'a, T> {
            #[inline]
            pub(super) fn new(channel: &'a Channel<T>, value: Option<T>) -> Self {
                let waiter = Waiter::new(value);
                Self { channel, waiter }
            }
        }

        impl<T> Future for $name<'_, T> {
            type Output = $output;

            #[inline]
            fn poll(self: Pin<&mut Self>, $cx: &mut Context<'_>) -> Poll<Self::Output> {
                let ($channel, $waiter) = (self.channel, &self.waiter);
                $poll
            }
        }

        impl<T> Drop for $name<'_, T> {
            #[inline]
            fn drop(&mut self) {
                self.channel.cancel(&self.waiter, Queue::$queue);
            }
        }

        opaque_debug!(impl<T> $name<'_, T>);
    )+};
}

futures! {
    /// Future returned by [`Sender::send`](super::Sender::send).
    ///
    /// **Cancel safety.** When it is dropped before it is done, the value is dropped
    /// with it, and was not sent.
    Send in Senders -> Result<(), SendError<T>> {
        |channel, waiter, cx| {
            coop::poll_with(cx, |cx| channel.poll_send(waiter, cx))
        }
    }

    /// Future returned by [`Receiver::recv`](super::Receiver::recv).
    ///
    /// **Cancel safety.** When it is dropped before it is done, no value is lost: one
    /// that it has been given already goes to the next receiver.
    ///
    /// A future that is kept without being polled keeps its place in the queue and the value that
    /// was assigned to it. Users of async-channel expect that others get the value.
    Recv in Receivers -> Result<T, RecvError> {
        |channel, waiter, cx| {
            coop::poll_with(cx, |cx| channel.poll_recv(waiter, cx))
        }
    }

    /// Future returned by [`Sender::closed`](super::Sender::closed).
    ///
    /// **Cancel safety.** It may be dropped at any time.
    Closed in CloseWaiters -> () {
        |channel, waiter, cx| channel.poll_closed(waiter, cx)
    }
}
