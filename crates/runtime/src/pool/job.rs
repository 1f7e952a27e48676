//! A closure as a task: a future that runs it when it is polled.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::core::{Header, Id, Notified, Schedule};
use crate::hooks::{self, TaskCallback};

/// A future that runs a closure in its only poll.
pub(super) struct BlockingTask<F>(Option<F>);

impl<F> BlockingTask<F> {
    pub(super) fn new(closure: F) -> Self {
        Self(Some(closure))
    }
}

// The closure is never pinned.
impl<F> Unpin for BlockingTask<F> {}

impl<F: FnOnce() -> R, R> Future for BlockingTask<F> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<R> {
        let closure = self.0.take().expect("a blocking task runs once");
        Poll::Ready(closure())
    }
}

/// The scheduler of blocking tasks. They are queued once and never wait, so there is
/// nothing to it but the hook for their end.
#[derive(Clone)]
pub(super) struct Once {
    pub(super) on_terminate: Option<TaskCallback>,
}

impl Schedule for Once {
    fn schedule(&self, _: Notified) {
        unreachable!("a blocking task is queued once");
    }

    fn release(&self, _: &Header) {}

    fn terminated(&self, id: Id) {
        if let Some(hook) = &self.on_terminate {
            hooks::tell(hook, id);
        }
    }
}
