//! `Sleep`: waits until a deadline.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use blitz_io_core::{coop, debug_fields};
use blitz_io_observe::decisions::{self, Note};
use blitz_io_observe::{Caller, Kind, Resource, Sort, WaitKind, Waiting};
use pin_project_lite::pin_project;

use super::{Instant, current, safe_delay};
use crate::api::errors::SHUTTING_DOWN;
use crate::api::timers::ticks;
use crate::kernel::wheel::{Timer, Wheel};

/// Waits until `deadline`.
///
/// The resolution is 10 microseconds, and a millisecond once tests have
/// [paused](super::pause) a clock of the process and in the drop-in package `tokio`: the future may
/// be ready up to that much too late, besides what the system adds, but never too early. The
/// runtime looks at the clock between polls of tasks. If the deadline had passed at its last look,
/// the future is ready at once. Otherwise it waits, also with a deadline of
/// [`Instant::now()`](Instant::now): a loop of such waits does not spin.
///
/// # Cancel safety
///
/// Dropping the future cancels the timer.
///
/// # Panics
///
/// If there is no current runtime, or its timers are not enabled
/// (`Builder::enable_time`). Polling panics when the runtime has ended.
///
/// # Examples
///
/// ```
/// use blitz_io::{runtime::Runtime, time::{sleep_until, Duration, Instant}};
///
/// Runtime::new().unwrap().block_on(async {
///     let deadline = Instant::now() + Duration::from_millis(5);
///     sleep_until(deadline).await;
///     assert!(Instant::now() >= deadline);
/// });
/// ```
#[track_caller]
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep::new(deadline)
}

/// Waits until `duration` has passed.
///
/// The same as `sleep_until(Instant::now() + duration)`: see [`sleep_until`].
///
/// # Panics
///
/// As [`sleep_until`].
///
/// # Examples
///
/// ```
/// use blitz_io::{runtime::Runtime, time::{sleep, Duration, Instant}};
///
/// Runtime::new().unwrap().block_on(async {
///     let start = Instant::now();
///     sleep(Duration::from_millis(5)).await;
///     assert!(start.elapsed() >= Duration::from_millis(5));
/// });
/// ```
#[track_caller]
#[inline]
pub fn sleep(duration: Duration) -> Sleep {
    Sleep::new(Instant::now() + safe_delay(duration))
}

pin_project! {
    /// The future of [`sleep`] and [`sleep_until`].
    ///
    /// It starts its timer when it is polled for the first time, and must not move from
    /// then on: to poll it more than once, pin it.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, time::{self, Duration, Instant}};
    ///
    /// Runtime::new().unwrap().block_on(async {
    ///     let start = Instant::now();
    ///     let mut sleep = std::pin::pin!(time::sleep(Duration::from_millis(2)));
    ///     sleep.as_mut().await;
    ///     sleep.as_mut().reset(start + Duration::from_millis(4));
    ///     sleep.await;
    ///     assert!(start.elapsed() >= Duration::from_millis(4));
    /// });
    /// ```
    #[project(!Unpin)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Sleep {
        deadline: Instant,
        resource: Resource,
        waiting: Waiting,
        #[pin]
        timer: Timer,
    }
}

impl Sleep {
    #[track_caller]
    #[inline]
    pub(super) fn new(deadline: Instant) -> Self {
        let wheel = current::wheel();
        let when = tick_of(deadline, wheel);
        let resource = Resource::new(Sort::Sleep);
        resource.lasts(|| deadline.saturating_duration_since(Instant::now()));
        Self {
            deadline,
            waiting: Waiting::new(Caller::here(), &resource, "Sleep::new_timeout"),
            resource,
            timer: Timer::new(when, wheel),
        }
    }

