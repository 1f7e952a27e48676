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
    /// // With axum, the route is better than the path: `request.extensions().get::<MatchedPath>()`. The guide to slow
    /// // requests has that function.
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

/// The name of a request of HTTP: its method and its path, with `{id}` for each number or id in it.
#[derive(Clone, Copy, Debug)]
pub struct MethodAndPath(());

impl RequestLayer<MethodAndPath> {
    /// Creates a layer for HTTP, whose requests have their method and path as names, such as `GET /users`.
    ///
    /// A part of the path that is a number, a UUID or a hexadecimal number of eight or more digits becomes `{id}`: the
    /// name of `/users/17/photos` is `GET /users/{id}/photos`. A recording has 4,096 names at most, so a service with names
    /// of users and the like in its paths uses [`new`](Self::new).
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
        let path = call.uri().path().split('/').map(part_of_name);
        format!("{} {}", call.method(), path.collect::<Vec<_>>().join("/"))
    }
}

/// Returns a part of a path, or `{id}` for one that differs from request to request.
fn part_of_name(part: &str) -> &str {
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let is_number = digits > 0 && digits == part.len();
    // As a UUID, which has dashes. A word such as `facade` has no digit.
    let is_hexadecimal = part
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    if is_number || part.len() >= 8 && digits > 0 && is_hexadecimal {
        "{id}"
    } else {
        part
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ids_in_paths_are_alike() {
        for (path, name) in [
            ("/", "GET /"),
            ("/users", "GET /users"),
            ("/users/17/photos?page=2", "GET /users/{id}/photos"),
            ("/users/", "GET /users/"),
            ("/v2/facade/decade", "GET /v2/facade/decade"),
            ("/x/67e55044-10b1-426f-9247-bb680e5fe0c8", "GET /x/{id}"),
            ("/blob/9f86d081884c7d65", "GET /blob/{id}"),
            ("/2026-11-30", "GET /{id}"),
            ("/deadbeef", "GET /deadbeef"),
            ("/alice", "GET /alice"),
        ] {
            let call = http::Request::get(path).body(()).unwrap();
            assert_eq!(MethodAndPath(()).name_of(&call), name);
        }
    }
}
