//! Exports the figures of this crate through the facade [`metrics`](::metrics), to Prometheus,
//! OpenTelemetry and whatever else has a recorder for it.
//!
//! An [`Exporter`] reads the figures and hands them to the recorder that the program has installed,
//! each time [`record`](Exporter::record) is called. [`spawn`](Exporter::spawn) does that in a task.
//!
#![cfg_attr(feature = "rt", doc = "```")]
#![cfg_attr(not(feature = "rt"), doc = "```text")]
//! use std::time::Duration;
//!
//! use blitz_io::metrics::Exporter;
//! use blitz_io::runtime::Builder;
//!
//! let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
//! // First install a recorder, such as that of `metrics-exporter-prometheus`.
//! let _guard = runtime.enter();
//! Exporter::new()
//!     .runtime("main", runtime.handle())
//!     .spawn(Duration::from_secs(10));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Names
//!
//! The counters of the facade are integers, so times are counted in microseconds.
//!
//! Of a runtime, with the feature `rt` and the label `runtime`:
//!
//! | name | type | what it is |
//! |---|---|---|
//! | `blitz_runtime_workers` | gauge | workers |
//! | `blitz_runtime_alive_tasks` | gauge | tasks that have not ended |
//! | `blitz_runtime_spawned_tasks_total` | counter | tasks that were spawned |
//! | `blitz_runtime_global_queue_tasks` | gauge | tasks in the queue of all workers |
//! | `blitz_runtime_remote_schedules_total` | counter | tasks made ready by threads that are not workers |
//! | `blitz_runtime_forced_yields_total` | counter | tasks that yielded because their budget was used up |
//! | `blitz_runtime_blocking_threads` | gauge | threads for blocking work |
//! | `blitz_runtime_idle_blocking_threads` | gauge | those of them that are idle |
//! | `blitz_runtime_blocking_queue_jobs` | gauge | closures that wait for such a thread |
//! | `blitz_runtime_poll_duration_microseconds_bucket` | counter | polls that took no longer than the label `le` says, with the histogram of poll times |
//! | `blitz_runtime_poll_duration_microseconds_count` | counter | polls in that histogram |
//! | `blitz_runtime_schedule_latency_microseconds_bucket` | counter | polls whose task was ready for no longer than the label `le` says, with the histogram of these latencies |
//! | `blitz_runtime_schedule_latency_microseconds_count` | counter | polls in that histogram |
//! | `blitz_runtime_io_registered_total` | counter | sources registered with the drivers, with `net` |
//! | `blitz_runtime_io_deregistered_total` | counter | sources deregistered, with `net` |
//! | `blitz_runtime_io_ready_total` | counter | reports that a source is ready, with `net` |
//!
//! Of a worker, with the labels `runtime` and `worker`:
//!
//! | name | type | what it is |
//! |---|---|---|
//! | `blitz_worker_busy_microseconds_total` | counter | time in which it did not sleep |
//! | `blitz_worker_parks_total` | counter | how often it went to sleep |
//! | `blitz_worker_idle_parks_total` | counter | the same without a poll since the last time |
//! | `blitz_worker_polls_total` | counter | polls of tasks |
//! | `blitz_worker_mean_poll_seconds` | gauge | mean duration of its last polls |
//! | `blitz_worker_steals_total` | counter | how often it has stolen |
//! | `blitz_worker_stolen_tasks_total` | counter | tasks that it has stolen |
//! | `blitz_worker_local_schedules_total` | counter | tasks made ready on the worker itself |
//! | `blitz_worker_overflows_total` | counter | how often its queue was full |
//! | `blitz_worker_queue_tasks` | gauge | tasks in its own queue |
//!
//! Of waits that slept, with the feature `inspect` and the label `kind`, such as `Mutex`. An object
//! has series of its own if the program has [named](crate::inspect::Named) it:
//!
//! | name | type | what it is |
//! |---|---|---|
//! | `blitz_waiting` | gauge | waits that last |
//! | `blitz_wait_duration_microseconds_bucket` | counter | waits that took no longer than the label `le` says |
//! | `blitz_wait_duration_microseconds_sum` | counter | their time |
//! | `blitz_wait_duration_microseconds_count` | counter | how many there were |
//! | `blitz_object_wait_microseconds_total` | counter | time of the waits for the object of the label `object` |
//! | `blitz_object_waits_total` | counter | how many there were |
//! | `blitz_channel_used` | gauge | values in the channel of the label `object`, and reserved room |
//!
//! Of a fork-join pool, with the feature `pool` and the label `pool`, which is `global` for that of all
//! threads:
//!
//! | name | type | what it is |
//! |---|---|---|
//! | `blitz_pool_threads` | gauge | workers |
//! | `blitz_pool_sleeping_threads` | gauge | workers that sleep for want of work |
//! | `blitz_pool_queued_jobs` | gauge | jobs from other threads that no worker has taken |
//!
//! Of the shared memory in which this process takes part, with the feature `ipc` and the labels
//! `segment` and `kind`:
//!
//! | name | type | what it is |
//! |---|---|---|
//! | `blitz_ipc_messages_total` | counter | messages that were sent by all processes |
//! | `blitz_ipc_senders` | gauge | senders of all processes that are alive |
//! | `blitz_ipc_receivers` | gauge | the same of receivers |
//! | `blitz_ipc_behind` | gauge | messages that the slowest receiver has not received |
//!
//! The counters that end with `_bucket`, `_sum` and `_count` are a histogram as Prometheus expects it,
//! so `histogram_quantile` works on them. They are counters because the facade's histograms take one
//! sample at a time, and this crate counts without keeping samples.

