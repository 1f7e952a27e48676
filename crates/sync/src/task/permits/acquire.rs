//! A task that waits for permits.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::{AcquireError, Permits, Request, Taken};
use blitz_io_core::Node;
use blitz_io_core::coop;
use blitz_io_observe::{Caller, Kind, WaitKind, Waiting};

/// Ends when the task has the permits, or can no longer get any. Dropped before that, it
/// leaves the queue, and its permits go to the next waiter.
#[must_use = "futures do nothing unless polled"]
pub struct Acquire<'a> {
    permits: &'a Permits,
    progress: Progress,
    node: Node<Request>,
    kind: Kind,
    waiting: Waiting,
}

#[derive(Clone, Copy)]
enum Progress {
    /// The node has not been in the queue.
    New,
    /// The node is in the queue, or has been chosen.
    Waits,
    /// The task has the permits, and had no budget left to complete with them.
    Holds,
    /// The wait is over, and the node is not used again.
    Done,
}

/// Returns the method that waits, by Tokio's name.
fn source(kind: Kind) -> &'static str {
    match kind {
        Kind::Mutex => "Mutex::lock",
        Kind::Read => "RwLock::read",
        Kind::Write => "RwLock::write",
        _ => "Semaphore::acquire",
    }
}

impl<'a> Acquire<'a> {
    #[inline]
    pub(super) fn new(permits: &'a Permits, n: usize, kind: Kind, caller: Caller) -> Self {
        Self {
            permits,
            progress: Progress::New,
            node: Node::new(Request::new(n)),
            kind,
            waiting: Waiting::new(caller, &permits.observed.resource, source(kind)),
        }
    }

    /// Joins the queue, if there is need to.
    fn begin(&self, context: &Context<'_>) -> Taken {
        if self.permits.spin_for(self.node.request.need) {
            return Taken::Yes;
        }
        // SAFETY: it is not linked, and this future is pinned and not `Unpin`; its
        // drop takes the node out.
        unsafe { self.permits.join(&self.node, Some(context.waker())) }
    }

    /// Gets the permits, also without budget.
    #[inline]
    fn poll_permits(&mut self, context: &Context<'_>) -> Poll<Result<(), AcquireError>> {
        let result = match self.progress {
            Progress::New => match self.begin(context) {
                Taken::Yes => Ok(()),
                Taken::No => {
                    self.progress = Progress::Waits;
                    return Poll::Pending;
                }
                Taken::Closed => Err(AcquireError(())),
            },
            Progress::Waits => {
                if self.permits.queue.still_waits(&self.node, context.waker()) {
                    return Poll::Pending;
                }
                self.progress = Progress::Done;
                self.permits.observed.object.hand_over_ended();
                self.permits.finish(&self.node.request)
            }
            Progress::Holds => self.still_holds(),
            Progress::Done => panic!("polled after it was done"),
        };
        self.progress = Progress::Done;
        Poll::Ready(result)
    }

    /// Gets the permits, and completes with them if a unit of the budget is left.
    #[inline]
    fn poll_in_budget(&mut self, context: &mut Context<'_>) -> Poll<Result<(), AcquireError>> {
        let Poll::Ready(result) = self.poll_permits(context) else {
            let observed = &self.permits.observed;
            observed.object.created_at(observed.made_at());
            let kind = WaitKind::new(self.kind);
            self.waiting.begin(kind, &observed.object, context.waker());
            return Poll::Pending;
        };
        self.waiting.end();
        if result.is_ok() {
            self.progress = Progress::Holds;
            ready!(coop::poll_proceed_after_point(context)).made_progress();
            self.progress = Progress::Done;
        }
        Poll::Ready(result)
    }

    /// Completes with the permits, unless all has been closed since the task got them.
    #[cold]
    fn still_holds(&self) -> Result<(), AcquireError> {
        if !self.permits.is_closed() {
            return Ok(());
        }
        self.permits.give_back(self.node.request.need);
        Err(AcquireError(()))
    }
}

impl Future for Acquire<'_> {
    type Output = Result<(), AcquireError>;

    /// Polls the wait. A task without budget still joins the queue, or takes the permits, so that it does not
    /// lose its place to a later one. It may not complete with them yet.
    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.permits.observed.object.touch(self.kind);
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        let (kind, object) = (WaitKind::new(this.kind), &this.permits.observed.object);
        ready!(this.waiting.at_point(coop::point(context), kind, object));
        let poll = |this: &mut Self| this.poll_in_budget(context);
        Waiting::poll(this, |this| &mut this.waiting, "poll_acquire", poll)
    }
}

impl Drop for Acquire<'_> {
    #[inline]
    fn drop(&mut self) {
        match self.progress {
            Progress::Waits => self.permits.leave(&self.node),
            Progress::Holds => self.permits.give_back(self.node.request.need),
            Progress::New | Progress::Done => {}
        }
    }
}
