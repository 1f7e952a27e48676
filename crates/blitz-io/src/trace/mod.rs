//! Requests of a program, for `blitz trace`, which reports where they wait.
//!
//! A request is a unit of work for which a user waits: the answer to an HTTP request, a job of a queue. [`request`] says where it
//! begins and ends. It has the tasks and the closures for blocking work that it spawns. Without the feature
//! `inspect`, and while the recorder is off, this does nothing, so it may stay in the program. In a process that answers
//! `blitz why` (`BLITZ_INSPECT=1`), reports name the requests of each task.
//!
//! ```
//! use blitz_io::{sync::Mutex, trace};
//!
//! # pollster::block_on(async {
//! let sessions = Mutex::new(0);
//! let request = trace::request("GET /login");
//! *sessions.lock().await += 1;
//! drop(request);
//! # });
//! ```
//!
//! With the feature `tracing`, [`Spans`](https://docs.rs/blitz-io/latest/blitz_io/trace/struct.Spans.html) makes requests
//! of spans. With the feature `tower`,
//! [`RequestLayer`](https://docs.rs/blitz-io/latest/blitz_io/trace/struct.RequestLayer.html) makes one of each call of a
//! service of hyper, axum or tonic.
//!
//! The guide "My program is slow" of the book shows the whole way.

#[cfg(feature = "tracing")]
mod spans;
#[cfg(feature = "tower")]
mod tower;
#[cfg(feature = "tower")]
mod tower_body;

#[cfg(feature = "inspect")]
#[doc(inline)]
pub use blitz_io_observe::trace::Ended;
#[doc(inline)]
pub use blitz_io_observe::trace::{Instrumented, Request};
#[cfg(feature = "tracing")]
pub use spans::Spans;
#[cfg(feature = "tower")]
pub use tower::{MethodAndPath, NameOf, RequestLayer, RequestService};
#[cfg(feature = "tower")]
pub use tower_body::{RequestBody, RequestBodyLayer, RequestBodyService, UntilResponse};

use std::borrow::Cow;

/// Begins a request in the current task or thread. It ends when the returned value is dropped.
///
/// The name says what kind of request it is, and is the same for all requests that are alike: `blitz trace` reports
/// percentiles for each name. A recording has 4,096 names at most.
///
/// A task that works for several requests at once needs [`Request::instrument`], so that each of its waits counts
/// for the right one.
///
/// # Examples
///
/// ```
/// use blitz_io::trace;
///
/// # pollster::block_on(async {
/// async fn answer() -> u32 {
///     7
/// }
/// let value = trace::request("GET /x").instrument(answer()).await;
/// assert_eq!(value, 7);
/// # });
/// ```
#[must_use = "the request ends when the value is dropped"]
pub fn request<'a>(name: impl Into<Cow<'a, str>>) -> Request {
    blitz_io_observe::trace::request(name)
}