use std::collections::HashMap;
use std::fmt;
#[cfg(feature = "rt")]
use std::ops::Range;
#[cfg(feature = "rt")]
use std::time::Duration;

use ::metrics::Label;
#[cfg(feature = "rt")]
use blitz_io_runtime::runtime::{Handle, RuntimeMetrics};

use waits::Waits;

#[cfg_attr(not(feature = "inspect"), path = "metrics/no_waits.rs")]
mod waits;

/// A counter: its name, its labels, and the number of what it counts.
type Series = (&'static str, Vec<Label>, u64);

/// Exports figures through the facade `metrics`, at each call of `record` or in a task that `spawn` starts.
///
/// A program needs one: two of them count the same twice.
#[derive(Default)]
#[must_use = "it exports nothing until `record` or `spawn` is called"]
pub struct Exporter {
    #[cfg(feature = "rt")]
    runtimes: Vec<(String, RuntimeMetrics)>,
    #[cfg(feature = "pool")]
    pools: Vec<(String, blitz_io_pool::PoolMetrics)>,
    /// The counters as the last call of `record` has seen them.
    last: HashMap<Series, u64>,
    waits: Waits,
}

impl Exporter {
    /// Creates an exporter of what the process has once: waits, the global pool, shared memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the metrics of a runtime, whose series get the label `runtime` with this name.
    ///
    /// The runtime's memory, but not its threads, is kept as long as the exporter.
    #[cfg(feature = "rt")]
    pub fn runtime(mut self, name: impl Into<String>, handle: &Handle) -> Self {
        self.runtimes.push((name.into(), handle.metrics()));
        self
    }

    /// Adds the metrics of a pool, whose series get the label `pool` with this name.
    ///
    /// The global pool needs no call: it is exported once it runs.
    #[cfg(feature = "pool")]
    pub fn pool(mut self, name: impl Into<String>, pool: &blitz_io_pool::ThreadPool) -> Self {
        self.pools.push((name.into(), pool.metrics()));
        self
    }

    /// Hands all figures to the current recorder of the facade. To be called every few seconds; each
    /// call registers what is new.
    ///
    /// ```
    /// let mut exporter = blitz_io::metrics::Exporter::new();
    /// exporter.record();
    /// ```
    pub fn record(&mut self) {
        let mut round = Round {
            last: std::mem::take(&mut self.last),
            now: HashMap::new(),
        };
        #[cfg(feature = "rt")]
        for (name, metrics) in &self.runtimes {
            round.runtime(name, metrics);
        }
        self.waits.record(&mut round);
        #[cfg(feature = "pool")]
        {
            let global = blitz_io_pool::global_metrics();
            let global = global.iter().map(|metrics| ("global", metrics));
            let others = self
                .pools
                .iter()
                .map(|(name, metrics)| (name.as_str(), metrics));
            global
                .chain(others)
                .for_each(|(name, metrics)| pool(name, metrics));
        }
        #[cfg(feature = "ipc")]
        round.segments();
        self.last = round.now;
    }

    /// Records once an interval in a task of the current runtime, until that ends or the handle is used
    /// to abort it.
    ///
    /// # Panics
    ///
    /// If there is no current runtime, or `interval` is zero. The task panics if the runtime has no
    /// timers.
    #[cfg(feature = "rt")]
    pub fn spawn(mut self, interval: Duration) -> crate::task::JoinHandle<()> {
        assert!(!interval.is_zero(), "the interval must not be zero");
        crate::task::spawn(async move {
            let mut ticks = crate::time::interval(interval);
            loop {
                ticks.tick().await;
                self.record();
            }
        })
    }
}

impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exporter").finish_non_exhaustive()
    }
}

