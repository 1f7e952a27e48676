//! Senders that wait: for room, first come, first served, and for the end.
//!
//! # The announcement
//!
//! A sender that finds no room takes the lock of the queue and sets `TX_WAITS` in the channel's
//! word. From then on no sender claims or reserves without being chosen. So the room can only
//! grow: by values that are received, and by permits that come back. Both look at `TX_WAITS`
//! afterwards and serve the queue. Under the same lock, the sender looks at the room again, and
//! takes it or joins the queue. `TX_WAITS` is cleared, under the lock, when the queue is empty.
//!
//! *A permit that comes back* changes the word that holds `TX_WAITS`, so one of the
//! two sides sees the other.
//!
//! *A value that is received* changes another word, `head`: the receiver stores
//! `head` and looks at the announcement, the sender announces and looks at `head`.
//! That is Dekker's pattern, and the receiver should pay nothing for it while no sender
//! waits. So the channel is in one of two modes:
//!
//! * `QUIET`: the receiver makes a light publication (`fences::publish`): a store,
//!   and a look at the mode that may overtake it.
//! * `CONTENDED`: the receiver passes a full fence and looks at `TX_WAITS`.
//!
//! A sender that has announced itself, and passed a full fence, reads the mode:
//!
//! 1. If it is quiet, the sender changes it to contended and makes every thread pass a fence
//!    (`fences::heavy`), all under the lock. After that a publication either is visible to it, or
//!    its look comes late enough to see the new mode.
//! 2. If it is contended, the thread that wrote it has passed a fence since: a sender its heavy
//!    fence, as it wrote the mode under the lock; the receiver a full fence.
//!
//! So every publication that the sender cannot see is followed by a full fence and a look at
//! `TX_WAITS`, which comes after the announcement.
//!
//! The receiver ends contended mode after a number of receives that found no waiting sender: it
//! writes `QUIET`, passes a full fence and looks again. Either it sees the announcement, and
//! changes back, or the sender that made it will read `QUIET`. Only the receiver writes `QUIET`,
//! so no other thread's `CONTENDED` is lost.
//!
//! `queue_up` reads the word for its decisions by the read-modify-write that sets
//! `TX_WAITS`, so no claim can come between the two.
//!
//! # Being chosen
//!
//! The thread that serves takes permits for the first waiter, if there is room for as
//! many as it requests, and chooses it. If the first requests more than there is, all
//! wait: a large request cannot be starved by small ones. A waiter that was chosen
//! and gives up passes its permits on; one that gives up before that serves the
//! queue, because the one behind it may request less.
//!
//! A thread that waits to send hands its value over. The thread that serves sends it, with the
//! permit that it took, before it wakes the waiting thread. So the receiver has the next value at
//! once, and not only when the waiting thread runs again.
//!
//! The server claims the slot *before* the waiting thread can see that it was chosen, which that
//! thread may do without being woken: the next value that it sends must come later. So the claim
//! is made under the lock of the queue. It runs no code of the user's, and takes at most the lock
//! under which blocks are linked, whose holder never takes this one. The slot is filled after the
//! lock is released, as filling it may wake the receiver.

use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use blitz_io_core::{List, Node, Panics, Spin, WaitQueue, Wakes, coop, deadline, fences};
use blitz_io_futex::atomic::{Ordering, fence};
use blitz_io_observe::{Kind, WaitKind, Waiting};

use super::chan::{CONTENDED, Chan, Claim};
use super::error::{SendError, SendTimeoutError, TrySendError};
use super::request::Request;
use super::word::Snapshot;
use crate::model::model_has_failed;
use crate::wait::{Event, Target, Wait, block_until};

/// A thread queues up without trying again if the channel's capacity is less than this.
const QUEUE_AT_ONCE: u32 = 16;

