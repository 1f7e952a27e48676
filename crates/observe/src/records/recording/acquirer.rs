//! `Acquirer`: the thread, task or future that acquires an object.
//!
//! Outside of a task and of a `block_on` of this library, a future is one of another runtime, which polls it in any of its
//! threads. So the holder of an object is the future, and not the thread. The waker identifies it (`foreign.rs`).

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::Waiter;

/// See the module documentation. Nothing without the feature `inspect`.
#[derive(Clone, Copy, Debug)]
pub struct Acquirer {
    pub(super) waiter: Waiter,
    /// It is the waiter that has the object from now on, and no future that the thread polls.
    pub(super) is_known: bool,
}

impl Acquirer {
    /// Returns the current task or thread, which keeps the guard.
    #[inline]
    #[must_use]
    pub fn current() -> Self {
        Self {
            waiter: Waiter::current(),
            is_known: true,
        }
    }

    /// Returns the current task or thread, in a call that does not wait: a future of another runtime may make it, too.
    #[inline]
    #[must_use]
    pub fn at_once() -> Self {
        let waiter = Waiter::current();
        Self {
            waiter,
            is_known: waiter.is_task(),
        }
    }

    /// Returns the current task, or else the future that is polled with this waker.
    #[inline]
    #[must_use]
    pub fn polled_with(waker: &Waker) -> Self {
        let waiter = Waiter::polled_with(waker);
        Self {
            waiter,
            is_known: waiter.is_task(),
        }
    }

    /// Returns a future that is ready at once, with the acquirer that polls it.
    #[inline]
    #[must_use]
    pub fn of_poll() -> OfPoll {
        OfPoll
    }

    /// Returns the word of the thread, task or future.
    #[inline]
    #[must_use]
    pub const fn word(self) -> u64 {
        self.waiter.word()
    }

    /// Returns `true` for a future of another runtime, or a thread that may have polled one.
    #[inline]
    pub(super) fn may_be_foreign(self) -> bool {
        !self.is_known || self.waiter.is_future()
    }
}

/// See [`Acquirer::of_poll`].
#[derive(Debug)]
pub struct OfPoll;

impl Future for OfPoll {
    type Output = Acquirer;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Acquirer> {
        Poll::Ready(Acquirer::polled_with(context.waker()))
    }
}
