//! What the runtimes of both flavours have: settings, hooks, the pool for blocking
//! work, timers.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::blocking;
use crate::runtime::hooks::Hooks;
use crate::runtime::metrics::{HistogramConfiguration, Totals};
use crate::runtime::seed::Seeds;
use crate::runtime::{Id, UnhandledPanic};
use crate::time;
use blitz_sync::internals::ThreadId;

/// Gives each thread its name.
pub(crate) type ThreadNameFn = Arc<dyn Fn() -> String + Send + Sync>;

/// What a runtime's threads share apart from the scheduler.
pub(crate) struct Common {
    /// The thread that tasks of a `LocalRuntime` stay on, if it is one.
    pub(crate) local_thread: Option<ThreadId>,
    pub(crate) id: Id,
    /// Gets blocking work done.
    pub(crate) blocking: blocking::Spawner,
    /// What `time::Instant` shows.
    pub(crate) clock: Arc<time::Clock>,
    /// The timers; `None` if they have not been enabled.
    pub(crate) time: Option<time::Wheels>,
    pub(crate) hooks: Hooks,
    pub(crate) config: Config,
    /// Random numbers that can be had again.
    pub(crate) seeds: Seeds,
    pub(crate) totals: Totals,
}

/// A runtime's settings, as its builder was told.
#[derive(Clone)]
pub(crate) struct Config {
    /// What the user calls the runtime.
    pub(crate) name: Option<String>,
    /// How many workers a multi-thread runtime has.
    pub(crate) worker_threads: usize,
    pub(crate) thread_name: ThreadNameFn,
    pub(crate) thread_stack_size: Option<usize>,
    /// How many threads for blocking work there may be.
    pub(crate) max_blocking_threads: usize,
    /// How long a thread for blocking work stays when there is none.
    pub(crate) thread_keep_alive: Duration,
    /// After how many polls a worker looks at timers and the driver.
    pub(crate) event_interval: u32,
    /// After how many polls a worker looks at the global queue first; `None` for the
    /// flavour's own choice.
    pub(crate) global_queue_interval: Option<u32>,
    /// No task gets ahead of the queue because it was woken last.
    pub(crate) disable_lifo_slot: bool,
    /// What a task's panic does to the runtime.
    pub(crate) unhandled_panic: UnhandledPanic,
    /// The buckets in which polls are counted by the time they took, if wanted.
    pub(crate) poll_time_histogram: Option<HistogramConfiguration>,
    /// There are timers.
    pub(crate) enable_time: bool,
    /// The clock stands still at first.
    pub(crate) start_paused: bool,
}

impl fmt::Debug for Common {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Common").finish_non_exhaustive()
    }
}
