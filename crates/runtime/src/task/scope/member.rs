//! A child's future, with the place for its result.

use std::future::Future;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use blitz_sync::thread::Mutex;
use pin_project_lite::pin_project;

use super::Unclaimed;
use crate::core::{Id, JoinError};

/// What a child leaves behind.
pub(super) struct Packet<T> {
    pub(super) id: Id,
    state: Mutex<State<T>>,
    unclaimed: Unclaimed,
}

enum State<T> {
    /// It has not ended. Whom to wake then.
    Running(Option<Waker>),
    Ended(Result<T, JoinError>),
    /// The result has been taken.
    Taken,
}

impl<T> Packet<T> {
    fn set(&self, result: Result<T, JoinError>) {
        let before = mem::replace(&mut *self.state.lock(), State::Ended(result));
        if let State::Running(Some(waker)) = before {
            waker.wake();
        }
    }

    pub(super) fn is_ended(&self) -> bool {
        !matches!(*self.state.lock(), State::Running(_))
    }

    /// Takes the result, or leaves the waker to be woken when it is there.
    pub(super) fn poll(&self, waker: &Waker) -> Poll<Result<T, JoinError>> {
        let mine = waker.clone();
        let mut state = self.state.lock();
        let before = match *state {
            State::Running(_) => mem::replace(&mut *state, State::Running(Some(mine))),
            _ => mem::replace(&mut *state, State::Taken),
        };
        drop(state);
        match before {
            // The waker that was there, if any, is dropped without the lock.
            State::Running(_) => Poll::Pending,
            State::Ended(result) => Poll::Ready(result),
            State::Taken => panic!("JoinHandle polled after completion"),
        }
    }
}

impl<T> Drop for Packet<T> {
    fn drop(&mut self) {
        let state = mem::replace(self.state.get_mut(), State::Taken);
        if let State::Ended(Err(error)) = state {
            if let Ok(panic) = error.try_into_panic() {
                self.unclaimed.lock().get_or_insert(panic);
            }
        }
    }
}

/// A child's future, whatever it borrows from.
pub(super) type Erased = Pin<Box<dyn Future<Output = ()> + Send>>;

pin_project! {
    /// Runs a child and keeps its result. It does not panic.
    pub(super) struct Member<F: Future> {
        // `None` when it has ended.
        #[pin]
        future: Option<F>,
        packet: Arc<Packet<F::Output>>,
    }

    impl<F: Future> PinnedDrop for Member<F> {
        /// The future has gone when its handle hears that it was cancelled.
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if this.future.is_none() {
                return;
            }
            let id = this.packet.id;
            let result = match catch_unwind(AssertUnwindSafe(|| this.future.set(None))) {
                Ok(()) => Err(JoinError::cancelled(id)),
                Err(panic) => Err(JoinError::panic(id, panic)),
            };
            this.packet.set(result);
        }
    }
}

impl<F: Future> Member<F> {
    pub(super) fn new(future: F, unclaimed: Unclaimed) -> (Self, Arc<Packet<F::Output>>) {
        let packet = Arc::new(Packet {
            id: Id::next(),
            state: Mutex::new(State::Running(None)),
            unclaimed,
        });
        let member = Self {
            future: Some(future),
            packet: packet.clone(),
        };
        (member, packet)
    }

    /// Forgets how long that lasts from which the future borrows.
    ///
    /// # Safety
    ///
    /// What is returned is neither used nor dropped after `'a`.
    pub(super) unsafe fn erase<'a>(self) -> Erased
    where
        Self: Send + 'a,
    {
        let member: Pin<Box<dyn Future<Output = ()> + Send + 'a>> = Box::pin(self);
        // SAFETY: only the lifetime is another, and the caller sees to that.
        unsafe { mem::transmute(member) }
    }
}

impl<F: Future> Future for Member<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let Some(future) = this.future.as_mut().as_pin_mut() else {
                return Poll::Pending;
            };
            future.poll(context).map(|output| {
                // Before the result is there.
                this.future.set(None);
                output
            })
        }));
        let result = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(panic) => {
                // What is left of it; a second panic would be the same one's.
                let _ = catch_unwind(AssertUnwindSafe(|| this.future.set(None)));
                Err(JoinError::panic(this.packet.id, panic))
            }
        };
        this.packet.set(result);
        Poll::Ready(())
    }
}
