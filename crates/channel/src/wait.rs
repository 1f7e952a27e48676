//! Waiting in a queue, as a task or as a thread, for an event that wakes all waiters.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use blitz_io_core::{Node, Spin, WaitQueue, coop, deadline};
use blitz_io_observe::{self as observe, Caller, Calls, Kind, Observed, WaitKind};

use crate::model::model_has_failed;

/// An event that is waited for in a queue.
pub(crate) trait Event {
    type Output;

    /// Returns the queue in which waiters wait for the event.
    fn queue(&self) -> &WaitQueue;

    /// Returns the event's result, if it has happened.
    fn look(&mut self) -> Option<Self::Output>;

    /// Returns `true` if the caller has to wait for the event. Called under the lock of the queue.
    fn must_wait(&self) -> bool;

    /// Returns the data of the wait for reports.
    fn target(&self) -> Target<'_>;
}

/// The data of a wait for reports.
pub(crate) struct Target<'a> {
    pub(crate) kind: Kind,
    pub(crate) observed: &'a Observed,
}

/// Links the node into the queue if the caller has to wait for the event. Returns `true` if so.
///
/// # Safety
///
/// The node is not linked, and is not moved or dropped until it has been chosen or has left.
unsafe fn join<E: Event>(event: &E, node: &Node, waker: Option<&Waker>) -> bool {
    // The event's change comes before the notifier takes the lock to wake the waiters. So either
    // this waiter sees the change under the lock, or the notifier finds its node.
    // SAFETY: as this function's contract.
    unsafe { event.queue().join_if(node, waker, |_| event.must_wait()) }
}

/// A task that waits for an event.
pub(crate) struct Wait<E: Event> {
    event: E,
    /// `!Unpin`, and so is the future.
    node: Node,
    /// The node has been linked, and has not been seen to be chosen.
    is_linked: bool,
    record: observe::Wait,
}

impl<E: Event> Wait<E> {
    pub(crate) fn new(event: E) -> Self {
        Self {
            record: observe::Wait::new(Caller::UNKNOWN),
            event,
            node: Node::new(()),
            is_linked: false,
        }
    }
}

impl<E: Event> Future for Wait<E> {
    type Output = E::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<E::Output> {
        // SAFETY: the node is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        let (event, node) = (&mut this.event, &this.node);
        if this.is_linked && event.queue().still_waits(node, cx.waker()) {
            note(event, &mut this.record, cx.waker());
            return Poll::Pending;
        }
        this.is_linked = false;
        loop {
            if let Some(output) = event.look() {
                this.record.end();
                return Poll::Ready(output);
            }
            // SAFETY: the node is not linked, the future is pinned, and its drop unlinks the
            // node.
            this.is_linked = unsafe { join(event, node, Some(cx.waker())) };
            if this.is_linked {
                note(event, &mut this.record, cx.waker());
                return Poll::Pending;
            }
        }
    }
}

/// Records that the task waits.
fn note<E: Event>(event: &E, record: &mut observe::Wait, waker: &Waker) {
    let target = event.target();
    record.begin_called(WaitKind::new(target.kind), &target.observed.object, waker);
}

impl<E: Event> Drop for Wait<E> {
    /// Unlinks the node. A chosen waiter that leaves passes nothing on: the event wakes all.
    fn drop(&mut self) {
        if self.is_linked && !model_has_failed() {
            self.event.queue().leave(&self.node);
        }
    }
}

/// Begins a method that blocks the thread, which no task may do. While the result lives, the waits of the thread have the
/// location of the method's caller.
#[track_caller]
#[inline(always)]
pub(crate) fn may_block() -> Calls {
    coop::assert_may_block();
    Caller::here().calls()
}

/// Blocks the thread until the event has happened. `None` when the deadline comes first.
#[inline]
pub(crate) fn block_until<E: Event>(mut event: E, deadline: Option<Instant>) -> Option<E::Output> {
    let mut output = event.look();
    if output.is_some() || deadline::is_past(deadline) {
        return output;
    }
    let mut spin = Spin::EVENT;
    while spin.turn() {
        output = event.look();
        if output.is_some() {
            return output;
        }
    }
    sleep_until(event, deadline)
}

#[cold]
fn sleep_until<E: Event>(mut event: E, deadline: Option<Instant>) -> Option<E::Output> {
    let target = event.target();
    let _waits = target.observed.block(target.kind, deadline.is_some());
    let node = Node::new(());
    loop {
        // SAFETY: the node is not moved, and `sleep` returns when it has been chosen or taken
        // out.
        let in_time = !unsafe { join(&event, &node, None) } || event.queue().sleep(&node, deadline);
        match event.look() {
            None if in_time => node.reset(),
            output => return output,
        }
    }
}
