//! `Clock`: the clock of a host.
//!
//! The clock runs at another rate than the simulation's own one, from the moment at which the test has set that rate. A
//! moment of the simulation is rounded down to a nanosecond of the host. A moment of the host becomes the first one of the
//! simulation at which the host's clock shows at least that. So a timer never fires early by the clock of its host.

use std::time::{Duration, Instant};

const MILLION: i128 = 1_000_000;

/// The clock of a host: by how much it differs from the simulation's clock.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Clock {
    rate: Option<Rate>,
    /// The difference of the host's time of day, in nanoseconds.
    pub(super) skew: i64,
}

#[derive(Clone, Copy, Debug)]
struct Rate {
    /// A moment of the simulation, and the time of the clock at that moment.
    since: (Instant, Instant),
    /// By how many parts in a million it is fast.
    drift: i32,
}

impl Clock {
    /// Returns the clock that is fast by this many parts in a million from now on.
    pub(super) fn with_drift(self, now: Instant, drift: i32) -> Self {
        let since = (now, self.to_host(now));
        // At a rate of zero no timer would ever fire.
        let drift = drift.max(-900_000);
        Self {
            rate: Some(Rate { since, drift }),
            ..self
        }
    }

    /// Returns what the clock shows at a moment of the simulation.
    pub(super) fn to_host(self, moment: Instant) -> Instant {
        let Some(Rate { since, drift }) = self.rate else {
            return moment;
        };
        let passed = nanos(moment.saturating_duration_since(since.0));
        since.1 + duration(passed + (passed * i128::from(drift)).div_euclid(MILLION))
    }

    /// Returns the first moment of the simulation at which the clock shows this.
    pub(super) fn when_host_shows(self, moment: Instant) -> Instant {
        let Some(Rate { since, drift }) = self.rate else {
            return moment;
        };
        let shown = nanos(moment.saturating_duration_since(since.1));
        let per_million = MILLION + i128::from(drift);
        since.0 + duration((shown * MILLION + per_million - 1).div_euclid(per_million))
    }
}

/// Returns a duration in nanoseconds; a century if it is longer.
fn nanos(time: Duration) -> i128 {
    let century = Duration::from_secs(100 * 365 * 86_400);
    time.min(century).as_nanos() as i128
}

fn duration(nanos: i128) -> Duration {
    Duration::from_nanos(nanos.clamp(0, i128::from(u64::MAX / 4)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_of_the_host_is_the_first_at_which_its_clock_shows_it() {
        let now = Instant::now();
        for drift in [-900_000, -333, -1, 0, 1, 7, 50_000] {
            let clock = Clock::default().with_drift(now, drift);
            for passed in [0, 1, 2, 3, 999, 1_000_001, 86_400_000_000_007] {
                let shown = now + Duration::from_nanos(passed);
                let first = clock.when_host_shows(shown);
                assert!(clock.to_host(first) >= shown, "{drift} {passed}");
                if let Some(before) = first.checked_sub(Duration::from_nanos(1)) {
                    let is_early = before < now || clock.to_host(before) < shown;
                    assert!(is_early, "{drift} {passed}");
                }
            }
        }
    }

    #[test]
    fn a_new_drift_does_not_move_the_clock() {
        let now = Instant::now();
        let fast = Clock::default().with_drift(now, 1_000_000);
        let later = now + Duration::from_secs(10);
        assert_eq!(fast.to_host(later), now + Duration::from_secs(20));
        let right = fast.with_drift(later, 0);
        assert_eq!(right.to_host(later), now + Duration::from_secs(20));
        let last = right.to_host(later + Duration::from_secs(1));
        assert_eq!(last, now + Duration::from_secs(21));
    }
}
