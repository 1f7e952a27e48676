//! Work that a thread does while it holds a lock.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// A piece of work of known length that reads no clock while it runs.
///
/// It is a chain of multiplications in which each depends on the one before, so it
/// takes the same time wherever its code is. The number that makes up the wanted time
/// is measured once, when the piece is created.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    rounds: u32,
}

impl Work {
    /// Measures this machine and returns work that takes about `target` if nothing
    /// interrupts it. Takes a few milliseconds.
    ///
    /// ```
    /// use std::time::Duration;
    /// let microsecond = blitz_io_bench::Work::calibrate(Duration::from_micros(1));
    /// microsecond.run();
    /// ```
    pub fn calibrate(target: Duration) -> Work {
        const PROBE: Work = Work { rounds: 20_000 };
        let fastest = (0..100)
            .map(|_| {
                let start = Instant::now();
                PROBE.run();
                start.elapsed()
            })
            .min()
            .unwrap_or(Duration::from_micros(20))
            .max(Duration::from_nanos(1));
        let rounds = target.as_secs_f64() / fastest.as_secs_f64() * f64::from(PROBE.rounds);
        Work {
            rounds: rounds.round().max(1.0) as u32,
        }
    }

    /// Does the work once.
    #[inline]
    pub fn run(self) {
        let mut x: u64 = black_box(1);
        for _ in 0..self.rounds {
            x = x.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        }
        black_box(x);
    }
}

/// The two critical sections of contended scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// One increment: only the lock's own cost is measured.
    Short,
    /// An increment and a microsecond of [`Work`].
    Microsecond,
}

impl Section {
    /// Both sections, the short one first.
    pub const ALL: [Section; 2] = [Section::Short, Section::Microsecond];

    /// Returns the section's name in scenario ids.
    pub fn id(self) -> &'static str {
        match self {
            Section::Short => "short",
            Section::Microsecond => "1us",
        }
    }

    /// Returns the section's name in titles.
    pub fn title(self) -> &'static str {
        match self {
            Section::Short => "short section",
            Section::Microsecond => "1 µs section",
        }
    }

    /// Returns the operations of an iteration, which are `short` for short sections.
    ///
    /// Both sections run for about a tenth of a second. In less time each thread would finish
    /// within its first time slice, one after the other.
    pub fn ops(self, short: u64) -> u64 {
        match self {
            Section::Short => short,
            Section::Microsecond => 100_000,
        }
    }

    /// Runs the part of the section beside the increment.
    #[inline]
    pub fn run(self, microsecond: Work) {
        if self == Section::Microsecond {
            microsecond.run();
        }
    }
}
