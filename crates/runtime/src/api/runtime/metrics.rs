//! `RuntimeMetrics`: the metrics of a runtime.

use std::ops::Range;
use std::thread::ThreadId;
use std::time::Duration;

use blitz_io_futex::atomic::Ordering;
use blitz_io_observe::decisions;

use super::Handle;
use crate::api::metrics::{Counters, Histogram, Totals};

/// The metrics of a runtime.
///
/// Returned by [`Handle::metrics`] and [`Runtime::metrics`](super::Runtime::metrics). The
/// workers write the numbers without a lock, from time to time, so they may lag behind, and
/// may not match each other exactly.
///
/// ```
/// use blitz_io::runtime::Builder;
///
/// let runtime = Builder::new_multi_thread().worker_threads(3).build()?;
/// assert_eq!(runtime.metrics().num_workers(), 3);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RuntimeMetrics {
    handle: Handle,
}

impl Handle {
    /// Returns the runtime's metrics.
    ///
    /// ```
    /// use blitz_io::runtime::Builder;
    ///
    /// let runtime = Builder::new_current_thread().build()?;
    /// let _task = runtime.spawn(async {});
    /// assert_eq!(runtime.handle().metrics().num_alive_tasks(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn metrics(&self) -> RuntimeMetrics {
        RuntimeMetrics::new(self.clone())
    }
}

