//! The futures of a channel.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use blitz_io_core::coop;
use blitz_io_observe::{Caller, Kind, Wait, WaitKind};

use super::chan::Channel;
use super::error::{RecvError, SendError};
use super::request::Queue;
use super::waiter::Waiter;
use blitz_io_core::debug_is_name;

macro_rules! futures {
    ($(
        $(#[$attribute:meta])*
        $name:ident in $queue:ident -> $output:ty {
            |$channel:ident, $waiter:ident, $record:ident, $cx:ident| $poll:expr
        }
    )+) => {$(
        $(#[$attribute])*
        #[must_use = "futures do nothing unless you `.await` or poll them"]
        pub struct $name<'a, T> {
            channel: &'a Channel<T>,
            waiter: Waiter<T>,
            record: Wait,
        }

        impl<'a, T> $name<'a, T> {
            #[inline]
            #[track_caller]
            pub(super) fn new(channel: &'a Channel<T>, value: Option<T>) -> Self {
                Self {
                    channel,
                    waiter: Waiter::new(value),
                    record: Wait::new(Caller::here()),
                }
            }
        }

        impl<T> Future for $name<'_, T> {
            type Output = $output;

            #[inline]
            fn poll(self: Pin<&mut Self>, $cx: &mut Context<'_>) -> Poll<Self::Output> {
                // SAFETY: the waiter is not moved, and nothing else is pinned.
                let this = unsafe { self.get_unchecked_mut() };
                let ($channel, $waiter, $record) = (this.channel, &this.waiter, &mut this.record);
                $poll
            }
        }

        impl<T> Drop for $name<'_, T> {
            #[inline]
            fn drop(&mut self) {
                self.channel.cancel(&self.waiter, Queue::$queue);
            }
        }

        debug_is_name!(impl<T> $name<'_, T>);
    )+};
}

futures! {
    /// Future returned by [`Sender::send`](super::Sender::send).
    ///
    /// **Cancel safety.** When it is dropped before it is done, the value is dropped
    /// with it, and was not sent.
    Send in Senders -> Result<(), SendError<T>> {
        |channel, waiter, record, cx| {
            channel.object.touch(Kind::MpmcSend);
            let kind = WaitKind::new(Kind::MpmcSend);
            let polled = coop::poll_with(cx, |cx| {
                let polled = channel.poll_send(waiter, cx);
                match &polled {
                    Poll::Ready(Ok(())) => channel.sends(),
                    Poll::Ready(Err(_)) => channel.refuses(Kind::MpmcSend, "closed"),
                    Poll::Pending => {}
                }
                record.note(kind, &channel.object, cx.waker(), polled)
            });
            record.at_point(polled, kind, &channel.object)
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
        |channel, waiter, record, cx| {
            channel.object.touch(Kind::MpmcReceive);
            let kind = WaitKind::new(Kind::MpmcReceive);
            let polled = coop::poll_with(cx, |cx| {
                let polled = channel.poll_recv(waiter, cx);
                match &polled {
                    Poll::Ready(Ok(_)) => channel.receives(),
                    Poll::Ready(Err(_)) => channel.refuses(Kind::MpmcReceive, "closed"),
                    Poll::Pending => {}
                }
                record.note(kind, &channel.object, cx.waker(), polled)
            });
            record.at_point(polled, kind, &channel.object)
        }
    }

    /// Future returned by [`Sender::closed`](super::Sender::closed).
    ///
    /// **Cancel safety.** It may be dropped at any time.
    Closed in CloseWaiters -> () {
        |channel, waiter, record, cx| {
            let kind = WaitKind::new(Kind::MpmcClosed);
            ready!(record.at_point(coop::point(cx), kind, &channel.object));
            let polled = channel.poll_closed(waiter, cx);
            if polled.is_ready() {
                coop::acted();
            }
            record.note(kind, &channel.object, cx.waker(), polled)
        }
    }
}
