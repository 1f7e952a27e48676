//! The inspector of a runtime, with the feature `inspect`: the builder's settings for it, and the figures for `blitz top`.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use blitz_io_inspect::trace::Ended;
use blitz_io_inspect::{
    Monitor, RegisteredRuntime, Runtime, Scheduler, Waiting, Worker, trace_when,
};

use super::{Builder, Handle, RuntimeMetrics};
use crate::api::metrics::nanos;
use crate::api::scheduler;
use crate::kernel::idle::Place;

#[cfg_attr(docsrs, doc(cfg(feature = "inspect")))]
impl Builder {
    /// Opens the process's socket for `blitz why` when the runtime is built, as `BLITZ_INSPECT=1` in
    /// the environment does; on Windows, a named pipe. If it cannot be opened, [`build`](Self::build)
    /// fails.
    ///
    /// ```
    /// use blitz_io::runtime::Builder;
    ///
    /// let runtime = Builder::new_current_thread().inspect(true).build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn inspect(&mut self, enable: bool) -> &mut Self {
        self.inspect = enable;
        self
    }

    /// Switches the recorder of `blitz trace` on when the runtime is built, as `BLITZ_TRACE=1` in the environment
    /// does. It stays on until the process ends or `blitz trace` switches it off: each thread keeps its last 65,536
    /// events, in 2 MiB. `blitz trace PID --last 5s` reads them, if [`inspect`](Self::inspect) has opened the
    /// socket.
    ///
    /// ```
    /// use blitz_io::runtime::Builder;
    ///
    /// let runtime = Builder::new_current_thread().inspect(true).trace(true).build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn trace(&mut self, enable: bool) -> &mut Self {
        self.tracing.is_on = enable;
        self
    }

    /// Switches the recorder of `blitz trace` on, and writes its events into `folder` when a request ends for which the
    /// predicate returns `true`, such as one that was slow: `PID-1.blitz`, `PID-2.blitz` and so on, 16 at most, which
    /// `blitz trace report` reads. A thread of its own writes them; all requests that end while it writes one have the
    /// next file together.
    ///
    /// The predicate is called in the thread in which a [request](https://docs.rs/blitz-io/latest/blitz_io/trace/) ends,
    /// of any runtime of the process, until the process ends. It must not block. The first runtime that this builder
    /// builds installs it; a builder that has installed it already does so no more.
    ///
    /// ```
    /// use std::time::Duration;
    /// use blitz_io::runtime::Builder;
    ///
    /// let runtime = Builder::new_current_thread()
    ///     .trace_when("/var/tmp", |request| request.duration > Duration::from_millis(100))
    ///     .build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn trace_when<F>(&mut self, folder: impl Into<PathBuf>, predicate: F) -> &mut Self
    where
        F: Fn(&Ended<'_>) -> bool + Send + Sync + 'static,
    {
        self.tracing.when = Some(When {
            folder: folder.into(),
            predicate: Box::new(predicate),
        });
        self
    }
}

/// Opens the process's socket if `is_wanted` is true or `BLITZ_INSPECT` is set.
#[cfg_attr(
    not(any(unix, windows)),
    allow(clippy::unnecessary_wraps, reason = "it fails on the others")
)]
pub(super) fn serve(is_wanted: bool) -> io::Result<()> {
    #[cfg(any(unix, windows))]
    if is_wanted {
        blitz_io_inspect::serve()?;
    } else {
        blitz_io_inspect::serve_if_asked();
    }
    #[cfg(not(any(unix, windows)))]
    let _ = is_wanted;
    Ok(())
}

/// When the recorder of `blitz trace` is on, and writes a file.
#[derive(Default)]
pub(super) struct Tracing {
    pub(super) is_on: bool,
    pub(super) when: Option<When>,
}

