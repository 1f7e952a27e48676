//! Wakers that count, that panic, and that run a function.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Counts how often its wakers are woken.
#[derive(Default, Debug)]
pub struct Wakings(AtomicUsize);

impl Wakings {
    /// Creates a counter, and a waker that counts there.
    #[must_use]
    pub fn new() -> (Arc<Self>, Waker) {
        let wakings = Arc::new(Self::default());
        (wakings.clone(), wakings.into())
    }

    /// Returns how often the waker has been woken.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Wakings {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

struct Action<F>(F);

impl<F: Fn() + Send + Sync + 'static> Wake for Action<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

/// Creates a waker that calls `action` when it is woken.
pub fn reentrant_waker(action: impl Fn() + Send + Sync + 'static) -> Waker {
    Arc::new(Action(action)).into()
}

/// Creates a waker that panics when it is woken.
#[must_use]
pub fn shouting_waker() -> Waker {
    reentrant_waker(|| panic!("woken"))
}

/// Polls a future once.
pub fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}
