//! Whether other processes keep the machine busy.

use std::fs;
use std::thread;
use std::time::Duration;

/// The time for which the machine is watched: long enough to count ticks of 10 ms.
const WATCH: Duration = Duration::from_millis(300);

/// Returns how many processors other processes keep busy, where the system tells it. This
/// process sleeps while it watches.
pub fn processors() -> Option<f64> {
    let read = || Ticks::parse(&fs::read_to_string("/proc/stat").ok()?);
    let before = read()?;
    thread::sleep(WATCH);
    read()?.since(&before)
}

/// Time of all processors since the system started, in ticks.
#[derive(Debug, PartialEq, Eq)]
struct Ticks {
    processors: u32,
    idle: u64,
    all: u64,
}

impl Ticks {
    /// Parses `/proc/stat`.
    fn parse(text: &str) -> Option<Ticks> {
        let mut lines = text.lines().filter(|line| line.starts_with("cpu"));
        let total = lines.next()?.strip_prefix("cpu ")?;
        let times: Option<Vec<u64>> = total
            .split_whitespace()
            .map(|time| time.parse().ok())
            .collect();
        // user, nice, system, idle, iowait, irq, softirq, steal; the times of guests, which
        // follow, are in the first two.
        let times = times?;
        let times = times.get(..8)?;
        Some(Ticks {
            processors: u32::try_from(lines.count()).ok()?,
            idle: times[3].checked_add(times[4])?,
            all: times
                .iter()
                .try_fold(0_u64, |sum, &time| sum.checked_add(time))?,
        })
    }

    /// Returns how many processors were busy since `before`.
    fn since(&self, before: &Ticks) -> Option<f64> {
        let all = self.all.checked_sub(before.all).filter(|&all| all > 0)?;
        // The kernel may correct the time of waiting for a disk downwards.
        let idle = self.idle.saturating_sub(before.idle).min(all);
        Some((all - idle) as f64 / all as f64 * f64::from(self.processors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(user: u64, idle: u64) -> Option<Ticks> {
        Ticks::parse(&format!(
            "cpu  {user} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 2\ncpu1 3 4\nintr 5\n"
        ))
    }

    #[test]
    fn busy_processors_are_the_share_of_the_time() {
        let before = ticks(1_000, 5_000).expect("it is valid");
        assert_eq!(before.processors, 2);
        let later = |user, idle| ticks(user, idle).and_then(|after| after.since(&before));
        assert_eq!(later(1_000, 5_060), Some(0.0));
        assert_eq!(later(1_030, 5_030), Some(1.0));
        assert_eq!(later(1_060, 5_000), Some(2.0));
        // No time passed, or the counters were set back.
        assert_eq!(later(1_000, 5_000), None);
        assert_eq!(later(0, 0), None);
    }

    #[test]
    fn another_format_is_no_answer() {
        for text in [
            "",
            "cpu",
            "cpu  1 2 3\n",
            "cpu  a b c d e f g h\n",
            "intr 5\n",
        ] {
            assert_eq!(Ticks::parse(text), None, "{text:?}");
        }
    }
}
