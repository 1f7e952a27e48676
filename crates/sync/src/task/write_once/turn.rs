//! Waiting for the turn to make the value, and for the value.

use std::future::Future;
use std::mem;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use blitz_futex::atomic::Ordering;

use super::mutant::{Mutant, active};
use super::{BUSY, EMPTY, Request, SET, WriteOnce};
use crate::coop;
use crate::spin::EventSpin;
use crate::wait_queue::Node;

/// The right to make the value. Dropped without [`fill`](Turn::fill), it goes to
/// the next who wants it.
pub(in crate::task) struct Turn<'a, T>(&'a WriteOnce<T>);

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

/// Waits for the turn, or the value: `Some` is the turn, `None` says that the
/// value is there.
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
    pub(in crate::task) fn blocking_turn(&self) -> Option<Turn<'_, T>> {
        match pin!(self.turn().0).block() {
            Outcome::Turn => Some(Turn(self)),
            Outcome::Value => None,
        }
    }

    /// [`value`](WriteOnce::value) for a thread.
    #[cold]
    pub(in crate::task) fn blocking_value(&self) {
        pin!(self.value().0).block().expect_value();
    }
}

impl<'a, T> Future for ForTurn<'a, T> {
    type Output = Option<Turn<'a, T>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: it is as pinned as the future around it.
        let wait = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
        let cell = wait.cell;
        coop::poll_with(context, |context| {
            wait.poll(context.waker()).map(|outcome| match outcome {
                Outcome::Turn => Some(Turn(cell)),
                Outcome::Value => None,
            })
        })
    }
}

impl<T> Future for ForValue<'_, T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: it is as pinned as the future around it.
        let wait = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
        wait.poll(context.waker()).map(Outcome::expect_value)
    }
}

enum Outcome {
    Turn,
    Value,
}

impl Outcome {
    /// For who only waits for the value.
    fn expect_value(self) {
        assert!(matches!(self, Self::Value), "the turn went to a reader");
    }
}

/// One who waits.
struct Wait<'a, T> {
    cell: &'a WriteOnce<T>,
    /// Its node is in the queue, or has been chosen, and nobody knows yet.
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

    fn poll(self: Pin<&mut Self>, waker: &Waker) -> Poll<Outcome> {
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
    unsafe fn join(&mut self, waker: Option<&Waker>) -> Option<Outcome> {
        if self.need_not_wait() {
            // Then a waker need not be cloned either.
            if let Some(outcome) = self.cell.waiters.locked(|_| self.look()) {
                return Some(outcome);
            }
        }
        if let Some(waker) = waker {
            // SAFETY: it is not linked.
            unsafe { self.node.arm(waker) };
        }
        let outcome = self.cell.waiters.locked(|list| {
            let outcome = match active(Mutant::JoinsBlindly) {
                false => self.look(),
                true => None,
            };
            if outcome.is_none() {
                // SAFETY: it stays where it is, and `drop` unlinks it.
                unsafe { list.push(&self.node) };
            }
            outcome
        });
        self.waits = outcome.is_none();
        if !self.waits {
            // SAFETY: it is not linked.
            unsafe { self.node.disarm() };
        }
        outcome
    }

    /// Whether it looks as if there was something without waiting.
    fn need_not_wait(&self) -> bool {
        match self.cell.state.load(Ordering::Acquire) {
            SET => true,
            EMPTY => self.node.request == Request::Turn,
            _ => false,
        }
    }

    /// What there is without waiting. Under the lock.
    fn look(&self) -> Option<Outcome> {
        match self.cell.state.load(Ordering::Acquire) {
            SET => Some(Outcome::Value),
            EMPTY if self.node.request == Request::Turn => {
                self.cell.state.store(BUSY, Ordering::Relaxed);
                Some(Outcome::Turn)
            }
            _ => None,
        }
    }

    fn look_again(&mut self, waker: &Waker) -> Poll<Outcome> {
        if self.cell.is_set() {
            // Its node is about to be chosen, if it has not been.
            self.cell.waiters.leave(&self.node);
        } else if self.cell.waiters.still_waits(&self.node, waker) {
            return Poll::Pending;
        }
        self.waits = false;
        Poll::Ready(self.outcome())
    }

    /// What it has been chosen for.
    fn outcome(&self) -> Outcome {
        match self.cell.is_set() {
            true => Outcome::Value,
            false => Outcome::Turn,
        }
    }

    /// Waits as a thread.
    fn block(self: Pin<&mut Self>) -> Outcome {
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
        if !left && !self.cell.is_set() && !active(Mutant::KeepsTurn) {
            self.cell.give_up();
        }
    }
}
