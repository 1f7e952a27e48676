//! `Interval`: ticks at regular intervals.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use blitz_io_observe::Kind;

use super::{Instant, Sleep, safe_delay, sleep_until};

/// A tick that is later than this has been missed.
const MISSED: Duration = Duration::from_millis(5);

/// Returns an interval that ticks now, and then once each `period`.
///
/// The same as `interval_at(Instant::now(), period)`: see [`interval_at`].
///
/// # Panics
///
/// If `period` is zero, there is no current runtime, or its timers are not enabled.
///
/// # Examples
///
/// ```
/// use blitz_io::{runtime::Runtime, time::{interval, Duration, Instant}};
///
/// Runtime::new().unwrap().block_on(async {
///     let start = Instant::now();
///     let mut interval = interval(Duration::from_millis(2));
///     for _ in 0..3 {
///         interval.tick().await;
///     }
///     assert!(start.elapsed() >= Duration::from_millis(4));
/// });
/// ```
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    interval_at(Instant::now(), period)
}

/// Returns an interval that ticks at `start`, and then once each `period`.
///
/// Unlike a loop that sleeps, an interval counts the time that passes between the calls
/// of [`tick`](Interval::tick). [`MissedTickBehavior`] decides what follows if that is
/// more than the period.
///
/// # Panics
///
/// If `period` is zero, there is no current runtime, or its timers are not enabled.
///
/// # Examples
///
/// ```
/// use blitz_io::{runtime::Runtime, time::{interval_at, Duration, Instant}};
///
/// Runtime::new().unwrap().block_on(async {
///     let start = Instant::now() + Duration::from_millis(3);
///     let mut interval = interval_at(start, Duration::from_millis(2));
///     assert_eq!(interval.tick().await, start);
///     assert_eq!(interval.tick().await, start + Duration::from_millis(2));
/// });
/// ```
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    assert!(!period.is_zero(), "`period` must be non-zero.");
    Interval {
        delay: Box::pin(sleep_until(start)),
        period: safe_delay(period),
        missed_tick_behavior: MissedTickBehavior::default(),
    }
}

/// Ticks at regular intervals: see [`interval`] and [`interval_at`].
///
/// # Examples
///
/// ```
/// use blitz_io::{runtime::Runtime, time::{self, Duration}};
///
/// Runtime::new().unwrap().block_on(async {
///     let mut interval = time::interval(Duration::from_millis(1));
///     let first = interval.tick().await;
///     assert_eq!(interval.tick().await - first, interval.period());
/// });
/// ```
#[derive(Debug)]
pub struct Interval {
    delay: Pin<Box<Sleep>>,
    period: Duration,
    missed_tick_behavior: MissedTickBehavior,
}

impl Interval {
    /// Waits for the next tick, and returns the moment at which it was due.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is ready, no tick is lost.
    ///
    /// # Panics
    ///
    /// If the runtime has ended.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, time::{Duration, interval}};
    ///
    /// Runtime::new()?.block_on(async {
    ///     let mut interval = interval(Duration::from_millis(2));
    ///     let first = interval.tick().await; // at once
    ///     let second = interval.tick().await;
    ///     assert_eq!(second - first, interval.period());
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub async fn tick(&mut self) -> Instant {
        poll_fn(|cx| self.poll_tick(cx)).await
    }

