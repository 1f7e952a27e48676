//! A task that waits for permits.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::{Closed, Permits, Taken, Wish};
use crate::coop;
use crate::wait_queue::Node;

/// Ends when the permits are ours, or there will be none any more. Dropped before
/// that, it leaves the queue; what it got goes to the next.
#[must_use = "futures do nothing unless polled"]
pub struct Acquire<'a> {
    permits: &'a Permits,
    progress: Progress,
    node: Node<Wish>,
}

#[derive(Clone, Copy)]
enum Progress {
    /// The node has not been in the queue.
    New,
    /// The node is in the queue, or has been chosen.
    Waits,
    /// The node is of no use any more.
    Done,
}

impl<'a> Acquire<'a> {
    #[inline]
    pub(super) fn new(permits: &'a Permits, n: usize) -> Self {
        Self {
            permits,
            progress: Progress::New,
            node: Node::new(Wish::new(n)),
        }
    }

    /// Joins the queue, if there is need to.
    fn begin(&self, context: &Context<'_>) -> Taken {
        if self.permits.glance(self.node.wish.need) {
            return Taken::Yes;
        }
        // SAFETY: the node is ours: it has not been in the queue.
        unsafe { self.node.arm(context.waker()) };
        // SAFETY: it is not linked, and this future is pinned and not `Unpin`; its
        // drop takes the node out.
        unsafe { self.permits.join(&self.node) }
    }

    #[inline]
    fn poll_in_budget(&mut self, context: &Context<'_>) -> Poll<Result<(), Closed>> {
        let result = match self.progress {
            Progress::New => match self.begin(context) {
                Taken::Yes => Ok(()),
                Taken::No => {
                    self.progress = Progress::Waits;
                    return Poll::Pending;
                }
                Taken::Closed => Err(Closed),
            },
            Progress::Waits => {
                if self.permits.queue.still_waits(&self.node, context.waker()) {
                    return Poll::Pending;
                }
                self.progress = Progress::Done;
                self.permits.finish(&self.node.wish)
            }
            Progress::Done => panic!("polled after it was done"),
        };
        self.progress = Progress::Done;
        Poll::Ready(result)
    }
}

impl Future for Acquire<'_> {
    type Output = Result<(), Closed>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        coop::poll_with(context, |context| this.poll_in_budget(context))
    }
}

impl Drop for Acquire<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Progress::Waits = self.progress {
            self.permits.leave(&self.node);
        }
    }
}
