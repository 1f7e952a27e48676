//! `Timeout`: limits the time of a future.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use blitz_io_core::coop;
use blitz_io_observe::Kind;
use pin_project_lite::pin_project;

use super::error::Elapsed;
use super::{Instant, Sleep};

/// Limits the time of a future to `duration`.
///
/// The future is polled first: if it is ready, the result is `Ok`, even after `duration` has elapsed.
/// It is dropped, and so cancelled, together with the `Timeout`. A timeout of zero ends with the
/// present tick of the timers, as [`sleep_until`](super::sleep_until) says, so that a loop of them
/// does not spin.
///
/// # Errors
///
/// [`Elapsed`] if the future is not ready within `duration`.
///
/// # Cancel safety
///
/// That of the future. [`Timeout::into_inner`] returns it.
///
/// # Panics
///
/// If there is no current runtime, or its timers are not enabled.
///
/// # Examples
///
/// ```
/// use blitz_io::{runtime::Runtime, time::{timeout, Duration}};
///
/// Runtime::new().unwrap().block_on(async {
///     assert_eq!(timeout(Duration::from_secs(1), async { 7 }).await, Ok(7));
///     let never = std::future::pending::<()>();
///     assert!(timeout(Duration::from_millis(1), never).await.is_err());
/// });
/// ```
#[track_caller]
pub fn timeout<F>(duration: Duration, future: F) -> Timeout<F::IntoFuture>
where
    F: IntoFuture,
{
    let value = future.into_future();
    #[allow(
        clippy::manual_map,
        reason = "a closure would not pass the caller's place on"
    )]
    let delay = match Instant::now().checked_add(duration) {
        Some(deadline) => Some(Sleep::new(deadline)),
        None => None,
    };
    Timeout { value, delay }
}

/// Limits the time of a future, which must be ready before `deadline`: see [`timeout`].
///
/// # Errors
///
/// [`Elapsed`] if the future is not ready before `deadline`.
///
/// # Panics
///
/// If there is no current runtime, or its timers are not enabled.
///
/// # Examples
///
/// ```
/// use blitz_io::{runtime::Runtime, time::{timeout_at, Duration, Instant}};
///
/// Runtime::new().unwrap().block_on(async {
///     let deadline = Instant::now() + Duration::from_secs(1);
///     assert_eq!(timeout_at(deadline, async { 7 }).await, Ok(7));
/// });
/// ```
#[track_caller]
pub fn timeout_at<F>(deadline: Instant, future: F) -> Timeout<F::IntoFuture>
where
    F: IntoFuture,
{
    Timeout {
        value: future.into_future(),
        delay: Some(Sleep::new(deadline)),
    }
}

pin_project! {
    /// The future of [`timeout`] and [`timeout_at`].
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    #[derive(Debug)]
    pub struct Timeout<T> {
        #[pin]
        value: T,
        // `None`: the deadline cannot be represented.
        #[pin]
        delay: Option<Sleep>,
    }
}

impl<T> Timeout<T> {
    /// Returns a reference to the future.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// Returns a mutable reference to the future.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Returns the future, without a limit to its time.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, time::{timeout, Duration}};
    ///
    /// Runtime::new().unwrap().block_on(async {
    ///     let timeout = timeout(Duration::from_millis(1), async { 7 });
    ///     assert_eq!(timeout.into_inner().await, 7);
    /// });
    /// ```
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T: Future> Future for Timeout<T> {
    type Output = Result<T::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let had_budget = coop::has_budget_remaining();
        if let Poll::Ready(value) = this.value.poll(cx) {
            return Poll::Ready(Ok(value));
        }
        match this.delay.as_pin_mut() {
            Some(delay) => poll_delay(had_budget, delay, cx).map(Err),
            None => Poll::Pending,
        }
    }
}

/// Polls the delay, without a budget if the future has used it up: else a future that
/// always does so would never time out. Nor is the delay a point of a simulation if the future has just waited at one.
fn poll_delay(had_budget: bool, delay: Pin<&mut Sleep>, cx: &mut Context<'_>) -> Poll<Elapsed> {
    let poll = || delay.poll_as(cx, Kind::Timeout).map(|()| Elapsed::new());
    if had_budget && !coop::has_budget_remaining() || coop::waits() {
        coop::unconstrained(poll)
    } else {
        poll()
    }
}
