//! How much is measured.

/// Operation counts of a full run, by family.
pub const SYNC_OPS: u64 = 1_000_000;
/// Operations of one iteration of a channel fast path.
pub const CHANNEL_OPS: u64 = 100_000;
/// Operations of one iteration of an async scenario.
pub const ASYNC_OPS: u64 = 10_000;

/// How many iterations, and of what size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Iterations that are thrown away. The last of them counts allocations.
    pub warmup: usize,
    /// Iterations that count.
    pub iterations: usize,
    /// Worker threads of scenarios that need a runtime.
    pub workers: usize,
    /// Every iteration runs this part of the full operation count.
    pub divisor: u64,
}

impl Settings {
    /// 5 warm-ups, 10 iterations, full counts.
    pub const FULL: Settings = Settings {
        warmup: 5,
        iterations: 10,
        workers: 4,
        divisor: 1,
    };

    /// 1 warm-up, 8 iterations, a quarter of the operations.
    pub const QUICK: Settings = Settings {
        warmup: 1,
        iterations: 8,
        workers: 4,
        divisor: 4,
    };

    /// `ops` of a full run, under these settings.
    pub fn scaled(&self, ops: u64) -> u64 {
        (ops / self.divisor).max(1)
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::FULL
    }
}
