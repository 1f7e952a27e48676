//! The counters of one worker.
//!
//! Each number has one writer, the worker, so it is counted with a load and a store.
//! Other threads only read. Events on threads that are no workers are counted in
//! [`Totals`].

use std::cell::Cell;
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use blitz_io_futex::atomic::{AtomicU64, Ordering};
use blitz_io_sync::thread::Mutex;

use super::histogram::{Histogram, HistogramConfiguration, nanos};
use crate::api::config::Config;

/// A number with one writer.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Only the writer calls it.
    #[inline]
    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Only the writer calls it.
    #[inline]
    pub(crate) fn add(&self, more: u64) {
        self.set(self.get().wrapping_add(more));
    }
}

/// The counters of one worker; see the module documentation.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Counters {
    pub(crate) polls: Count,
    pub(crate) spawned: Count,
    /// Number of tasks in the worker's queue.
    pub(crate) queued: Count,
    pub(crate) scheduled_here: Count,
    pub(crate) forced_yields: Count,
    pub(crate) busy_nanos: Count,
    pub(crate) parks: Count,
    pub(crate) parks_and_unparks: Count,
    pub(crate) noops: Count,
    pub(crate) stolen: Count,
    pub(crate) steals: Count,
    pub(crate) overflows: Count,
    pub(crate) mean_poll_nanos: Count,
    /// `polls` when the worker last went to sleep.
    polls_at_park: Count,
    /// `polls` when the worker's time was counted last.
    polls_timed: Count,
    histogram: Option<Histogram>,
    #[cfg(feature = "schedule-latency")]
    latencies: Option<Histogram>,
    thread: Mutex<Option<ThreadId>>,
}

impl Counters {
    pub(crate) fn new(config: &Config) -> Self {
        let build = HistogramConfiguration::build;
        Self {
            histogram: config.poll_time_histogram.as_ref().map(build),
            #[cfg(feature = "schedule-latency")]
            latencies: config.latency_histogram.as_ref().map(build),
            ..Self::default()
        }
    }

    pub(crate) fn histogram(&self) -> Option<&Histogram> {
        self.histogram.as_ref()
    }

    #[cfg(feature = "schedule-latency")]
    pub(crate) fn latencies(&self) -> Option<&Histogram> {
        self.latencies.as_ref()
    }

    /// Counts a task that was ready for `latency` before its poll.
    #[cfg(feature = "schedule-latency")]
    pub(crate) fn was_ready(&self, latency: Duration) {
        if let Some(histogram) = &self.latencies {
            histogram.count(latency);
        }
    }

    #[cfg(not(feature = "schedule-latency"))]
    pub(crate) fn was_ready(&self, _: Duration) {}

    pub(crate) fn thread(&self) -> Option<ThreadId> {
        *self.thread.lock()
    }

    /// Records that the worker is on this thread from now on.
    pub(crate) fn is_run_by(&self, thread: ThreadId) {
        let mut now = self.thread.lock();
        if *now != Some(thread) {
            *now = Some(thread);
        }
    }

    /// Sets all numbers to zero, for a runtime that is like a new one.
    #[cfg(feature = "sim")]
    pub(crate) fn restart(&self) {
        let all = [
            &self.polls,
            &self.spawned,
            &self.queued,
            &self.scheduled_here,
            &self.forced_yields,
            &self.busy_nanos,
            &self.parks,
            &self.parks_and_unparks,
            &self.noops,
            &self.stolen,
            &self.steals,
            &self.overflows,
            &self.mean_poll_nanos,
            &self.polls_at_park,
            &self.polls_timed,
        ];
        all.iter().for_each(|count| count.set(0));
    }

    /// Returns `true` if the time of polls is measured.
    #[inline]
    pub(crate) fn watches_polls(&self) -> bool {
        self.histogram.is_some()
    }

    /// Counts a poll that took `time`.
    pub(crate) fn poll_took(&self, time: Duration) {
        if let Some(histogram) = &self.histogram {
            histogram.count(time);
        }
        self.polls_took(1, nanos(time));
    }

    /// Counts a worker that goes to sleep.
    pub(crate) fn about_to_park(&self) {
        self.parks.add(1);
        self.parks_and_unparks.add(1);
        if self.polls_at_park.get() == self.polls.get() {
            self.noops.add(1);
        }
        self.polls_at_park.set(self.polls.get());
    }

    /// Counts a worker that has slept.
    pub(crate) fn unparked(&self) {
        self.parks_and_unparks.add(1);
    }

    /// Adds the time that the worker has been busy since the stopwatch was started.
    pub(crate) fn busy(&self, since: &Cell<Stopwatch>) {
        let now = Stopwatch::start();
        let busy = nanos(now.0 - since.replace(now).0);
        self.busy_nanos.add(busy);
        let polls = self.polls.get() - self.polls_timed.get();
        self.polls_timed.add(polls);
        if polls != 0 && !self.watches_polls() {
            self.polls_took(polls, busy);
        }
    }

    /// Counts `polls` that took `nanos` together. Each counts for a tenth of the mean.
    fn polls_took(&self, polls: u64, nanos: u64) {
        let (mean, this) = (
            self.mean_poll_nanos.get() as f64,
            nanos as f64 / polls as f64,
        );
        let left = if mean == 0.0 {
            0.0
        } else {
            0.9_f64.powi(polls.min(1_000) as i32)
        };
        self.mean_poll_nanos
            .set((mean * left + this * (1.0 - left)) as u64);
    }
}

/// Counters of the threads that are no workers, changed with read-modify-writes.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    /// Tasks that have been spawned, and so made ready.
    pub(crate) spawned: AtomicU64,
    /// Tasks that have been made ready and were not spawned just then.
    pub(crate) scheduled: AtomicU64,
}

#[cfg(feature = "sim")]
impl Totals {
    /// Sets both numbers to zero. No other thread changes them.
    pub(crate) fn restart(&self) {
        self.spawned.store(0, Ordering::Relaxed);
        self.scheduled.store(0, Ordering::Relaxed);
    }
}

/// A moment at which a worker began to be busy.
#[derive(Clone, Copy)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns the time at which it was started.
    pub(crate) fn started(self) -> Instant {
        self.0
    }
}
