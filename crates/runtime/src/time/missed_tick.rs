//! What an interval does about ticks that came too late.

use std::time::Duration;

use super::Instant;

/// What an [`Interval`](super::Interval) does when a tick was asked for more than five
/// milliseconds too late.
///
/// With a period of 50 ms, ticks at 0 and 50, and the next question at 180:
///
/// | behaviour | that question gives | the next ticks come at |
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
    /// The missed ticks come as fast as they are asked for.
    #[default]
    Burst,
    /// The next tick comes one period after the late one was asked for, and those that
    /// follow count from there.
    Delay,
    /// The missed ticks are left out; the next one is at a multiple of the period again.
    Skip,
}

impl MissedTickBehavior {
    /// When the next tick comes, after the one that was `due` and was asked for `now`.
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
