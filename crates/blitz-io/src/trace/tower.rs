//! `RequestLayer`: each call of a service of tower is a request.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower_layer::Layer;
use tower_service::Service;

use super::{Instrumented, request};

/// A layer of tower that makes a request of each call of a service: of hyper, axum, tonic and others.
///
/// The request lasts until the service has its response, or until its future is dropped. A body that is sent piece by
/// piece afterwards is no part of it, unless the layer is made [`with_body`](Self::with_body).
///
/// ```
/// use blitz_io::trace::RequestLayer;
/// use tower_layer::Layer;
/// use tower_service::Service;
///
/// # #[derive(Clone)] struct Router;
/// # impl Service<http::Request<()>> for Router {
/// #     type Response = (); type Error = (); type Future = std::future::Ready<Result<(), ()>>;
/// #     fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), ()>> { Ok(()).into() }
/// #     fn call(&mut self, _: http::Request<()>) -> Self::Future { std::future::ready(Ok(())) }
/// # }
/// # let router = Router;
/// // With axum: `router.layer(RequestLayer::http())`.
/// let mut service = RequestLayer::http().layer(router);
/// # pollster::block_on(async {
/// let response = service.call(http::Request::get("/users").body(()).unwrap()).await;
/// assert!(response.is_ok());
/// # });
/// ```
pub struct RequestLayer<N> {
    pub(super) name: Arc<N>,
}

impl<N> RequestLayer<N> {
    /// Creates a layer. `name` returns the name of a call: requests that are alike have the same one.
    ///
    /// ```
    /// use blitz_io::trace::RequestLayer;
    ///
    /// // With axum, the route is better than the path: `request.extensions().get::<MatchedPath>()`.
    /// let layer = RequestLayer::new(|request: &http::Request<()>| request.uri().path().to_owned());
    /// # drop(layer);
    /// ```
    pub fn new<R>(name: N) -> Self
    where
        N: Fn(&R) -> String,
    {
        Self {
            name: Arc::new(name),
        }
    }
}

/// The name of a request of HTTP: its method and its path.
#[derive(Clone, Copy, Debug)]
pub struct MethodAndPath(());

impl RequestLayer<MethodAndPath> {
    /// Creates a layer for HTTP, whose requests have their method and path as names, such as `GET /users`.
    ///
    /// A recording has 4,096 names at most. A service whose paths have numbers in them uses [`new`](Self::new).
    #[must_use]
    pub fn http() -> Self {
        Self {
            name: Arc::new(MethodAndPath(())),
        }
    }
}

/// Returns the name of a call. Implemented for functions, and for [`MethodAndPath`].
pub trait NameOf<R> {
    /// Returns the name.
    fn name_of(&self, call: &R) -> String;
}

impl<R, N: Fn(&R) -> String> NameOf<R> for N {
    fn name_of(&self, call: &R) -> String {
        self(call)
    }
}

impl<B> NameOf<http::Request<B>> for MethodAndPath {
    fn name_of(&self, call: &http::Request<B>) -> String {
        format!("{} {}", call.method(), call.uri().path())
    }
}

impl<S, N> Layer<S> for RequestLayer<N> {
    type Service = RequestService<S, N>;

    fn layer(&self, inner: S) -> Self::Service {
        RequestService {
            inner,
            name: self.name.clone(),
        }
    }
}

impl<N> Clone for RequestLayer<N> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
        }
    }
}

impl<N> fmt::Debug for RequestLayer<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestLayer").finish_non_exhaustive()
    }
}

/// A service each of whose calls is a request; see [`RequestLayer`].
pub struct RequestService<S, N> {
    inner: S,
    name: Arc<N>,
}

impl<R, S: Service<R>, N: NameOf<R>> Service<R> for RequestService<S, N> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = Instrumented<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, call: R) -> Self::Future {
        let request = request(LazyName(&*self.name, &call));
        request.instrument(self.inner.call(call))
    }
}

impl<S: Clone, N> Clone for RequestService<S, N> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            name: self.name.clone(),
        }
    }
}

impl<S: fmt::Debug, N> fmt::Debug for RequestService<S, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestService")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

/// A name that is made only if the recorder is on.
pub(super) struct LazyName<'a, N, R>(pub(super) &'a N, pub(super) &'a R);

impl<'a, R, N: NameOf<R>> From<LazyName<'a, N, R>> for std::borrow::Cow<'a, str> {
    fn from(name: LazyName<'a, N, R>) -> Self {
        name.0.name_of(name.1).into()
    }
}
