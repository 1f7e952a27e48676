//! Code that the models of the channels share, beside the code that all models share.
#![allow(dead_code, unused_imports)] // Each model uses a part of it.

#[path = "../../../../core/tests/loom/model/mod.rs"]
mod of_all;

use std::future::Future;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};
use std::time::Duration;

use loom::thread;

pub use of_all::{block_on, model, model_in_order, poll, soon};

/// A time that is over only when the model says so.
pub const SOON: Duration = Duration::from_secs(3600);

/// Runs a future; loom's thread sleeps while it waits. The panic that says "deadlock" cannot
/// leave loom's own `block_on`, as the model counts its waker.
pub fn block_on_parking<F: Future>(future: F) -> F::Output {
    struct Unpark(thread::Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match poll(future.as_mut(), &waker) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Polls once, with a waker that does nothing.
pub fn poll_idly<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    poll(future, Waker::noop())
}

/// An end that is not dropped when a model has failed: that would be a step in a
/// run that is over.
pub struct End<T>(ManuallyDrop<T>);

impl<T> End<T> {
    pub fn new(end: T) -> Self {
        Self(ManuallyDrop::new(end))
    }
}

impl<T: Clone> Clone for End<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Drop for End<T> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: this is the only place, and the last.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}

impl<T> Deref for End<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for End<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
