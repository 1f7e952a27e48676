//! Waiting until a token is cancelled.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Instant;

use blitz_io_core::{Node as WaitNode, coop};
use blitz_io_observe::{Blocking, Caller, Kind, Wait, WaitKind};

use super::CancellationToken;
use super::tree::Node;

/// A waiter, with its entry in the queue of the token's node.
struct Waiter {
    /// `true` if it has been put into the queue. It may have been chosen since.
    waits: bool,
    node: WaitNode,
    record: Wait,
}

impl Waiter {
    #[track_caller]
    fn new() -> Self {
        Self {
            waits: false,
            node: WaitNode::new(()),
            record: Wait::new(Caller::here()),
        }
    }

    /// Begins the operation, or lets another task run before it, in a simulation.
    #[inline]
    fn at_point(&mut self, token: &Node, context: &Context<'_>) -> Poll<()> {
        let kind = WaitKind::new(Kind::Cancelled);
        self.record
            .at_point_made(coop::point(context), kind, token.origin)
    }

    /// # Safety
    ///
    /// It is not moved or dropped until [`leave`](Waiter::leave) has been called, with
    /// the same token.
    #[inline]
    unsafe fn poll(&mut self, token: &Node, waker: &Waker) -> Poll<()> {
        if token.is_cancelled() {
            self.record.end();
            let finds = || "finds {} cancelled".to_owned();
            (token.origin).did(Kind::Cancelled, self.record.caller(), finds);
            return Poll::Ready(());
        }
        // SAFETY: the waiter is not moved or dropped until `leave`.
        unsafe { self.wait(token, waker) }
    }

    /// # Safety
    ///
    /// As [`poll`](Waiter::poll).
    unsafe fn wait(&mut self, token: &Node, waker: &Waker) -> Poll<()> {
        self.waits = if self.waits {
            token.waiters.still_waits(&self.node, waker)
        } else {
            let joins = |_: &mut _| token.announce_waiter();
            // SAFETY: it is not linked, and it does not move before `leave`.
            unsafe { token.waiters.join_if(&self.node, Some(waker), joins) }
        };
        if self.waits {
            let kind = WaitKind::new(Kind::Cancelled);
            self.record.begin_made(kind, token.origin, waker);
            Poll::Pending
        } else {
            self.record.end();
            Poll::Ready(())
        }
    }

    #[inline]
    fn leave(&self, token: &Node) {
        if self.waits {
            token.waiters.leave(&self.node);
        }
    }
}

/// Blocks the thread until the token is cancelled, or until the deadline. Returns `true` if it is cancelled.
pub(super) fn block_until(token: &Node, deadline: Option<Instant>, caller: Caller) -> bool {
    if token.is_cancelled() {
        return true;
    }
    let node = WaitNode::new(());
    // SAFETY: the node does not move, and `sleep` returns when it has been chosen or taken out.
    if !unsafe { (token.waiters).join_if(&node, None, |_| token.announce_waiter()) } {
        return true;
    }
    let _waits = Blocking::without_object(Kind::Cancelled, caller, deadline.is_some());
    token.waiters.sleep(&node, deadline)
}

macro_rules! future {
    ($(#[$doc:meta])* $name:ident $(<$lifetime:lifetime>)?, $token:ty) => {
        $(#[$doc])*
        #[must_use = "futures do nothing unless polled"]
        pub struct $name $(<$lifetime>)? {
            token: $token,
            waiter: Waiter,
        }

        impl $(<$lifetime>)? $name $(<$lifetime>)? {
            #[track_caller]
            pub(super) fn new(token: $token) -> Self {
                let waiter = Waiter::new();
                Self { token, waiter }
            }
        }

        impl $(<$lifetime>)? Future for $name $(<$lifetime>)? {
            type Output = ();

            #[inline]
            fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
                // SAFETY: nothing is moved out of it.
                let this = unsafe { self.get_unchecked_mut() };
                ready!(this.waiter.at_point(this.token.node(), context));
                // SAFETY: it is pinned, and `drop` leaves the queue.
                let polled = unsafe { this.waiter.poll(this.token.node(), context.waker()) };
                if polled.is_ready() {
                    coop::acted();
                }
                polled
            }
        }

        impl $(<$lifetime>)? Drop for $name $(<$lifetime>)? {
            #[inline]
            fn drop(&mut self) {
                self.waiter.leave(self.token.node());
            }
        }

        impl $(<$lifetime>)? fmt::Debug for $name $(<$lifetime>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish()
            }
        }
    };
}

future! {
    /// The future of [`CancellationToken::cancelled`].
    WaitForCancellationFuture<'a>, &'a CancellationToken
}

future! {
    /// The future of [`CancellationToken::cancelled_owned`].
    WaitForCancellationFutureOwned, CancellationToken
}