/// Defines methods that return a counter of a worker.
macro_rules! worker_counts {
    ($($(#[$doc:meta])* $name:ident: $counter:ident;)*) => { $(
        $(#[$doc])*
        #[track_caller]
        #[must_use]
        pub fn $name(&self, worker: usize) -> u64 {
            self.worker(worker).$counter.get()
        }
    )* };
}

impl RuntimeMetrics {
    pub(super) fn new(handle: Handle) -> Self {
        Self { handle }
    }

    #[track_caller]
    fn worker(&self, worker: usize) -> &Counters {
        self.handle.inner.counters(worker)
    }

    fn totals(&self) -> &Totals {
        &self.handle.inner.common().totals
    }

    fn histogram(&self, worker: usize) -> Option<&Histogram> {
        self.worker(worker).histogram()
    }

    fn sum(&self, of: impl Fn(&Counters) -> u64) -> u64 {
        (0..self.own_workers())
            .map(|worker| of(self.worker(worker)))
            .sum()
    }

    /// Returns how many sources have been registered with the I/O drivers.
    #[cfg(feature = "io")]
    #[must_use]
    pub fn io_driver_fd_registered_count(&self) -> u64 {
        self.io(blitz_io_driver::Metrics::registered)
    }

    /// Returns how many sources have been deregistered from the I/O drivers.
    #[cfg(feature = "io")]
    #[must_use]
    pub fn io_driver_fd_deregistered_count(&self) -> u64 {
        self.io(blitz_io_driver::Metrics::deregistered)
    }

    /// Returns how many times the system has reported that a source is ready.
    #[cfg(feature = "io")]
    #[must_use]
    pub fn io_driver_ready_count(&self) -> u64 {
        self.io(blitz_io_driver::Metrics::ready)
    }

    #[cfg(feature = "io")]
    fn io(&self, of: fn(&blitz_io_driver::Metrics) -> usize) -> u64 {
        let drivers = self.handle.inner.common().io.as_ref();
        drivers.map_or(0, |drivers| drivers.sum(of))
    }

    /// Returns the number of workers, which does not change. The thread of a simulation plays four.
    #[must_use]
    pub fn num_workers(&self) -> usize {
        if decisions::is_on() {
            return self.own_workers().max(decisions::WORKERS as usize);
        }
        self.own_workers()
    }

    /// Returns the number of workers that have counters.
    pub(super) fn own_workers(&self) -> usize {
        self.handle.inner.common().config.worker_threads
    }

    /// Returns how many tasks have not ended yet.
    ///
    /// ```
    /// use blitz_io::runtime::Builder;
    ///
    /// let runtime = Builder::new_current_thread().build()?;
    /// runtime.spawn(std::future::pending::<()>());
    /// assert_eq!(runtime.metrics().num_alive_tasks(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn num_alive_tasks(&self) -> usize {
        self.handle.inner.base().owned.len()
    }

    /// Returns how many tasks wait in the global queue.
    #[must_use]
    pub fn global_queue_depth(&self) -> usize {
        self.handle.inner.injected()
    }

    /// Returns how long a worker has been doing something other than sleeping.
    ///
    /// # Panics
    ///
    /// When there is no such worker, as all methods that take the number of a worker.
    #[track_caller]
    #[must_use]
    pub fn worker_total_busy_duration(&self, worker: usize) -> Duration {
        Duration::from_nanos(self.worker(worker).busy_nanos.get())
    }

    worker_counts! {
        /// Returns how often a worker has gone to sleep.
        worker_park_count: parks;

        /// Returns how often a worker has gone to sleep or woken up. While it sleeps, the
        /// number is odd.
        worker_park_unpark_count: parks_and_unparks;

        /// Returns how often a worker has gone to sleep without having polled a task since
        /// the last time.
        worker_noop_count: noops;

        /// Returns how many tasks a worker has stolen.
        worker_steal_count: stolen;

        /// Returns how often a worker has stolen tasks.
        worker_steal_operations: steals;

        /// Returns how often a worker has polled a task.
        worker_poll_count: polls;

        /// Returns how many tasks have been made ready on a worker itself.
        worker_local_schedule_count: scheduled_here;

        /// Returns how often a worker's queue was full.
        worker_overflow_count: overflows;
    }

    /// Returns the mean duration of a worker's last polls.
    ///
    /// Without the histogram of poll times, it is the time that the worker was busy,
    /// divided by its polls, and is known only after the worker has been idle.
    #[track_caller]
    #[must_use]
    pub fn worker_mean_poll_time(&self, worker: usize) -> Duration {
        Duration::from_nanos(self.worker(worker).mean_poll_nanos.get())
    }

    /// Returns for how long a worker has been in the poll of its current task. `None` if it polls
    /// none, and always without
    /// [`Builder::on_worker_stalled`](crate::runtime::Builder::on_worker_stalled).
    #[track_caller]
    #[must_use]
    pub fn worker_current_poll(&self, worker: usize) -> Option<Duration> {
        let _exists = self.worker(worker);
        let stalls = self.handle.inner.common().stalls.as_ref();
        stalls?.current_poll(worker)
    }

    /// Returns the thread that a worker was on when it last began to run tasks.
    #[track_caller]
    #[must_use]
    pub fn worker_thread_id(&self, worker: usize) -> Option<ThreadId> {
        self.worker(worker).thread()
    }

    /// Returns how many tasks wait in a worker's own queue.
    #[track_caller]
    #[must_use]
    pub fn worker_local_queue_depth(&self, worker: usize) -> usize {
        self.handle.inner.queued(worker)
    }

    /// Returns how many tasks have been spawned.
    ///
    /// ```
    /// use blitz_io::runtime::Builder;
    ///
    /// let runtime = Builder::new_current_thread().build()?;
    /// runtime.block_on(runtime.spawn(async {})).unwrap();
    /// assert_eq!(runtime.metrics().spawned_tasks_count(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn spawned_tasks_count(&self) -> u64 {
        self.sum(|worker| worker.spawned.get()) + self.totals().spawned.load(Ordering::Relaxed)
    }

    /// Returns how many tasks have been made ready by threads that are not workers.
    #[must_use]
    pub fn remote_schedule_count(&self) -> u64 {
        let totals = self.totals();
        totals.spawned.load(Ordering::Relaxed) + totals.scheduled.load(Ordering::Relaxed)
    }

    /// Returns how often a task has been made to yield because its budget was used up.
    #[must_use]
    pub fn budget_forced_yield_count(&self) -> u64 {
        self.sum(|worker| worker.forced_yields.get())
    }

    /// Returns how many threads there are for blocking work.
    ///
    /// ```
    /// use blitz_io::runtime::Builder;
    ///
    /// let runtime = Builder::new_current_thread().build()?;
    /// assert_eq!(runtime.metrics().num_blocking_threads(), 0);
    /// runtime.block_on(runtime.spawn_blocking(|| ())).unwrap();
    /// assert_eq!(runtime.metrics().num_blocking_threads(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn num_blocking_threads(&self) -> usize {
        self.handle.inner.pool().numbers().threads
    }

    /// Returns how many threads for blocking work are idle.
    #[must_use]
    pub fn num_idle_blocking_threads(&self) -> usize {
        self.handle.inner.pool().numbers().idle
    }

    /// Returns how many closures wait for a thread for blocking work.
    #[must_use]
    pub fn blocking_queue_depth(&self) -> usize {
        self.handle.inner.pool().numbers().queued
    }

    /// Returns whether polls are counted by their duration: see
    /// [`Builder::enable_metrics_poll_time_histogram`](super::Builder::enable_metrics_poll_time_histogram).
    #[must_use]
    pub fn poll_time_histogram_enabled(&self) -> bool {
        self.histogram(0).is_some()
    }

    /// Returns how many ranges the histogram has; 0 if there is none.
    #[must_use]
    pub fn poll_time_histogram_num_buckets(&self) -> usize {
        self.histogram(0).map_or(0, Histogram::num_buckets)
    }

    /// Returns a range of the histogram; an empty one if there is no histogram.
    ///
    /// # Panics
    ///
    /// When there is a histogram without that range.
    #[track_caller]
    #[must_use]
    pub fn poll_time_histogram_bucket_range(&self, bucket: usize) -> Range<Duration> {
        self.histogram(0)
            .map_or_else(Range::default, |histogram| histogram.range(bucket))
    }

    /// Returns how many polls of a worker took as long as a range of the histogram says; 0
    /// if there is no histogram.
    ///
    /// # Panics
    ///
    /// When there is no such worker, or a histogram without that range.
    #[track_caller]
    #[must_use]
    pub fn poll_time_histogram_bucket_count(&self, worker: usize, bucket: usize) -> u64 {
        self.histogram(worker)
            .map_or(0, |histogram| histogram.get(bucket))
    }
}

