//! The futures that the extension traits return: one type, with a step for each method.

use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll};

use blitz_io_observe::Caller;
use pin_project_lite::pin_project;

/// The action of an extension trait's future when it is polled.
pub trait Step<T: ?Sized> {
    /// The method's return value.
    type Output;

    /// Makes as much progress as `io` allows.
    fn poll(&mut self, io: Pin<&mut T>, cx: &mut Context<'_>) -> Poll<Self::Output>;
}

pin_project! {
    /// The future that a method of an extension trait returns.
    //
    // It is not `Unpin`, so that a method can become an `async fn` later.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Operation<'a, T: ?Sized, S> {
        io: &'a mut T,
        step: S,
        caller: Caller,
        #[pin]
        _pin: PhantomPinned,
    }
}

impl<'a, T: ?Sized, S> Operation<'a, T, S> {
    #[inline]
    #[track_caller]
    pub(crate) fn new(io: &'a mut T, step: S) -> Self {
        Self {
            io,
            step,
            caller: Caller::here(),
            _pin: PhantomPinned,
        }
    }
}

impl<T: ?Sized + Unpin, S: Step<T>> Future for Operation<'_, T, S> {
    type Output = S::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<S::Output> {
        let this = self.project();
        let _calls = this.caller.calls();
        this.step.poll(Pin::new(&mut **this.io), cx)
    }
}