impl<T> Chan<T> {
    /// Takes permits if there is room after all. Otherwise queues up and returns `Pending`.
    ///
    /// # Safety
    ///
    /// The node is not linked, and must not be moved or dropped while it is linked.
    unsafe fn queue_up(&self, node: &Node<Request<T>>) -> Poll<Result<(), SendError<()>>> {
        self.waiters.locked(|list| {
            let word = self.tail.0.word.announce_senders();
            if word.is_closed() {
                self.stop_waiting(list);
                return Poll::Ready(Err(SendError(())));
            }
            self.enter_contended_mode();
            let n = node.request.permits;
            if list.is_empty() && self.fits(word, n) {
                self.tail.0.word.grant(n);
                self.stop_waiting(list);
                return Poll::Ready(Ok(()));
            }
            // SAFETY: by this function's contract, the node is not linked, and not moved while it is linked.
            unsafe { list.push(node) };
            Poll::Pending
        })
    }

    /// Enters contended mode, after an announcement and under the lock. A publication that the
    /// receiver has made without looking is then visible, and later ones look.
    fn enter_contended_mode(&self) {
        fence(Ordering::SeqCst);
        if self.mode.load(Ordering::SeqCst) != CONTENDED {
            self.mode.store(CONTENDED, Ordering::SeqCst);
            fences::heavy();
        }
        // The acquire that belongs to the light publication; the head came before it.
        self.front.0.taken.load(Ordering::Acquire);
    }

    /// Returns `true` if there is room for `n` permits. While `TX_WAITS` is set that can only
    /// become true.
    fn fits(&self, word: Snapshot, n: u32) -> bool {
        let head = self.front.0.head.load(Ordering::SeqCst);
        // Where all senders wait first, nothing else would keep it up to date, and
        // positions can only be compared while they are less than 2^32 apart.
        self.tail.0.head_seen.store(head, Ordering::Relaxed);
        self.is_room(word, head, n) && word.may_reserve(n)
    }

    fn stop_waiting(&self, list: &List<Request<T>>) {
        if list.is_empty() {
            self.tail.0.word.end_senders_wait();
        }
    }

    /// Chooses and wakes the waiters for which there is room. All are served even if
    /// a waker panics; the first panic is propagated afterwards.
    #[cold]
    pub fn serve(&self) {
        let mut panics = Panics::default();
        loop {
            let mut wakes = Wakes::new();
            let sending = self.waiters.locked(|list| self.choose(list, &mut wakes));
            let all = sending.is_none() && !wakes.is_full();
            if let Some((claim, value)) = sending {
                panics.put_off(|| self.fill_for_sender(claim, value));
            }
            panics.put_off(|| wakes.wake());
            if all {
                return panics.go_on();
            }
        }
    }

    /// Gives permits to the first waiters as long as there is room. Stops at a waiter that has
    /// handed its value over. Returns that value and the slot that was claimed for it, which must
    /// be filled before the waiter is woken.
    fn choose(&self, list: &mut List<Request<T>>, wakes: &mut Wakes) -> Option<(Claim, T)> {
        while let Some(first) = list.first().filter(|_| !wakes.is_full()) {
            let request = &first.request;
            if !self.fits(self.tail.0.word.load(), request.permits) {
                return None;
            }
            self.tail.0.word.grant(request.permits);
            request.granted.set(true);
            if let Some(waker) = list.first_waker() {
                self.observed.object.handed_over(waker);
            }
            // SAFETY: the owner keeps the value in place while the node is linked, and does not
            // use it again once the request is granted.
            let value = request.value.map(|value| unsafe { value.read() });
            // Before its owner can see that it was chosen, and send the next one.
            let sending = value.map(|value| (self.claim_permitted(), value));
            list.choose_first()
                .into_iter()
                .for_each(|wake| wakes.push(wake));
            if sending.is_some() {
                self.stop_waiting(list);
                return sending;
            }
        }
        self.stop_waiting(list);
        None
    }

    /// Tells all waiters that the channel is closed. None can join them.
    pub fn turn_away(&self) {
        let mut panics = Panics::default();
        panics.put_off(|| {
            self.waiters.notify_all();
        });
        self.waiters.locked(|list| self.stop_waiting(list));
        panics.go_on();
    }

    /// Returns the result of a chosen waiter. As in Tokio, a closed channel counts more than a permit
    /// that was granted before.
    fn outcome(&self, request: &Request<T>) -> Result<(), SendError<()>> {
        if request.granted.get() {
            self.unless_closed(request.permits)
        } else {
            Err(SendError(()))
        }
    }

