//! How long a thread was ready to run, and the system ran other threads.
//!
//! The system counts it for each thread, in a file that costs more to read than a poll may cost. So a thread reads it
//! at most once in a tenth of a second, before a poll, and again after a poll that may have been long. The
//! difference has what passed between the first reading and the poll, too: it is never too small, and at most that
//! tenth of a second too large. A poll that sleeps for less, on a machine that is busy, may not be seen to be long;
//! but no poll is long because of the machine.

use std::time::{Duration, Instant};

/// A reading is used for this time.
const FRESH: Duration = Duration::from_millis(100);

/// One reading of the counter of this thread.
#[derive(Clone, Copy)]
pub(super) struct Delay {
    at: Instant,
    total: Duration,
}

impl Delay {
    /// Reads the counter. It stays 0 where the system has none.
    pub(super) fn read(at: Instant) -> Self {
        let total = total().unwrap_or_default();
        Self { at, total }
    }

    /// Returns `true` if the reading is recent enough for a poll that begins now.
    pub(super) fn is_fresh(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) <= FRESH
    }

    /// Returns the time for which the thread was ready and did not run, from an earlier reading to this one.
    pub(super) fn since(&self, earlier: Self) -> Duration {
        self.total.saturating_sub(earlier.total)
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn total() -> Option<Duration> {
    parse(&std::fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn total() -> Option<Duration> {
    None
}

/// The file has the nanoseconds on a processor, those in a queue for one, and the number of times that it ran.
#[cfg(any(test, target_os = "linux", target_os = "android"))]
fn parse(text: &str) -> Option<Duration> {
    let nanos = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_is_the_delay() {
        assert_eq!(parse("12 3456 7\n"), Some(Duration::from_nanos(3_456)));
        assert_eq!(parse(""), None);
        assert_eq!(parse("1 -2 3"), None);
    }
}
