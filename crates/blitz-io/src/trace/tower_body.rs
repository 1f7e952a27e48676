//! `RequestBodyLayer`: a request lasts until the body of its response is sent.
//!
//! 1. The service is called: the request begins.
//! 2. The future of the response works for it, and gives it to the body.
//! 3. The body works for it, until it has ended or is dropped.
//!
//! Whichever of the two is dropped while it has the request ends the request.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::Response;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use super::tower::{LazyName, NameOf, RequestLayer};
use super::{Request, request};

/// A layer of tower that makes a request of each call of a service of HTTP. The request lasts until the body of the
/// response is sent. [`RequestLayer::with_body`] makes it.
pub struct RequestBodyLayer<N> {
    pub(super) name: Arc<N>,
}

impl<N> RequestLayer<N> {
    /// Returns a layer whose requests last until the bodies of their responses are sent.
    ///
    /// ```
    /// use blitz_io::trace::RequestLayer;
    ///
    /// let layer = RequestLayer::http().with_body();
    /// # drop(layer);
    /// ```
    #[must_use]
    pub fn with_body(self) -> RequestBodyLayer<N> {
        RequestBodyLayer { name: self.name }
    }
}

impl<S, N> Layer<S> for RequestBodyLayer<N> {
    type Service = RequestBodyService<S, N>;

    fn layer(&self, inner: S) -> Self::Service {
        RequestBodyService {
            inner,
            name: self.name.clone(),
        }
    }
}

impl<N> Clone for RequestBodyLayer<N> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
        }
    }
}

impl<N> fmt::Debug for RequestBodyLayer<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestBodyLayer").finish_non_exhaustive()
    }
}

/// A service each of whose calls is a request; see [`RequestBodyLayer`].
pub struct RequestBodyService<S, N> {
    inner: S,
    name: Arc<N>,
}

impl<R, S, N, B> Service<R> for RequestBodyService<S, N>
where
    S: Service<R, Response = Response<B>>,
    N: NameOf<R>,
{
    type Response = Response<RequestBody<B>>;
    type Error = S::Error;
    type Future = UntilResponse<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, call: R) -> Self::Future {
        let request = request(LazyName(&*self.name, &call));
        UntilResponse {
            future: self.inner.call(call),
            request: Some(request.detached()),
        }
    }
}

impl<S: Clone, N> Clone for RequestBodyService<S, N> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            name: self.name.clone(),
        }
    }
}

impl<S: fmt::Debug, N> fmt::Debug for RequestBodyService<S, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestBodyService")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

/// While it lives, the current task or thread works for the request, also in a panic.
struct Works<'a>(&'a Request);

impl<'a> Works<'a> {
    fn new(request: &'a Request) -> Self {
        request.enter();
        Self(request)
    }
}

impl Drop for Works<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

pin_project! {
    /// The response of a call, whose body has the request.
    #[must_use = "futures do nothing unless they are polled"]
    pub struct UntilResponse<F> {
        // Dropped first: its destructor is part of the request.
        #[pin]
        future: F,
        request: Option<Request>,
    }
}

impl<F, B, E> Future for UntilResponse<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<RequestBody<B>>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let works = this.request.as_ref().map(Works::new);
        let result = ready!(this.future.poll(context));
        drop(works);
        let request = this.request.take();
        let with_request = |body| RequestBody { body, request };
        Poll::Ready(result.map(|response| response.map(with_request)))
    }
}

impl<F> fmt::Debug for UntilResponse<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UntilResponse").finish_non_exhaustive()
    }
}

pin_project! {
    /// The body of a response, which ends the request.
    pub struct RequestBody<B> {
        // Dropped first: its destructor is part of the request.
        #[pin]
        body: B,
        request: Option<Request>,
    }
}

impl<B: Body> Body for RequestBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.project();
        let works = this.request.as_ref().map(Works::new);
        let frame = ready!(this.body.poll_frame(context));
        drop(works);
        if !matches!(frame, Some(Ok(_))) {
            *this.request = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B: Default> Default for RequestBody<B> {
    /// Returns an empty body of no request.
    fn default() -> Self {
        Self {
            body: B::default(),
            request: None,
        }
    }
}

impl<B> fmt::Debug for RequestBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestBody").finish_non_exhaustive()
    }
}