    /// Keeps `n` permits, unless the channel has been closed since they were granted.
    fn unless_closed(&self, n: u32) -> Result<(), SendError<()>> {
        if !self.is_closed() {
            return Ok(());
        }
        self.give_back(n);
        Err(SendError(()))
    }

    /// Sends a value as a thread, which waits for room.
    #[inline]
    pub fn send_blocking(
        &self,
        value: T,
        deadline: impl FnOnce() -> Option<Instant>,
    ) -> Result<(), SendTimeoutError<T>> {
        match self.try_send(value) {
            Ok(()) => Ok(()),
            Err(TrySendError::Closed(value)) => Err(SendTimeoutError::Closed(value)),
            Err(TrySendError::Full(value)) => self.send_until(value, deadline()),
        }
    }

    #[cold]
    fn send_until(
        &self,
        mut value: T,
        deadline: Option<Instant>,
    ) -> Result<(), SendTimeoutError<T>> {
        let mut spin = Spin::handoff(self.strong_count() + 1);
        loop {
            value = match self.try_send(value) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Closed(value)) => return Err(SendTimeoutError::Closed(value)),
                Err(TrySendError::Full(value)) if deadline::is_past(deadline) => {
                    return Err(SendTimeoutError::Timeout(value));
                }
                Err(TrySendError::Full(value)) => value,
            };
            // Where others queue, trying again cannot help. And where there is little
            // room, the receiver should find as many values as possible to fill it
            // with, without having to wait for their threads to run.
            let others_wait = self.tail.0.word.peek().senders_wait();
            if self.limit < QUEUE_AT_ONCE || others_wait || !spin.turn() {
                break;
            }
        }
        // A task's value is not handed over: its future may be dropped, and then
        // nothing must be sent.
        let mut value = ManuallyDrop::new(value);
        let node = Node::new(Request {
            value: Some(NonNull::from(&mut *value)),
            ..Request::new(1)
        });
        // SAFETY: the node is not moved, and not linked when this function returns.
        let queued = unsafe { self.queue_up(&node) };
        let in_time = queued.is_ready() || self.sleep(&node, deadline);
        if in_time && node.request.granted.get() {
            // Another thread has sent the value, and is no sender itself.
            self.record_sender();
            return Ok(());
        }
        if !in_time {
            self.left_queue();
        }
        // SAFETY: no other thread has granted the request and taken the value.
        let value = unsafe { ManuallyDrop::take(&mut value) };
        match queued {
            Poll::Ready(Ok(())) => {
                self.send_permitted(value);
                Ok(())
            }
            _ if in_time => Err(SendTimeoutError::Closed(value)),
            _ => Err(SendTimeoutError::Timeout(value)),
        }
    }

    /// Waits in the queue, spinning first.
    fn sleep(&self, node: &Node<Request<T>>, deadline: Option<Instant>) -> bool {
        let is_timed = deadline.is_some();
        let _waits = self.observed.block(Kind::MpscSend, is_timed);
        let mut spin = Spin::handoff(self.strong_count() + 1);
        while !node.is_signalled() && spin.turn() {}
        self.waiters.sleep(node, deadline)
    }

    /// Waits for `n` permits as a task.
    pub fn reserve(&self, n: u32) -> Reserve<'_, T> {
        Reserve {
            chan: self,
            node: Node::new(Request::new(n)),
            state: State::New,
            waiting: self.observed.waiting("Sender::reserve"),
        }
    }

    /// Serves the queue after a waiter has given up: those behind it may request less.
    fn left_queue(&self) {
        self.serve();
    }
}

/// Waits for permits. When it is ready, the caller owns them.
pub struct Reserve<'a, T> {
    chan: &'a Chan<T>,
    node: Node<Request<T>>,
    state: State,
    waiting: Waiting,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Queued,
    /// It owns the permits, and the task had no budget left to use them.
    Holds,
    Done,
}

