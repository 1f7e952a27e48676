//! The wait for the end of a channel.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use blitz_sync::internals::Node;

use super::chan::Chan;
use super::mutant::model_failed;

impl<T> Chan<T> {
    /// Waits until the receiver takes no more messages.
    pub fn closed(&self) -> Closed<'_, T> {
        Closed {
            chan: self,
            node: Node::new(()),
            queued: false,
        }
    }
}

/// Ready when the channel is closed.
pub struct Closed<'a, T> {
    chan: &'a Chan<T>,
    node: Node,
    queued: bool,
}

impl<T> Future for Closed<'_, T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the node is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        let (chan, node) = (this.chan, &this.node);
        if this.queued {
            return match chan.watchers.still_waits(node, cx.waker()) {
                true => Poll::Pending,
                false => Poll::Ready(()),
            };
        }
        if chan.is_closed() {
            return Poll::Ready(());
        }
        // SAFETY: the node is not linked yet.
        unsafe { node.arm(cx.waker()) };
        // The channel is closed before its watchers are told, under this lock: so
        // either we see that it is, or we are told.
        this.queued = chan.watchers.locked(|list| {
            let open = !chan.is_closed();
            if open {
                // SAFETY: it is pinned, and `drop` takes it out.
                unsafe { list.push(node) };
            }
            open
        });
        match this.queued {
            true => Poll::Pending,
            false => Poll::Ready(()),
        }
    }
}

impl<T> Drop for Closed<'_, T> {
    fn drop(&mut self) {
        if self.queued && !model_failed() {
            self.chan.watchers.leave(&self.node);
        }
    }
}
