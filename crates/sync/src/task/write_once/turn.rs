//! Waiting for the turn to make the value, and for the value.

use std::future::Future;
use std::mem;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use blitz_futex::atomic::Ordering;

use super::{BUSY, EMPTY, Request, SET, WriteOnce};
use crate::coop;
use crate::mutant::{Mutant, active};
use crate::spin::EventSpin;
use crate::wait_queue::Node;

/// The right to make the value. Dropped without [`fill`](Turn::fill), it goes to
/// the next waiter that wants it.
pub(in crate::task) struct Turn<'a, T>(&'a WriteOnce<T>);

/// What a wait ends with: the turn, or the value.
pub(in crate::task) type Outcome<'a, T> = Result<Turn<'a, T>, &'a T>;

impl<'a, T> Turn<'a, T> {
    pub(in crate::task) fn fill(self, value: T) -> &'a T {
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

/// Waits for the turn, or the value.
pub(in crate::task) struct ForTurn<'a, T>(Wait<'a, T>);

/// Waits for the value.
pub(in crate::task) struct ForValue<'a, T>(Wait<'a, T>);

impl<T> WriteOnce<T> {
    #[inline]
    pub(in crate::task) fn turn(&self) -> ForTurn<'_, T> {
        ForTurn(Wait::new(self, Request::Turn))
    }

    #[inline]
    pub(in crate::task) fn value(&self) -> ForValue<'_, T> {
        ForValue(Wait::new(self, Request::Value))
    }

    /// [`turn`](WriteOnce::turn) for a thread.
    #[cold]
    pub(in crate::task) fn blocking_turn(&self) -> Outcome<'_, T> {
        pin!(self.turn().0).block()
    }

    /// [`value`](WriteOnce::value) for a thread.
    #[cold]
    pub(in crate::task) fn blocking_value(&self) -> &T {
        expect_value(pin!(self.value().0).block())
    }
}

impl<'a, T> Future for ForTurn<'a, T> {
    type Output = Outcome<'a, T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: it is as pinned as the future around it.
        let wait = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
        coop::poll_with(context, |context| wait.poll(context.waker()))
    }
}

impl<'a, T> Future for ForValue<'a, T> {
    type Output = &'a T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<&'a T> {
        // SAFETY: it is as pinned as the future around it.
        let wait = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
        wait.poll(context.waker()).map(expect_value)
    }
}

/// For a reader: a waiter that only wants the value.
fn expect_value<'a, T>(outcome: Outcome<'a, T>) -> &'a T {
    outcome.err().expect("the turn went to a reader")
}

/// One waiter.
struct Wait<'a, T> {
    cell: &'a WriteOnce<T>,
    /// Its node is in the queue, or has been chosen without its knowing.
    waits: bool,
    node: Node<Request>,
}

impl<'a, T> Wait<'a, T> {
    #[inline]
    fn new(cell: &'a WriteOnce<T>, request: Request) -> Self {
        Self {
            cell,
            waits: false,
            node: Node::new(request),
        }
    }

    fn poll(self: Pin<&mut Self>, waker: &Waker) -> Poll<Outcome<'a, T>> {
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        if this.waits {
            return this.look_again(waker);
        }
        // SAFETY: it is pinned, and `drop` unlinks it.
        match unsafe { this.join(Some(waker)) } {
            Some(outcome) => Poll::Ready(outcome),
            None => Poll::Pending,
        }
    }

    /// Takes the turn, or finds the value, or joins the queue: with this waker, or
    /// as a thread.
    ///
    /// # Safety
    ///
    /// It stays where it is until it is dropped.
    unsafe fn join(&mut self, waker: Option<&Waker>) -> Option<Outcome<'a, T>> {
        let waiters = &self.cell.waiters;
        // A waiter that need not wait need not clone its waker either.
        let waits = !(self.need_not_wait() && waiters.locked(|_| self.takes_or_finds()));
        self.waits = waits
            // SAFETY: it stays where it is, and `drop` unlinks it.
            && unsafe {
                waiters.join_if(&self.node, waker, |_| {
                    active(Mutant::WriteOnceJoinsBlindly) || !self.takes_or_finds()
                })
            };
        (!self.waits).then(|| self.outcome())
    }

    /// Whether it looks as if there was something without waiting.
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
        if need_not_wait && !self.cell.is_set() {
            self.cell.state.store(BUSY, Ordering::Relaxed);
        }
        need_not_wait
    }

    fn look_again(&mut self, waker: &Waker) -> Poll<Outcome<'a, T>> {
        if self.cell.is_set() {
            // Its node is about to be chosen, if it has not been.
            self.cell.waiters.leave(&self.node);
        } else if self.cell.waiters.still_waits(&self.node, waker) {
            return Poll::Pending;
        }
        self.waits = false;
        Poll::Ready(self.outcome())
    }

    /// What it has been chosen for, or did not have to wait for.
    fn outcome(&self) -> Outcome<'a, T> {
        match self.cell.get() {
            Some(value) => Err(value),
            None => Ok(Turn(self.cell)),
        }
    }

    /// Waits as a thread.
    fn block(self: Pin<&mut Self>) -> Outcome<'a, T> {
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        let mut spin = EventSpin::new();
        while !this.need_not_wait() && spin.turn() {}
        // SAFETY: it is pinned, and `drop` unlinks it.
        if let Some(outcome) = unsafe { this.join(None) } {
            return outcome;
        }
        this.cell.waiters.sleep(&this.node, None);
        this.waits = false;
        this.outcome()
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
        if !left && !self.cell.is_set() && !active(Mutant::WriteOnceKeepsTurn) {
            self.cell.give_up();
        }
    }
}
