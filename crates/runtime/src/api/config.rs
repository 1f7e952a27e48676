//! A runtime's settings.

use std::sync::Arc;
use std::time::Duration;

use crate::api::metrics::HistogramConfiguration;

/// Gives each thread its name.
pub(crate) type ThreadNameFn = Arc<dyn Fn() -> String + Send + Sync>;

/// The reaction of a current-thread runtime, or of a set of local tasks, to a task's
/// panic.
///
/// For [`Builder::unhandled_panic`](crate::runtime::Builder::unhandled_panic) and
/// [`LocalSet::unhandled_panic`](crate::task::LocalSet::unhandled_panic).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum UnhandledPanic {
    /// The panic goes into the task's `JoinHandle`, and nothing else happens.
    Ignore,
    /// All tasks are cancelled, and `block_on`, or a poll of the set, panics.
    ShutdownRuntime,
}

/// A runtime's settings, as set on its builder.
#[derive(Clone)]
pub(crate) struct Config {
    /// The runtime's name.
    pub(crate) name: Option<String>,
    /// Number of workers of a multi-thread runtime.
    pub(crate) worker_threads: usize,
    pub(crate) thread_name: ThreadNameFn,
    pub(crate) thread_stack_size: Option<usize>,
    /// Largest number of threads for blocking work.
    pub(crate) max_blocking_threads: usize,
    /// Time for which a thread for blocking work stays without work.
    pub(crate) thread_keep_alive: Duration,
    /// Number of polls after which a worker looks at timers and the driver.
    pub(crate) event_interval: u32,
    /// Number of polls after which a worker looks at the global queue first; `None` for the
    /// flavour's own choice.
    pub(crate) global_queue_interval: Option<u32>,
    /// The LIFO slot is disabled: no task gets ahead of the queue because it was woken last.
    pub(crate) disable_lifo_slot: bool,
    /// The effect of a task's panic on the runtime.
    pub(crate) unhandled_panic: UnhandledPanic,
    /// The buckets in which polls are counted by the time they took, if wanted.
    pub(crate) poll_time_histogram: Option<HistogramConfiguration>,
    /// The runtime notes when tasks become ready.
    #[cfg(feature = "schedule-latency")]
    pub(crate) tracks_latency: bool,
    /// The buckets in which polls are counted by the time for which their task was ready, if wanted.
    #[cfg(feature = "schedule-latency")]
    pub(crate) latency_histogram: Option<HistogramConfiguration>,
    /// There is I/O.
    pub(crate) enable_io: bool,
    /// Largest number of events that one poll of the system may report.
    pub(crate) io_events: usize,
    /// Largest number of events while there are tasks to run, if it is to differ.
    pub(crate) io_events_busy: Option<usize>,
    /// The drivers may have a ring of completions.
    pub(crate) enable_io_uring: bool,
    /// There are timers.
    pub(crate) enable_time: bool,
    /// The clock is paused at first.
    pub(crate) start_paused: bool,
    /// The runtime of Tokio's that is entered wherever this one's code runs.
    #[cfg(feature = "tokio")]
    pub(crate) tokio: Option<tokio::runtime::Handle>,
}
