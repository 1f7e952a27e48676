//! The tiers into which the scenarios are sorted.

use crate::report::counted;

/// A group of scenarios that measure the same kind of thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tier {
    /// The title, which names the measured subject.
    pub title: &'static str,
    /// The name of the concurrent actors, in the singular and in the plural.
    pub workers: [&'static str; 2],
}

const THREADS: [&str; 2] = ["thread", "threads"];
const WORKERS: [&str; 2] = ["worker", "workers"];
const PROCESSES: [&str; 2] = ["process", "processes"];

/// All tiers, from tier 1 on. A tier exists for users once a scenario is in it.
pub const TIERS: [Tier; 10] = [
    tier_of("Single-thread fast paths", THREADS),
    tier_of("Channel fast paths", THREADS),
    tier_of("Async contention", WORKERS),
    tier_of("Threads", THREADS),
    tier_of("Runtime", WORKERS),
    tier_of("Input and output", WORKERS),
    tier_of("Fork-join", WORKERS),
    tier_of("Processes", PROCESSES),
    tier_of("Pipelines", THREADS),
    tier_of("Libraries of C++", THREADS),
];

const fn tier_of(title: &'static str, workers: [&'static str; 2]) -> Tier {
    Tier { title, workers }
}

/// Returns the tier with this number, if there is one. The first is 1.
///
/// ```
/// use blitz_io_bench::tier::tier;
/// assert_eq!(tier(5).unwrap().title, "Runtime");
/// assert_eq!(tier(0), None);
/// ```
pub fn tier(number: u8) -> Option<&'static Tier> {
    TIERS.get(usize::from(number).checked_sub(1)?)
}

/// Returns all tiers, each with its number.
pub fn numbered() -> impl Iterator<Item = (u8, &'static Tier)> {
    (1..).zip(&TIERS)
}

impl Tier {
    /// Returns the number of workers with the tier's word for them.
    ///
    /// ```
    /// use blitz_io_bench::tier::tier;
    /// assert_eq!(tier(5).unwrap().count(1), "1 worker");
    /// assert_eq!(tier(4).unwrap().count(8), "8 threads");
    /// ```
    pub fn count(&self, workers: usize) -> String {
        counted(workers, self.workers)
    }

    /// Returns a row's title with the number of its workers. A single thread is not
    /// mentioned. (A runtime with one worker is more than that thread.)
    ///
    /// ```
    /// use blitz_io_bench::tier::tier;
    /// assert_eq!(tier(4).unwrap().full_title("Lock", 8), "Lock, 8 threads");
    /// assert_eq!(tier(5).unwrap().full_title("On 2 workers", 2), "On 2 workers");
    /// ```
    pub fn full_title(&self, title: &str, workers: usize) -> String {
        match workers {
            0 => title.to_owned(),
            1 if self.workers == THREADS => title.to_owned(),
            // Some titles already contain it.
            n if title.ends_with(&self.count(n)) => title.to_owned(),
            n => format!("{title}, {}", self.count(n)),
        }
    }
}
