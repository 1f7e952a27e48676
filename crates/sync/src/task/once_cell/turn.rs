//! Waiting for the turn to make the value, and for the value.

use std::future::Future;
use std::mem;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use blitz_io_futex::atomic::Ordering;

use super::{BUSY, EMPTY, OnceCell, Request, SET};
use blitz_io_core::Node;
use blitz_io_core::coop;
use blitz_io_core::deadline::is_past;
use blitz_io_core::spin::Spin;
use blitz_io_observe::{Acquirer, Blocking, Caller, Kind, Wait as Record, WaitKind};

/// The right to make the value. Dropped without [`fill`](Turn::fill), it goes to
/// the next waiter that wants it.
pub(super) struct Turn<'a, T>(&'a OnceCell<T>);

/// The result of a wait: the turn, or the value.
pub(super) type Outcome<'a, T> = Result<Turn<'a, T>, &'a T>;

impl<'a, T> Turn<'a, T> {
    pub(super) fn fill(self, value: T) -> &'a T {
        let cell = self.0;
        mem::forget(self);
        cell.fill(value)
    }
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

impl<T> OnceCell<T> {
    /// Waits for the turn, or the value.
    #[inline]
    pub(super) fn turn(&self, caller: Caller) -> Wait<'_, T> {
        Wait::new(self, Request::Turn, caller)
    }

    /// Waits for the value.
    pub(super) async fn value(&self, caller: Caller) -> &T {
        coop::at_point().await;
        let outcome = Wait::new(self, Request::Value, caller).await;
        coop::acted();
        expect_value(outcome)
    }

    /// Waits for the [`turn`](OnceCell::turn) as a thread.
    #[cold]
    pub(super) fn blocking_turn(&self, caller: Caller) -> Outcome<'_, T> {
        let outcome = pin!(self.turn(caller)).block(None);
        outcome.expect(WITHOUT_END)
    }

    /// Waits for the [`value`](OnceCell::value) as a thread, until the deadline at the latest.
    #[cold]
    pub(super) fn blocking_value(&self, deadline: Option<Instant>, caller: Caller) -> Option<&T> {
        let outcome = pin!(Wait::new(self, Request::Value, caller)).block(deadline);
        outcome.map(expect_value)
    }
}

/// The message of a broken invariant of a wait without a limit.
pub(super) const WITHOUT_END: &str = "a wait without a deadline does not time out";

/// Returns the value for a reader: a waiter that only wants the value.
fn expect_value<'a, T>(outcome: Outcome<'a, T>) -> &'a T {
    outcome.err().expect("the turn went to a reader")
}

/// One waiter.
pub(super) struct Wait<'a, T> {
    cell: &'a OnceCell<T>,
    /// Its node is in the queue, or has been chosen without its knowing.
    waits: bool,
    node: Node<Request>,
    record: Record,
}

impl<'a, T> Wait<'a, T> {
    #[inline]
    fn new(cell: &'a OnceCell<T>, request: Request, caller: Caller) -> Self {
        Self {
            cell,
            waits: false,
            node: Node::new(request),
            record: Record::new(caller),
        }
    }

    fn poll_wait(self: Pin<&mut Self>, waker: &Waker) -> Poll<Outcome<'a, T>> {
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        let polled = if this.waits {
            this.look_again(waker)
        } else {
            // SAFETY: it is pinned, and `drop` unlinks it.
            match unsafe { this.join(Some(waker)) } {
                Some(outcome) => Poll::Ready(outcome),
                None => Poll::Pending,
            }
        };
        let kind = WaitKind::new(Kind::OnceCell);
        this.record.note(kind, &this.cell.object, waker, polled)
    }

    /// Takes the turn, or finds the value, or joins the queue: with this waker, or
    /// as a thread.
    ///
    /// # Safety
    ///
    /// The waiter does not move until it is dropped.
    unsafe fn join(&mut self, waker: Option<&Waker>) -> Option<Outcome<'a, T>> {
        let by = waker.map_or_else(Acquirer::current, Acquirer::polled_with);
        let waiters = &self.cell.waiters;
        // A waiter that need not wait need not clone its waker either.
        if self.need_not_wait() && waiters.locked(|_| self.takes_or_finds()) {
            return Some(self.outcome(by));
        }
        let joins = |_: &mut _| !self.takes_or_finds();
        // SAFETY: by this function's contract, the waiter does not move, and `drop` unlinks it.
        self.waits = unsafe { waiters.join_if(&self.node, waker, joins) };
        if self.waits {
            return None;
        }
        // SAFETY: it is not linked.
        unsafe { self.node.disarm() };
        Some(self.outcome(by))
    }

    /// Returns `true` if it seems that the waiter can proceed without a wait.
    fn need_not_wait(&self) -> bool {
        match self.cell.state.load(Ordering::Acquire) {
            SET => true,
            EMPTY => self.node.request == Request::Turn,
            _ => false,
        }
    }

    /// Takes the turn, or finds the value, if there is no need to wait. Under the lock.
    fn takes_or_finds(&self) -> bool {
        let need_not_wait = self.need_not_wait();
        if need_not_wait && !self.cell.initialized() {
            self.cell.state.store(BUSY, Ordering::Relaxed);
        }
        need_not_wait
    }

    fn look_again(&mut self, waker: &Waker) -> Poll<Outcome<'a, T>> {
        if self.cell.initialized() {
            // Its node is about to be chosen, if it has not been.
            self.cell.waiters.leave(&self.node);
        } else if self.cell.waiters.still_waits(&self.node, waker) {
            return Poll::Pending;
        }
        self.waits = false;
        Poll::Ready(self.outcome(Acquirer::polled_with(waker)))
    }

    /// Returns the result of the wait, after the node was chosen or did not have to join.
    fn outcome(&self, by: Acquirer) -> Outcome<'a, T> {
        match self.cell.get() {
            Some(value) => Err(value),
            None => {
                self.cell.object.taken_at(self.record.caller());
                self.cell.object.acquired_by(by);
                Ok(Turn(self.cell))
            }
        }
    }

    /// Waits as a thread. Returns `None` if the deadline has passed.
    fn block(self: Pin<&mut Self>, deadline: Option<Instant>) -> Option<Outcome<'a, T>> {
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        let mut spin = Spin::EVENT;
        while !this.need_not_wait() && !is_past(deadline) && spin.turn() {}
        // SAFETY: it is pinned, and `drop` unlinks it.
        let outcome = unsafe { this.join(None) };
        if outcome.is_some() {
            return outcome;
        }
        let chosen = {
            let (object, caller) = (&this.cell.object, this.record.caller());
            let _waits = Blocking::new(Kind::OnceCell, object, caller, deadline.is_some());
            this.cell.waiters.sleep(&this.node, deadline)
        };
        this.waits = false;
        chosen.then(|| this.outcome(Acquirer::current()))
    }
}

impl<'a, T> Future for Wait<'a, T> {
    type Output = Outcome<'a, T>;

    /// Polls the wait. Only the turn costs a unit of the task's budget.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome<'a, T>> {
        match self.node.request {
            Request::Turn => coop::poll_with(context, |context| self.poll_wait(context.waker())),
            Request::Value => self.poll_wait(context.waker()),
        }
    }
}

impl<T> Drop for Wait<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.waits {
            self.cancel();
        }
    }
}

impl<T> Wait<'_, T> {
    #[cold]
    fn cancel(&self) {
        let left = self.cell.waiters.leave(&self.node);
        if !left && !self.cell.initialized() {
            self.cell.give_up();
        }
    }
}