    /// Returns the deadline.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, time::{sleep_until, Duration, Instant}};
    ///
    /// Runtime::new().unwrap().block_on(async {
    ///     let deadline = Instant::now() + Duration::from_secs(1);
    ///     assert_eq!(sleep_until(deadline).deadline(), deadline);
    /// });
    /// ```
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Returns whether the deadline has passed and the runtime has noticed it.
    ///
    /// `false` if the future has never been polled or reset.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, time::{sleep, Duration}};
    ///
    /// Runtime::new().unwrap().block_on(async {
    ///     let mut sleep = std::pin::pin!(sleep(Duration::from_millis(1)));
    ///     sleep.as_mut().await;
    ///     assert!(sleep.is_elapsed());
    /// });
    /// ```
    #[must_use]
    pub fn is_elapsed(&self) -> bool {
        self.timer.is_elapsed() || self.timer.is_overtaken() && Instant::now() >= self.deadline
    }

    /// Changes the deadline, whether it has passed or not.
    ///
    /// Moving it to a later moment while the future waits costs next to nothing.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, time::{sleep, Duration, Instant}};
    ///
    /// Runtime::new().unwrap().block_on(async {
    ///     let mut sleep = std::pin::pin!(sleep(Duration::from_secs(3600)));
    ///     sleep.as_mut().reset(Instant::now() + Duration::from_millis(1));
    ///     sleep.await;
    /// });
    /// ```
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        let this = self.project();
        *this.deadline = deadline;
        // The record has the deadline.
        this.waiting.end();
        this.resource
            .lasts(|| deadline.saturating_duration_since(Instant::now()));
        let when = tick_of(deadline, this.timer.wheel());
        this.timer.reset(when, current::own_wheel);
    }

    /// Changes the deadline, but does not start the timer before the next poll.
    pub(super) fn disarm(self: Pin<&mut Self>, deadline: Instant) {
        let this = self.project();
        *this.deadline = deadline;
        this.waiting.end();
        let when = tick_of(deadline, this.timer.wheel());
        this.timer.disarm(when);
    }

    /// Polls it as a part of another future: records name it as a wait of this kind.
    #[inline]
    pub(super) fn poll_as(mut self: Pin<&mut Self>, cx: &mut Context<'_>, kind: Kind) -> Poll<()> {
        coop::poll_with(cx, |cx| {
            let is_new = !self.waiting.is_recorded();
            let polled = Waiting::poll(
                &mut self,
                |sleep| sleep.as_mut().project().waiting,
                "poll_elapsed",
                |sleep| sleep.as_mut().poll_timer(cx, WaitKind::new(kind)),
            );
            // Otherwise the end of the wait says as much.
            if is_new && polled.is_ready() {
                decisions::note(|| Note::Task(found_due(kind)));
            }
            polled
        })
    }

    #[inline]
    fn poll_timer(self: Pin<&mut Self>, cx: &mut Context<'_>, kind: WaitKind) -> Poll<()> {
        let this = self.project();
        let polled = this.timer.poll(cx.waker(), current::own_wheel);
        let Poll::Ready(result) = polled else {
            let deadline = this.deadline.into_std();
            this.waiting.begin_until(kind, deadline, cx.waker());
            return Poll::Pending;
        };
        this.waiting.end();
        if result.is_err() {
            shutting_down();
        }
        Poll::Ready(())
    }
}

/// Returns the sentence about a timer for which the task has not waited.
#[cold]
fn found_due(kind: Kind) -> String {
    match kind {
        Kind::Interval => "gets a tick of Interval".to_owned(),
        _ => format!("finds {} due", kind.name()),
    }
}

/// Returns the tick at which the clock of the calling code shows the deadline.
#[inline]
fn tick_of(deadline: Instant, wheel: &Wheel) -> u64 {
    ticks::of_deadline(
        decisions::when_host_shows(deadline.into_std()),
        wheel.origin(),
    )
}

#[cold]
fn shutting_down() -> ! {
    panic!("{SHUTTING_DOWN}");
}

impl Future for Sleep {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.poll_as(cx, Kind::Sleep)
    }
}

debug_fields!(impl Sleep, |this| { deadline: this.deadline, .. });