impl<T> Future for Reserve<'_, T> {
    /// `Err`: the channel is closed.
    type Output = Result<(), SendError<()>>;

    /// A task without budget still queues up or takes the permits, so that it does not lose its
    /// place in the queue. It uses the permits only when it has budget again.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.chan.observed.object.touch(Kind::MpscSend);
        // SAFETY: the node is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        let (kind, object) = (WaitKind::new(Kind::MpscSend), &this.chan.observed.object);
        ready!(this.waiting.at_point(coop::point(cx), kind, object));
        let poll = |this: &mut Self| this.poll_in_budget(cx);
        Waiting::poll(this, |this| &mut this.waiting, "poll_reserve", poll)
    }
}

impl<T> Reserve<'_, T> {
    /// Gets the permits, and completes with them if there is a unit of budget left for that.
    fn poll_in_budget(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SendError<()>>> {
        let Poll::Ready(result) = self.poll_permits(cx) else {
            let kind = WaitKind::new(Kind::MpscSend);
            self.waiting
                .begin_called(kind, &self.chan.observed.object, cx.waker());
            return Poll::Pending;
        };
        self.waiting.end();
        if result.is_ok() {
            self.state = State::Holds;
            ready!(coop::poll_proceed_after_point(cx)).made_progress();
            self.state = State::Done;
        }
        Poll::Ready(result)
    }

    /// Gets the permits, also without budget.
    fn poll_permits(&mut self, cx: &Context<'_>) -> Poll<Result<(), SendError<()>>> {
        let (chan, node) = (self.chan, &self.node);
        let result = match self.state {
            // It has not tried before, for lack of budget.
            State::New
                if !coop::has_budget_remaining()
                    && chan.try_reserve(node.request.permits).is_ok() =>
            {
                Ok(())
            }
            State::New => {
                // SAFETY: the node has not been linked yet.
                unsafe { node.arm(cx.waker()) };
                // SAFETY: the node is new, so not linked; it is pinned, and `drop` unlinks it.
                match unsafe { chan.queue_up(node) } {
                    Poll::Ready(result) => result,
                    Poll::Pending => {
                        self.state = State::Queued;
                        return Poll::Pending;
                    }
                }
            }
            State::Queued if chan.waiters.still_waits(node, cx.waker()) => return Poll::Pending,
            // `Done` first: `outcome` may give the permits back and wake. If a waker panics then,
            // `drop` must not give them back again.
            State::Queued => {
                self.state = State::Done;
                chan.observed.object.hand_over_ended();
                chan.outcome(&node.request)
            }
            State::Holds => {
                self.state = State::Done;
                chan.unless_closed(node.request.permits)
            }
            State::Done => panic!("polled after it was ready"),
        };
        self.state = State::Done;
        Poll::Ready(result)
    }
}

impl<T> Drop for Reserve<'_, T> {
    fn drop(&mut self) {
        let (chan, request) = (self.chan, &self.node.request);
        if self.state == State::Queued {
            chan.observed.object.hand_over_ended();
        }
        match self.state {
            State::New | State::Done => return,
            _ if model_has_failed() => return,
            State::Queued if chan.waiters.leave(&self.node) => return chan.left_queue(),
            State::Queued if !request.granted.get() => return,
            State::Queued | State::Holds => {}
        }
        chan.give_back(request.permits);
    }
}

/// The end of the channel, as senders wait for it.
struct Closed<'a, T>(&'a Chan<T>);

impl<T> Chan<T> {
    /// Waits until the receiver takes no more values.
    pub async fn closed(&self) {
        coop::at_point().await;
        Wait::new(Closed(self)).await;
        coop::acted();
    }

    /// Blocks the thread until the receiver takes no more values, or until the deadline. Returns `true` if it
    /// takes none.
    pub fn closed_until(&self, deadline: Option<Instant>) -> bool {
        block_until(Closed(self), deadline).is_some()
    }
}

impl<T> Event for Closed<'_, T> {
    type Output = ();

    fn queue(&self) -> &WaitQueue {
        &self.0.close_waiters
    }

    fn look(&mut self) -> Option<()> {
        self.0.is_closed().then_some(())
    }

    fn must_wait(&self) -> bool {
        !self.0.is_closed()
    }

    fn target(&self) -> Target<'_> {
        Target {
            kind: Kind::MpscClosed,
            observed: &self.0.observed,
        }
    }
}
