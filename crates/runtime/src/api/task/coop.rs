//! Cooperation: a task that always has something to do lets others run.
//!
//! A task is polled with a budget of 128 units. Operations on the channels, locks,
//! timers and join handles of this library take a unit each when they complete.
//! When none is left they do as if they had to wait: the task goes to the end of
//! the queue, and has a full budget with its next poll. So a loop over a channel
//! that is never empty does not keep other tasks from running.
//!
//! ```
//! use blitz_io::sync::mpsc;
//! use blitz_io::task::coop::unconstrained;
//!
//! # pollster::block_on(async {
//! let (sender, mut receiver) = mpsc::unbounded_channel();
//! (0..1000).for_each(|i| sender.send(i).unwrap());
//! // It is not interrupted, and so keeps others waiting.
//! unconstrained(async {
//!     while receiver.try_recv().is_err() || receiver.recv().await != Some(999) {}
//! })
//! .await;
//! # });
//! ```
//!
//! On another executor there is no limit: it does not give its tasks a budget.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use blitz_io_core::coop;
use pin_project_lite::pin_project;

pub use coop::{Coop, RestoreOnPending};

/// Takes one unit of the task's budget. If none is left, wakes the task, which should
/// return `Pending` at once.
///
/// The returned value gives the unit back when it is dropped, unless
/// [`made_progress`](RestoreOnPending::made_progress) is called: an operation that
/// has to wait costs nothing.
///
/// ```
/// use blitz_io::task::coop;
/// use std::pin::Pin;
/// use std::task::{Context, Poll, ready};
///
/// /// A stream of numbers that is always ready.
/// struct Numbers(u64);
///
/// impl Numbers {
///     fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<u64> {
///         let unit = ready!(coop::poll_proceed(context));
///         self.0 += 1;
///         unit.made_progress();
///         Poll::Ready(self.0)
///     }
/// }
/// # let mut numbers = Numbers(0);
/// # let next = pollster::block_on(std::future::poll_fn(|cx| numbers.poll_next(cx)));
/// # assert_eq!(next, 1);
/// ```
#[inline]
pub fn poll_proceed(cx: &mut Context<'_>) -> Poll<RestoreOnPending> {
    coop::poll_proceed(cx)
}

/// Returns whether the task has budget left. Outside of a task it always has.
///
/// ```
/// assert!(blitz_io::task::coop::has_budget_remaining());
/// ```
#[inline]
#[must_use]
pub fn has_budget_remaining() -> bool {
    coop::has_budget_remaining()
}

/// Makes a future take part in the budget: it takes a unit when it is ready, and is
/// not polled while none is left.
///
/// ```
/// use blitz_io::task::coop::cooperative;
///
/// # pollster::block_on(async {
/// assert_eq!(cooperative(std::future::ready(1)).await, 1);
/// # });
/// ```
#[inline]
pub fn cooperative<F: Future>(fut: F) -> Coop<F> {
    coop::cooperative(fut)
}

/// Takes a unit of the task's budget, and yields if none is left.
///
/// For long computations that call no operation that takes a unit.
///
/// # Cancel safety
///
/// If the future is dropped before it is ready, no unit has been taken.
///
/// ```
/// use blitz_io::task::consume_budget;
///
/// async fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
///     let mut sum = 0;
///     for number in numbers {
///         sum += number;
///         consume_budget().await;
///     }
///     sum
/// }
/// # assert_eq!(pollster::block_on(sum(0..1000)), 499_500);
/// ```
pub async fn consume_budget() {
    poll_fn(|context| coop::poll_proceed(context).map(|unit| unit.made_progress())).await;
}

/// Runs a future without a budget: it is never made to yield, so it may keep other
/// tasks waiting.
///
/// ```
/// use blitz_io::task::unconstrained;
///
/// # pollster::block_on(async {
/// assert_eq!(unconstrained(async { 1 }).await, 1);
/// # });
/// ```
pub fn unconstrained<F>(inner: F) -> Unconstrained<F> {
    Unconstrained { inner }
}

pin_project! {
    /// The future of [`unconstrained`].
    #[must_use = "Unconstrained does nothing unless polled"]
    pub struct Unconstrained<F> {
        #[pin]
        inner: F,
    }
}

impl<F: Future> Future for Unconstrained<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let inner = self.project().inner;
        coop::unconstrained(|| inner.poll(context))
    }
}
