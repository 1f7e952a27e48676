//! `CalledAt`: the future of a method that waits for a source of the operating system.

use std::pin::Pin;
use std::task::{Context, Poll};

use crate::Caller;

/// A future that was called at a location. Without the feature `inspect` it is the future alone.
#[must_use = "futures do nothing unless they are polled"]
#[derive(Debug)]
pub struct CalledAt<F> {
    future: F,
    caller: Caller,
}

impl<F: Future> CalledAt<F> {
    /// Lets the waits of the future be at the location of the caller.
    #[track_caller]
    #[inline(always)]
    pub fn new(future: F) -> Self {
        Self {
            future,
            caller: Caller::here(),
        }
    }
}

impl<F: Future> Future for CalledAt<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _calls = self.caller.calls();
        // SAFETY: the future is not moved out of this value, which has no `Drop` and is `Unpin` with `F` only.
        let future = unsafe { self.map_unchecked_mut(|this| &mut this.future) };
        future.poll(context)
    }
}
