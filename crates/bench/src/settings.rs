//! How much is measured, and under which load.

use serde::{Deserialize, Serialize};

use crate::report::counted;

/// Operations of one iteration of a synchronisation fast path, in a full run.
pub const SYNC_OPS: u64 = 1_000_000;
/// Operations of one iteration of a channel fast path.
pub const CHANNEL_OPS: u64 = 100_000;
/// Operations of one iteration of an async scenario.
pub const ASYNC_OPS: u64 = 10_000;

/// The number of measured iterations, their size, and the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Iterations that are discarded. The last of them counts allocations.
    pub warmup: usize,
    /// Iterations that count.
    pub iterations: usize,
    /// Worker threads of scenarios that need a runtime.
    pub workers: usize,
    /// Every iteration runs this part of the full operation count.
    pub divisor: u64,
    /// The other load of the machine.
    pub load: Load,
}

/// The other load of the machine, and the share of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Busy processes beside every measurement; see [`hog`](crate::hog).
    #[serde(default)]
    pub hog: usize,
    /// The processors that the whole run is pinned to, in order; empty if it is not.
    #[serde(default)]
    pub cpus: Vec<usize>,
}

impl Load {
    /// A machine without load, all of whose processors are used.
    pub const NONE: Load = Load {
        hog: 0,
        cpus: Vec::new(),
    };

    /// Describes the load in words, if there is one.
    ///
    /// ```
    /// use blitz_io_bench::Load;
    /// assert_eq!(Load::NONE.words(), None);
    /// let load = Load { hog: 1, cpus: vec![0] };
    /// assert_eq!(load.words().unwrap(), "beside 1 busy process, pinned to processor 0");
    /// ```
    pub fn words(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.hog > 0 {
            let hogs = counted(self.hog, ["busy process", "busy processes"]);
            parts.push(format!("beside {hogs}"));
        }
        if !self.cpus.is_empty() {
            let s = if self.cpus.len() == 1 { "" } else { "s" };
            let cpus: Vec<String> = self.cpus.iter().map(usize::to_string).collect();
            parts.push(format!("pinned to processor{s} {}", cpus.join(", ")));
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

impl Settings {
    /// 2 warm-ups, 7 iterations, full counts. A run of everything takes less than half an
    /// hour, so that the three runs which a report needs are practical.
    pub const FULL: Settings = Settings {
        warmup: 2,
        iterations: 7,
        workers: 4,
        divisor: 1,
        load: Load::NONE,
    };

    /// 1 warm-up, 8 iterations, a quarter of the operations.
    pub const QUICK: Settings = Settings {
        warmup: 1,
        iterations: 8,
        workers: 4,
        divisor: 4,
        load: Load::NONE,
    };

    /// Scales `ops`, the count of a full run, to these settings.
    pub fn scaled(&self, ops: u64) -> u64 {
        (ops / self.divisor).max(1)
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::FULL
    }
}