/// The times for which tasks are ready before they are polled.
#[cfg(feature = "schedule-latency")]
impl RuntimeMetrics {
    fn latencies(&self, worker: usize) -> Option<&Histogram> {
        self.worker(worker).latencies()
    }

    /// Returns whether polls are counted by the time for which their task was ready: see
    /// [`Builder::enable_metrics_schedule_latency_histogram`](super::Builder::enable_metrics_schedule_latency_histogram).
    #[must_use]
    pub fn schedule_latency_histogram_enabled(&self) -> bool {
        self.latencies(0).is_some()
    }

    /// Returns how many ranges the histogram has; 0 if there is none.
    #[must_use]
    pub fn schedule_latency_histogram_num_buckets(&self) -> usize {
        self.latencies(0).map_or(0, Histogram::num_buckets)
    }

    /// Returns a range of the histogram; an empty one if there is no histogram.
    ///
    /// # Panics
    ///
    /// When there is a histogram without that range.
    #[track_caller]
    #[must_use]
    pub fn schedule_latency_histogram_bucket_range(&self, bucket: usize) -> Range<Duration> {
        self.latencies(0)
            .map_or_else(Range::default, |histogram| histogram.range(bucket))
    }

    /// Returns how many polls of a worker were of a task that was ready for as long as a range of the
    /// histogram says; 0 if there is no histogram.
    ///
    /// # Panics
    ///
    /// When there is no such worker, or a histogram without that range.
    #[track_caller]
    #[must_use]
    pub fn schedule_latency_histogram_bucket_count(&self, worker: usize, bucket: usize) -> u64 {
        self.latencies(worker)
            .map_or(0, |histogram| histogram.get(bucket))
    }
}
