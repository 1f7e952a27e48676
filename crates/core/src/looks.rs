//! Looking at intervals: a thread that sleeps for a fixed time between two looks, because no thread
//! could wake it.
//!
//! This is the last resort. It serves waits for other processes' locks on files, which wake
//! nothing, and waits whose announcement has no room. The caller chooses the interval: the delay that
//! it can bear.

use std::thread;
use std::time::{Duration, Instant};

use crate::deadline;

/// Sleeps for one interval, or until `deadline` if that comes first. Returns `false`, at once, when
/// the deadline is past: the caller has looked after it, and gives up.
pub fn sleep(interval: Duration, deadline: Option<Instant>) -> bool {
    match next(interval, deadline, deadline::now()) {
        Some(time) => {
            thread::sleep(time);
            true
        }
        None => false,
    }
}

/// Returns the time until the next look. `None` when the deadline is past.
fn next(interval: Duration, deadline: Option<Instant>, now: Instant) -> Option<Duration> {
    match deadline.map(|deadline| deadline.saturating_duration_since(now)) {
        None => Some(interval),
        Some(Duration::ZERO) => None,
        Some(left) => Some(interval.min(left)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_ends_at_the_deadline() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        assert_eq!(next(second, None, now), Some(second));
        assert_eq!(next(second, Some(now + second / 2), now), Some(second / 2));
        assert_eq!(next(second, Some(now + 2 * second), now), Some(second));
        assert_eq!(next(second, Some(now), now), None);
        assert_eq!(next(second, Some(now), now + second), None);
        assert!(!sleep(second, Some(now)));
    }
}