    /// Polls for a [`tick`](Self::tick). If it returns `Pending`, the waker of the latest
    /// call is woken when the tick comes.
    ///
    /// # Panics
    ///
    /// If the runtime has ended.
    ///
    /// ```
    /// use std::future::poll_fn;
    /// use blitz_io::{runtime::Runtime, time::{interval, Duration, Instant}};
    ///
    /// Runtime::new().unwrap().block_on(async {
    ///     let mut interval = interval(Duration::from_millis(1));
    ///     let due = poll_fn(|cx| interval.poll_tick(cx)).await;
    ///     assert!(due <= Instant::now());
    /// });
    /// ```
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        ready!(self.delay.as_mut().poll_as(cx, Kind::Interval));
        let due = self.delay.deadline();
        let now = Instant::now();
        let next = if now > due + MISSED {
            self.missed_tick_behavior.next(due, now, self.period)
        } else {
            due + self.period
        };
        self.delay.as_mut().disarm(next);
        Poll::Ready(due)
    }

    /// Makes the next tick come one period from now.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, time::{interval, Duration, Instant}};
    ///
    /// Runtime::new().unwrap().block_on(async {
    ///     let mut interval = interval(Duration::from_millis(3));
    ///     let start = Instant::now();
    ///     interval.reset();
    ///     interval.tick().await;
    ///     assert!(start.elapsed() >= Duration::from_millis(3));
    /// });
    /// ```
    pub fn reset(&mut self) {
        self.reset_at(Instant::now() + self.period);
    }

    /// Makes the next tick come now.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, time::{interval, Duration}};
    ///
    /// Runtime::new().unwrap().block_on(async {
    ///     let mut interval = interval(Duration::from_secs(3600));
    ///     interval.tick().await;
    ///     interval.reset_immediately();
    ///     interval.tick().await;
    /// });
    /// ```
    pub fn reset_immediately(&mut self) {
        self.reset_at(Instant::now());
    }

    /// Makes the next tick come after this time.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, time::{interval, Duration}};
    ///
    /// Runtime::new().unwrap().block_on(async {
    ///     let mut interval = interval(Duration::from_secs(3600));
    ///     interval.reset_after(Duration::from_millis(1));
    ///     interval.tick().await;
    /// });
    /// ```
    pub fn reset_after(&mut self, after: Duration) {
        self.reset_at(Instant::now() + safe_delay(after));
    }

    /// Makes the next tick come at this moment.
    ///
    /// If the moment has passed, the tick counts as missed; ticks that had been missed
    /// before are forgotten.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, time::{interval, Duration, Instant}};
    ///
    /// Runtime::new().unwrap().block_on(async {
    ///     let mut interval = interval(Duration::from_secs(3600));
    ///     let next = Instant::now() + Duration::from_millis(1);
    ///     interval.reset_at(next);
    ///     assert_eq!(interval.tick().await, next);
    /// });
    /// ```
    pub fn reset_at(&mut self, deadline: Instant) {
        self.delay.as_mut().reset(deadline);
    }

    /// Returns the reaction of the interval to missed ticks.
    #[must_use]
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.missed_tick_behavior
    }

    /// Sets the reaction of the interval to missed ticks.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, time::{interval, Duration, MissedTickBehavior}};
    ///
    /// Runtime::new().unwrap().block_on(async {
    ///     let mut interval = interval(Duration::from_millis(1));
    ///     interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
    ///     assert_eq!(interval.missed_tick_behavior(), MissedTickBehavior::Skip);
    /// });
    /// ```
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.missed_tick_behavior = behavior;
    }

    /// Returns the time between two ticks.
    #[must_use]
    pub fn period(&self) -> Duration {
        self.period
    }
}

/// The reaction of an [`Interval`] to a tick that is polled more than five milliseconds
/// too late.
///
/// With a period of 50 ms, ticks at 0 and 50, and the next poll at 180:
///
/// | behaviour | that poll returns | the next ticks come at |
/// |---|---|---|
/// | [`Burst`](Self::Burst) | 100 | 180 (for 150), 200, 250 |
/// | [`Delay`](Self::Delay) | 100 | 230, 280, 330 |
/// | [`Skip`](Self::Skip) | 100 | 200, 250, 300 |
///
/// ```
/// use blitz_io::{runtime::Builder, time::{self, Duration, Instant, MissedTickBehavior}};
///
/// let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
/// runtime.block_on(async {
///     let start = Instant::now();
///     let mut interval = time::interval(Duration::from_millis(50));
///     interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
///     interval.tick().await;
///     interval.tick().await;
///     time::advance(Duration::from_millis(130)).await;
///     interval.tick().await;
///     assert_eq!(interval.tick().await - start, Duration::from_millis(200));
/// });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissedTickBehavior {
    /// The missed ticks come as fast as they are polled.
    #[default]
    Burst,
    /// The next tick comes one period after the late one was polled, and later ticks count
    /// from there.
    Delay,
    /// The missed ticks are left out; the next one is at a multiple of the period again.
    Skip,
}

impl MissedTickBehavior {
    /// Returns the deadline of the tick after the one at `due`, which was polled at
    /// `now`.
    pub(super) fn next(self, due: Instant, now: Instant, period: Duration) -> Instant {
        match self {
            Self::Burst => due + period,
            Self::Delay => now + period,
            Self::Skip => {
                let into = (now - due).as_nanos() % period.as_nanos();
                let into = u64::try_from(into)
                    .expect("too much time has elapsed since the interval was supposed to tick");
                now + (period - Duration::from_nanos(into))
            }
        }
    }
}