/// The folder for the files, and the requests after which one is written.
pub(super) struct When {
    pub(super) folder: PathBuf,
    pub(super) predicate: Box<dyn Fn(&Ended<'_>) -> bool + Send + Sync>,
}

/// Switches the recorder of `blitz trace` on, if it is wanted. A predicate is for the process: the first runtime of the
/// builder installs it.
pub(super) fn trace(wanted: &mut Tracing) -> io::Result<()> {
    if wanted.is_on {
        blitz_io_observe::trace::start();
    }
    match wanted.when.take() {
        Some(When { folder, predicate }) => trace_when(folder, predicate),
        None => Ok(()),
    }
}

/// Judges the tasks of a runtime that is about to drop them, for `blitz lint`.
pub(super) fn ends(handle: &Handle) {
    if handle.metrics().num_alive_tasks() != 0 {
        blitz_io_inspect::lint::runtime_ends();
    }
}

/// Makes a runtime known to the inspector, until its last handle is dropped.
pub(super) fn register(inner: &scheduler::Handle) {
    let registered = match inner {
        scheduler::Handle::CurrentThread(shared) => {
            let shared = Arc::downgrade(shared);
            RegisteredRuntime::new(move || {
                let inner = scheduler::Handle::CurrentThread(shared.upgrade()?);
                Some(read(inner))
            })
        }
        scheduler::Handle::MultiThread(shared) => {
            let shared = Arc::downgrade(shared);
            RegisteredRuntime::new(move || {
                let inner = scheduler::Handle::MultiThread(shared.upgrade()?);
                Some(read(inner))
            })
        }
    };
    // It is set once, here.
    inner.common().registered.keep(registered);
}

fn read(inner: scheduler::Handle) -> Runtime {
    let id = inner.common().id.number();
    let idle = idle_state(&inner);
    let metrics = RuntimeMetrics::new(Handle { inner });
    let workers = 0..metrics.own_workers();
    Runtime {
        id,
        workers: workers
            .map(|worker| read_worker(&metrics, worker))
            .collect(),
        alive_tasks: metrics.num_alive_tasks(),
        spawned_tasks: metrics.spawned_tasks_count(),
        global_queue: metrics.global_queue_depth(),
        blocking_threads: metrics.num_blocking_threads(),
        idle_blocking_threads: metrics.num_idle_blocking_threads(),
        blocking_queue: metrics.blocking_queue_depth(),
        poll_times: poll_times(&metrics),
        scheduler: idle,
        injected: metrics.remote_schedule_count(),
        forced_yields: metrics.budget_forced_yield_count(),
    }
}

fn read_worker(metrics: &RuntimeMetrics, worker: usize) -> Worker {
    Worker {
        is_busy: metrics.worker_park_unpark_count(worker) % 2 == 0,
        busy_ns: nanos(metrics.worker_total_busy_duration(worker)),
        polls: metrics.worker_poll_count(worker),
        mean_poll_ns: nanos(metrics.worker_mean_poll_time(worker)),
        queued: metrics.worker_local_queue_depth(worker),
        stolen: metrics.worker_steal_count(worker),
        steals: metrics.worker_steal_operations(worker),
        parks: metrics.worker_park_count(worker),
        noops: metrics.worker_noop_count(worker),
        overflows: metrics.worker_overflow_count(worker),
    }
}

/// Returns the state of the idle protocol of a runtime with several workers.
fn idle_state(inner: &scheduler::Handle) -> Option<Scheduler> {
    let scheduler::Handle::MultiThread(shared) = inner else {
        return None;
    };
    let asleep = shared.idle.asleep();
    Some(Scheduler {
        awake: asleep.count.awake(),
        searching: asleep.count.searching(),
        parked: asleep.parked,
        drivers: (asleep.drivers.into_iter())
            .map(|(waiting, called)| Waiting { waiting, called })
            .collect(),
        monitor: asleep.monitor.map(|place| match place {
            Place::Parked(worker) => Monitor::Worker(worker),
            Place::Driver(driver) => Monitor::Driver(driver),
        }),
        is_dozing: asleep.count.is_dozing(),
    })
}

/// Returns the histogram of poll times, over all workers.
fn poll_times(metrics: &RuntimeMetrics) -> Vec<(u64, u64)> {
    let mut found = BTreeMap::new();
    for bucket in 0..metrics.poll_time_histogram_num_buckets() {
        let end = nanos(metrics.poll_time_histogram_bucket_range(bucket).end);
        let workers = 0..metrics.own_workers();
        let counts = workers.map(|worker| metrics.poll_time_histogram_bucket_count(worker, bucket));
        found.insert(end, counts.sum());
    }
    found.into_iter().collect()
}
