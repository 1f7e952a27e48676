//! A receiver that is moved into the future of one wait, and comes back with its result.
//!
//! A wait borrows its receiver, so a stream cannot hold both of them. While nothing has
//! arrived, the stream holds one boxed future that owns the receiver; a value that is
//! already there is taken without a future.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

type Waiting<T, R> = Pin<Box<dyn Future<Output = (R, T)> + Send>>;

/// A receiver of type `T`, and the way it waits for an `R`.
pub(super) struct Reusable<T, R> {
    state: State<T, R>,
    wait: fn(T) -> Waiting<T, R>,
}

enum State<T, R> {
    Idle(T),
    Waiting(Waiting<T, R>),
    /// The future has panicked.
    Gone,
}

// SAFETY: a shared reference gives access to nothing: every method takes `&mut self`.
unsafe impl<T, R> Sync for Reusable<T, R> {}

// The future is behind a pointer, and the receiver is not pinned.
impl<T, R> Unpin for Reusable<T, R> {}

impl<T, R> Reusable<T, R> {
    pub(super) fn new(receiver: T, wait: fn(T) -> Waiting<T, R>) -> Self {
        Self {
            state: State::Idle(receiver),
            wait,
        }
    }

    /// Calls `attempt` first, and waits if it returns nothing.
    pub(super) fn poll(
        &mut self,
        context: &mut Context<'_>,
        attempt: impl FnOnce(&mut T) -> Option<R>,
    ) -> Poll<R> {
        if let State::Idle(receiver) = &mut self.state {
            if let Some(result) = attempt(receiver) {
                return Poll::Ready(result);
            }
        }
        let mut waiting = match std::mem::replace(&mut self.state, State::Gone) {
            State::Idle(receiver) => (self.wait)(receiver),
            State::Waiting(waiting) => waiting,
            State::Gone => panic!("a stream was polled after it had panicked"),
        };
        let polled = waiting.as_mut().poll(context);
        let Poll::Ready((result, receiver)) = polled else {
            self.state = State::Waiting(waiting);
            return Poll::Pending;
        };
        self.state = State::Idle(receiver);
        Poll::Ready(result)
    }
}
