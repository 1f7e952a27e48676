//! A waiter in a channel: a task or a thread, to send or to receive.
//!
//! A future *is* a waiter, and a thread keeps one on its stack. It has a node for
//! the channel's list and a slot for the value. While the node is linked, both
//! belong to the holder of the channel's lock; when the waiter finds the node signalled,
//! it has them back.

use std::cell::{Cell, UnsafeCell};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use blitz_io_core::{Node, Wake};
use blitz_io_observe::{Caller, Kind};

use super::chan::Channel;
use super::error::{RecvError, SendError, TryRecvError, TrySendError};
use super::request::{Queue, Request};
use super::state::State;
use super::woken::Call;

/// A waiter to send or to receive. The module documentation explains it.
#[repr(C)]
pub(super) struct Waiter<T> {
    /// Made when it has to wait: most do not, and a future that is nearly empty is
    /// cheap to make and to move.
    node: UnsafeCell<Option<Node<Request>>>,
    slot: UnsafeCell<Option<T>>,
    stage: Cell<Stage>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It has not been polled, or begins anew.
    Fresh,
    /// It has been linked, and has not taken notice of being chosen.
    Waiting,
    /// It has its result.
    Done,
}

// SAFETY: values go from one thread to another, and are `Send`. The fields that other threads use
// while the node is linked are used under the channel's lock.
unsafe impl<T: Send> Send for Waiter<T> {}
// SAFETY: all use takes a future that is borrowed exclusively, or one on the stack
// of the thread that uses it; a shared reference from elsewhere gives access to
// nothing.
unsafe impl<T: Send> Sync for Waiter<T> {}

// A panic cannot leave the node half linked, or the slot half filled.
impl<T> UnwindSafe for Waiter<T> {}
impl<T> RefUnwindSafe for Waiter<T> {}

impl<T> Waiter<T> {
    /// Creates a waiter that receives or, with a value, sends.
    #[inline]
    pub(super) fn new(value: Option<T>) -> Self {
        Self {
            stage: Cell::new(Stage::Fresh),
            slot: UnsafeCell::new(value),
            node: UnsafeCell::new(None),
        }
    }

    /// Begins anew: to receive, or, with a value, to send.
    #[cfg(feature = "sink")]
    pub(super) fn restart(&self, value: Option<T>) {
        debug_assert!(self.stage.get() == Stage::Done);
        // SAFETY: it is not linked, and the slot is empty.
        unsafe { *self.slot.get() = value };
        self.stage.set(Stage::Fresh);
    }

    /// Returns `true` if there is nothing to wait for any more.
    #[cfg(feature = "sink")]
    pub(super) fn is_done(&self) -> bool {
        self.stage.get() == Stage::Done
    }

    /// Takes the value, while the node is not linked.
    pub(super) fn take(&self) -> Option<T> {
        // SAFETY: the slot belongs to the waiter while the node is not linked.
        unsafe { (*self.slot.get()).take() }
    }

    /// Makes the node, to be linked. The waiter may be pinned or not, but the node must
    /// not be linked.
    pub(super) fn prepare(&self) -> &Node<Request> {
        // SAFETY: the node is not linked, and belongs to the waiter.
        let node = unsafe { &mut *self.node.get() };
        let node = node.get_or_insert_with(|| Node::new(Request::plain()));
        node.request.set_slot(self.slot.get());
        node
    }

    /// Makes the node of a task.
    fn arm(&self, waker: &Waker) -> &Node<Request> {
        let node = self.prepare();
        // SAFETY: the node is not linked, and belongs to the waiter.
        unsafe { node.arm(waker) };
        node
    }

    /// Returns the node of a waiter that waits.
    pub(super) fn node(&self) -> &Node<Request> {
        // SAFETY: it is written only by `prepare`, before it is linked.
        let node = unsafe { (*self.node.get()).as_ref() };
        node.expect("a waiter that waits has a node")
    }
}