/// One call of `record`.
#[allow(dead_code, reason = "without features nothing is counted")]
struct Round {
    last: HashMap<Series, u64>,
    now: HashMap<Series, u64>,
}

#[allow(dead_code, reason = "without features there is nothing to export")]
fn labels(pairs: &[(&'static str, &str)]) -> Vec<Label> {
    let label = |&(key, value): &(&'static str, &str)| Label::new(key, value.to_owned());
    pairs.iter().map(label).collect()
}

/// Sets a gauge.
#[allow(dead_code, reason = "without features there is nothing to export")]
fn gauge(name: &'static str, labels: &[Label], value: f64) {
    ::metrics::gauge!(name, labels.to_vec()).set(value);
}

#[allow(dead_code, reason = "without features nothing is counted")]
impl Round {
    /// Adds to a counter what `value` has grown since the last round. `id` tells objects with the same
    /// labels apart; a value that got smaller is that of a new object.
    fn count(&mut self, name: &'static str, labels: &[Label], id: u64, value: u64) {
        let series = (name, labels.to_vec(), id);
        let before = self.last.get(&series).copied().unwrap_or(0);
        let more = value.checked_sub(before).unwrap_or(value);
        ::metrics::counter!(name, labels.to_vec()).increment(more);
        self.now.insert(series, value);
    }

    /// Counts the ranges of a histogram: pairs of the upper end in microseconds and a count, in
    /// ascending order. Returns the sum of the counts.
    fn ranges(
        &mut self,
        name: &'static str,
        labels: &[Label],
        ranges: impl Iterator<Item = (f64, u64)>,
    ) -> u64 {
        let mut sum = 0;
        for (end, count) in ranges {
            sum += count;
            if end.is_finite() {
                self.range(name, labels, end.to_string(), sum);
            }
        }
        self.range(name, labels, "+Inf".into(), sum);
        sum
    }

    fn range(&mut self, name: &'static str, labels: &[Label], end: String, sum: u64) {
        let mut labels = labels.to_vec();
        labels.push(Label::new("le", end));
        self.count(name, &labels, 0, sum);
    }
}

#[cfg(feature = "rt")]
impl Round {
    fn runtime(&mut self, name: &str, of: &RuntimeMetrics) {
        let runtime = labels(&[("runtime", name)]);
        let gauges = [
            ("blitz_runtime_workers", of.num_workers()),
            ("blitz_runtime_alive_tasks", of.num_alive_tasks()),
            ("blitz_runtime_global_queue_tasks", of.global_queue_depth()),
            ("blitz_runtime_blocking_threads", of.num_blocking_threads()),
            (
                "blitz_runtime_idle_blocking_threads",
                of.num_idle_blocking_threads(),
            ),
            (
                "blitz_runtime_blocking_queue_jobs",
                of.blocking_queue_depth(),
            ),
        ];
        for (name, value) in gauges {
            gauge(name, &runtime, value as f64);
        }
        let counters = [
            (
                "blitz_runtime_spawned_tasks_total",
                of.spawned_tasks_count(),
            ),
            (
                "blitz_runtime_remote_schedules_total",
                of.remote_schedule_count(),
            ),
            (
                "blitz_runtime_forced_yields_total",
                of.budget_forced_yield_count(),
            ),
            #[cfg(feature = "net")]
            (
                "blitz_runtime_io_registered_total",
                of.io_driver_fd_registered_count(),
            ),
            #[cfg(feature = "net")]
            (
                "blitz_runtime_io_deregistered_total",
                of.io_driver_fd_deregistered_count(),
            ),
            #[cfg(feature = "net")]
            ("blitz_runtime_io_ready_total", of.io_driver_ready_count()),
        ];
        for (name, value) in counters {
            self.count(name, &runtime, 0, value);
        }
        if of.poll_time_histogram_enabled() {
            self.polls(&runtime, of);
        }
        #[cfg(feature = "schedule-latency")]
        if of.schedule_latency_histogram_enabled() {
            self.latencies(&runtime, of);
        }
        for worker in 0..of.num_workers() {
            let labels = labels(&[("runtime", name), ("worker", &worker.to_string())]);
            self.worker(&labels, of, worker);
        }
    }

    fn polls(&mut self, runtime: &[Label], of: &RuntimeMetrics) {
        let ranges = (0..of.poll_time_histogram_num_buckets()).map(|bucket| {
            let workers = 0..of.num_workers();
            let counts = workers.map(|worker| of.poll_time_histogram_bucket_count(worker, bucket));
            (of.poll_time_histogram_bucket_range(bucket), counts.sum())
        });
        self.durations(
            "blitz_runtime_poll_duration_microseconds_bucket",
            "blitz_runtime_poll_duration_microseconds_count",
            runtime,
            ranges,
        );
    }

    #[cfg(feature = "schedule-latency")]
    fn latencies(&mut self, runtime: &[Label], of: &RuntimeMetrics) {
        let ranges = (0..of.schedule_latency_histogram_num_buckets()).map(|bucket| {
            let workers = 0..of.num_workers();
            let counts =
                workers.map(|worker| of.schedule_latency_histogram_bucket_count(worker, bucket));
            (
                of.schedule_latency_histogram_bucket_range(bucket),
                counts.sum(),
            )
        });
        self.durations(
            "blitz_runtime_schedule_latency_microseconds_bucket",
            "blitz_runtime_schedule_latency_microseconds_count",
            runtime,
            ranges,
        );
    }

    /// Counts a histogram of a runtime, whose last range has no end.
    fn durations(
        &mut self,
        bucket: &'static str,
        count: &'static str,
        runtime: &[Label],
        ranges: impl ExactSizeIterator<Item = (Range<Duration>, u64)>,
    ) {
        let length = ranges.len();
        let ranges = ranges.enumerate().map(|(number, (range, polls))| {
            let end = if number + 1 == length {
                f64::INFINITY
            } else {
                range.end.as_nanos() as f64 / 1e3
            };
            (end, polls)
        });
        let all = self.ranges(bucket, runtime, ranges);
        self.count(count, runtime, 0, all);
    }

    fn worker(&mut self, labels: &[Label], of: &RuntimeMetrics, worker: usize) {
        let busy = of.worker_total_busy_duration(worker).as_micros() as u64;
        let counters = [
            ("blitz_worker_busy_microseconds_total", busy),
            ("blitz_worker_parks_total", of.worker_park_count(worker)),
            (
                "blitz_worker_idle_parks_total",
                of.worker_noop_count(worker),
            ),
            ("blitz_worker_polls_total", of.worker_poll_count(worker)),
            (
                "blitz_worker_steals_total",
                of.worker_steal_operations(worker),
            ),
            (
                "blitz_worker_stolen_tasks_total",
                of.worker_steal_count(worker),
            ),
            (
                "blitz_worker_local_schedules_total",
                of.worker_local_schedule_count(worker),
            ),
            (
                "blitz_worker_overflows_total",
                of.worker_overflow_count(worker),
            ),
        ];
        for (name, value) in counters {
            self.count(name, labels, 0, value);
        }
        let mean = of.worker_mean_poll_time(worker).as_secs_f64();
        gauge("blitz_worker_mean_poll_seconds", labels, mean);
        let queued = of.worker_local_queue_depth(worker);
        gauge("blitz_worker_queue_tasks", labels, queued as f64);
    }
}

#[cfg(feature = "pool")]
fn pool(name: &str, of: &blitz_io_pool::PoolMetrics) {
    let pool = labels(&[("pool", name)]);
    let gauges = [
        ("blitz_pool_threads", of.num_threads()),
        ("blitz_pool_sleeping_threads", of.sleeping_threads()),
        ("blitz_pool_queued_jobs", of.queued_jobs()),
    ];
    for (name, value) in gauges {
        gauge(name, &pool, value as f64);
    }
}

#[cfg(feature = "ipc")]
impl Round {
    /// The segments of this process. Where there is no shared memory, or it cannot be read, there are
    /// none.
    fn segments(&mut self) {
        let pid = std::process::id();
        for segment in blitz_io_ipc::list().unwrap_or_default() {
            let participants = &segment.participants;
            if !participants
                .iter()
                .any(|participant| participant.pid == pid)
            {
                continue;
            }
            let kind = format!("{:?}", segment.kind).to_lowercase();
            let labels = labels(&[("segment", &segment.name), ("kind", &kind)]);
            self.count("blitz_ipc_messages_total", &labels, 0, segment.messages);
            let count = |sends: bool| {
                let is_it = |p: &&blitz_io_ipc::Participant| p.alive && p.sends == sends;
                participants.iter().filter(is_it).count() as f64
            };
            gauge("blitz_ipc_senders", &labels, count(true));
            gauge("blitz_ipc_receivers", &labels, count(false));
            let alive = participants.iter().filter(|participant| participant.alive);
            if let Some(behind) = alive.filter_map(|participant| participant.depth).max() {
                gauge("blitz_ipc_behind", &labels, behind as f64);
            }
        }
    }
}
