//! A future that ends with another, or when a token is cancelled.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

pin_project! {
    pub(super) struct RunUntilCancelled<C, F> {
        #[pin]
        cancelled: C,
        #[pin]
        future: F,
    }
}

impl<C, F> RunUntilCancelled<C, F> {
    pub(super) fn new(cancelled: C, future: F) -> Self {
        Self { cancelled, future }
    }
}

impl<C: Future<Output = ()>, F: Future> Future for RunUntilCancelled<C, F> {
    type Output = Option<F::Output>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(output) = this.future.poll(context) {
            return Poll::Ready(Some(output));
        }
        this.cancelled.poll(context).map(|()| None)
    }
}