/// Tasks that receive.
impl<T> Channel<T> {
    pub(super) fn poll_recv(
        &self,
        waiter: &Waiter<T>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, RecvError>> {
        match waiter.stage.get() {
            Stage::Fresh => {
                if self.looks_receivable() || !self.has_buffer() {
                    match self.receive() {
                        Err(TryRecvError::Empty) => {}
                        received => {
                            waiter.stage.set(Stage::Done);
                            return Poll::Ready(received.map_err(|_| RecvError));
                        }
                    }
                }
                self.begin_recv(waiter, cx.waker(), Queue::Receivers)
                    .map(|received| received.ok_or(RecvError))
            }
            Stage::Waiting => {
                if self.still_waits(waiter.node(), cx.waker(), Queue::Receivers) {
                    return Poll::Pending;
                }
                waiter.stage.set(Stage::Done);
                Poll::Ready(waiter.take().ok_or(RecvError))
            }
            Stage::Done => panic!("`Recv` polled after completion"),
        }
    }

    /// Receives, or waits in this list. Returns `None` at the end of the channel.
    fn begin_recv(&self, waiter: &Waiter<T>, waker: &Waker, queue: Queue) -> Poll<Option<T>> {
        let node = waiter.arm(waker);
        // SAFETY: the waiter is pinned, and its node is taken out before it is dropped.
        match self.locked(|state| unsafe { state.recv_or_join(node, queue) }) {
            Ok(received) => {
                waiter.stage.set(Stage::Done);
                Poll::Ready(received.map(woken))
            }
            Err(wake) => {
                waiter.stage.set(Stage::Waiting);
                wake.wake();
                Poll::Pending
            }
        }
    }

    /// Receives as a stream: see `state/mod.rs`.
    #[cfg(feature = "stream")]
    pub(super) fn poll_stream(&self, waiter: &Waiter<T>, waker: &Waker) -> Poll<Option<T>> {
        self.begin_recv(waiter, waker, Queue::Streams)
    }

    /// Returns `true` if it waits as a stream, and has not been woken.
    #[cfg(feature = "stream")]
    pub(super) fn stream_waits(&self, waiter: &Waiter<T>, waker: &Waker) -> bool {
        waiter.stage.get() == Stage::Waiting
            && self.still_waits(waiter.node(), waker, Queue::Streams)
    }

    /// Withdraws a waiter that is being dropped.
    #[inline]
    pub(super) fn cancel(&self, waiter: &Waiter<T>, queue: Queue) {
        if waiter.stage.get() == Stage::Waiting {
            self.give_up(waiter, queue);
        }
    }

    /// Withdraws a waiter. If a receiver was given a value, passes it to another one. No value is
    /// passed on for streams: all of them have been woken.
    #[cold]
    fn give_up(&self, waiter: &Waiter<T>, queue: Queue) {
        waiter.stage.set(Stage::Done);
        if self.leave(waiter.node(), queue) || queue != Queue::Receivers {
            return;
        }
        if let Some(value) = waiter.take() {
            let ticket = waiter.node().request.ticket.get();
            self.locked_then_call(|state| state.put_back(value, ticket));
        }
    }
}

/// Wakes the sender for which there is room now.
pub(super) fn woken<T>((value, wake): (T, Wake)) -> T {
    wake.wake();
    value
}

/// Tasks that send.
impl<T> Channel<T> {
    pub(super) fn poll_send(
        &self,
        waiter: &Waiter<T>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), SendError<T>>> {
        match waiter.stage.get() {
            Stage::Fresh => {
                if self.looks_sendable() {
                    if let Some(value) = waiter.take() {
                        match self.try_send(value) {
                            Err(TrySendError::Full(value)) => {
                                // SAFETY: it is not linked.
                                unsafe { *waiter.slot.get() = Some(value) };
                            }
                            sent => {
                                waiter.stage.set(Stage::Done);
                                return Poll::Ready(sent.map_err(|e| SendError(e.into_inner())));
                            }
                        }
                    }
                }
                self.begin_send(waiter, cx.waker())
            }
            Stage::Waiting => {
                if self.still_waits(waiter.node(), cx.waker(), Queue::Senders) {
                    return Poll::Pending;
                }
                Poll::Ready(Self::sent(waiter))
            }
            Stage::Done => panic!("`Send` polled after completion"),
        }
    }

    fn begin_send(&self, waiter: &Waiter<T>, waker: &Waker) -> Poll<Result<(), SendError<T>>> {
        waiter.arm(waker);
        // SAFETY: the future is pinned, and takes the node out when it is dropped.
        match self.locked(|state| unsafe { Self::send_or_join(state, waiter) }) {
            Ok(call) => {
                let sent = Self::sent(waiter);
                self.call(call);
                Poll::Ready(sent)
            }
            Err(call) => {
                waiter.stage.set(Stage::Waiting);
                self.call(call);
                Poll::Pending
            }
        }
    }

    /// Sends the waiter's value, or lets it wait: `Err`. Both have the wake that the caller must
    /// perform.
    ///
    /// # Safety
    ///
    /// The waiter is prepared, and is not moved or dropped until its node is taken out.
    pub(super) unsafe fn send_or_join(
        state: &mut State<T>,
        waiter: &Waiter<T>,
    ) -> Result<Call, Call> {
        // SAFETY: the slot belongs to the waiter until the node is linked.
        let slot = unsafe { &mut *waiter.slot.get() };
        // SAFETY: by this function's contract, the waiter is not moved or dropped while its node is
        // linked, and the slot is its own.
        match unsafe { state.send_or_join(waiter.node(), slot) } {
            Ok(wake) => Ok(state.call(wake)),
            Err(()) => Err(state.call(Wake::Nobody)),
        }
    }

    /// Returns the result of a send: an error with the value if it is still in the waiter.
    pub(super) fn sent(waiter: &Waiter<T>) -> Result<(), SendError<T>> {
        waiter.stage.set(Stage::Done);
        match waiter.take() {
            None => Ok(()),
            Some(value) => Err(SendError(value)),
        }
    }
}

/// Waiters for the end.
impl<T> Channel<T> {
    pub(super) fn poll_closed(&self, waiter: &Waiter<T>, cx: &mut Context<'_>) -> Poll<()> {
        let waits = !self.is_closed()
            && match waiter.stage.get() {
                Stage::Waiting => self.still_waits(waiter.node(), cx.waker(), Queue::CloseWaiters),
                _ => self.join_close_waiters(waiter, waiter.arm(cx.waker())),
            };
        if waits {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }

    fn join_close_waiters(&self, waiter: &Waiter<T>, node: &Node<Request>) -> bool {
        let joined = self.locked(|state| {
            let open = !state.is_closed();
            if open {
                // SAFETY: the future is pinned, or the waiter is on the stack, and
                // the node is taken out before it goes.
                unsafe { state.list(Queue::CloseWaiters).push(node) };
            }
            open
        });
        if joined {
            waiter.stage.set(Stage::Waiting);
        }
        joined
    }

    /// Blocks the thread until the channel is closed, or until the deadline. Returns `true` if it is closed.
    pub(super) fn closed_until(&self, deadline: Option<Instant>, caller: Caller) -> bool {
        let waiter = Waiter::new(None);
        let node = waiter.prepare();
        if !self.join_close_waiters(&waiter, node) {
            return true;
        }
        let _waits = self.blocks(Kind::MpmcClosed, deadline, caller);
        node.sleep(deadline) || !self.leave(node, Queue::CloseWaiters)
    }
}
