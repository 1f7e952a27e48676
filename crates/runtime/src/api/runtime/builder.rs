//! `Builder`: the settings of a runtime.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::inspected::Tracing;
use crate::api::config::{Config, UnhandledPanic};
use crate::api::hooks::{Hooks, TaskMeta};
use crate::api::metrics::HistogramConfiguration;
use crate::api::seed::RngSeed;
use crate::api::stalls::StalledWorker;
use crate::kernel::idle::MOST_WORKERS;

/// Default number of polls after which a worker checks timers and the driver.
const EVENT_INTERVAL: u32 = 61;
/// Default for the number of events that one poll of the system may report.
const IO_EVENTS: usize = 1024;
const MAX_BLOCKING_THREADS: usize = 512;
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// The name of threads whose name is not set. Programs and tools look for Tokio's.
const THREAD_NAME: &str = if cfg!(feature = "_tokio_names") {
    "tokio-rt-worker"
} else {
    "blitz-worker"
};

/// Builds a [`Runtime`](super::Runtime) with settings.
///
/// ```
/// use blitz_io::runtime::Builder;
///
/// let runtime = Builder::new_multi_thread()
///     .worker_threads(2)
///     .thread_name("my-workers")
///     .enable_all()
///     .build()?;
/// assert_eq!(runtime.block_on(async { 2 * 3 }), 6);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Builder {
    pub(super) kind: Kind,
    /// `true` if the runtime stays on the thread that makes it.
    pub(super) is_local: bool,
    /// `true` if the process's socket is opened.
    pub(super) inspect: bool,
    pub(super) tracing: Tracing,
    pub(crate) config: Config,
    pub(super) hooks: Hooks,
    pub(super) seed: Option<RngSeed>,
    pub(super) worker_threads: Option<usize>,
    histogram: HistogramConfiguration,
    #[cfg(feature = "schedule-latency")]
    latencies: HistogramConfiguration,
    eager_driver_handoff: bool,
}

/// The kind of the runtime.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    CurrentThread,
    MultiThread,
}

/// Defines methods that set a hook, which takes no argument or one of the given type.
macro_rules! hooks {
    ($($(#[$doc:meta])* $name:ident($($argument:ty)?) sets $field:ident;)*) => { $(
        $(#[$doc])*
        pub fn $name<F>(&mut self, f: F) -> &mut Self
        where
            F: Fn($($argument)?) + Send + Sync + 'static,
        {
            self.hooks.$field = Some(Arc::new(f));
            self
        }
    )* };
}

impl Builder {
    /// Creates a builder for a runtime whose tasks run on the thread that calls
    /// [`Runtime::block_on`](super::Runtime::block_on).
    ///
    /// ```
    /// use blitz_io::runtime::Builder;
    /// use std::thread;
    ///
    /// let runtime = Builder::new_current_thread().build()?;
    /// let here = thread::current().id();
    /// let task = runtime.spawn(async { thread::current().id() });
    /// assert_eq!(runtime.block_on(task).unwrap(), here);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn new_current_thread() -> Self {
        Self::new(Kind::CurrentThread)
    }

    /// Creates a builder for a runtime with workers that steal tasks from each other.
    ///
    /// ```
    /// use blitz_io::runtime::Builder;
    /// use std::thread;
    ///
    /// let runtime = Builder::new_multi_thread().build()?;
    /// let here = thread::current().id();
    /// let task = runtime.spawn(async { thread::current().id() });
    /// assert_ne!(runtime.block_on(task).unwrap(), here);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn new_multi_thread() -> Self {
        Self::new(Kind::MultiThread)
    }

    fn new(kind: Kind) -> Self {
        Self {
            kind,
            config: Config {
                name: None,
                worker_threads: 1,
                thread_name: Arc::new(|| THREAD_NAME.into()),
                thread_stack_size: None,
                max_blocking_threads: MAX_BLOCKING_THREADS,
                thread_keep_alive: KEEP_ALIVE,
                event_interval: EVENT_INTERVAL,
                global_queue_interval: None,
                disable_lifo_slot: false,
                unhandled_panic: UnhandledPanic::Ignore,
                poll_time_histogram: None,
                #[cfg(feature = "schedule-latency")]
                tracks_latency: false,
                #[cfg(feature = "schedule-latency")]
                latency_histogram: None,
                enable_io: false,
                io_events: IO_EVENTS,
                io_events_busy: None,
                enable_io_uring: true,
                enable_time: false,
                start_paused: false,
                #[cfg(feature = "tokio")]
                tokio: None,
            },
            hooks: Hooks::default(),
            seed: None,
            worker_threads: None,
            is_local: false,
            inspect: false,
            tracing: Tracing::default(),
            histogram: HistogramConfiguration::default(),
            #[cfg(feature = "schedule-latency")]
            latencies: HistogramConfiguration::default(),
            eager_driver_handoff: false,
        }
    }

    /// Enables I/O and timers.
    pub fn enable_all(&mut self) -> &mut Self {
        self.enable_io().enable_time()
    }

    /// Enables timers. Without it, the first timer panics.
    ///
    /// ```
    /// use blitz_io::{runtime::Builder, time::{Duration, sleep}};
    ///
    /// let runtime = Builder::new_current_thread().enable_time().build()?;
    /// runtime.block_on(async { sleep(Duration::from_millis(1)).await });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enable_time(&mut self) -> &mut Self {
        self.config.enable_time = true;
        self
    }

    /// Does the same as [`enable_time`](Self::enable_time): in this crate each worker
    /// always has its own timers, which Tokio has this method for.
    pub fn enable_alt_timer(&mut self) -> &mut Self {
        self.enable_time()
    }

    /// Enables I/O. Without it, making a socket panics, and [`build`](Self::build) opens no
    /// descriptor.
    ///
    /// The runtime's workers share its drivers, one for every eight processors: `epoll`,
    /// `kqueue`, or the system's equivalent. Without the crate's feature `io`, this has no effect.
    pub fn enable_io(&mut self) -> &mut Self {
        self.config.enable_io = true;
        self
    }

    /// Sets whether operations on files may use io_uring, where the system has it. By
    /// default they may.
    ///
    /// A driver of a multi-thread runtime gets a ring with the first operation of one of its
    /// workers. Other threads use none, and neither does a current-thread runtime, whose
    /// thread may do something else between two calls of `block_on`. Where the system refuses
    /// a ring, such as an old kernel or a sandbox, the operations run on the threads for
    /// blocking work instead, with the same results. `BLITZ_IO_URING=0` in the
    /// environment of the program forbids it in any case; `blitz doctor` shows whether it
    /// is used. Without [`enable_io`](Self::enable_io) or outside of Linux, this has no
    /// effect.
    ///
    /// ```
    /// use blitz_io::runtime::Builder;
    ///
    /// let runtime = Builder::new_multi_thread().enable_all().enable_io_uring(false).build()?;
    /// # drop(runtime);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enable_io_uring(&mut self, enable: bool) -> &mut Self {
        self.config.enable_io_uring = enable;
        self
    }

    /// Sets how many events a worker takes from the system with one call. By default
    /// 1024. The next call takes further events.
    ///
    /// # Panics
    ///
    /// When `capacity` is 0.
    #[track_caller]
    pub fn max_io_events_per_tick(&mut self, capacity: usize) -> &mut Self {
        assert!(capacity > 0, "max_io_events_per_tick must be non-zero");
        self.config.io_events = capacity;
        self
    }

    /// Sets how many events a worker takes from the system with one call while it has
    /// tasks to run. By default the same as otherwise.
    ///
    /// # Panics
    ///
    /// When `capacity` is 0.
    #[track_caller]
    pub fn max_io_events_per_busy_tick(&mut self, capacity: usize) -> &mut Self {
        assert!(capacity > 0, "max_io_events_per_busy_tick must be non-zero");
        self.config.io_events_busy = Some(capacity);
        self
    }

    /// Has no effect: here a worker that leaves its driver always wakes another one if
    /// there is work for it.
    pub fn enable_eager_driver_handoff(&mut self) -> &mut Self {
        self.eager_driver_handoff = true;
        self
    }

    /// Sets how many workers a multi-thread runtime has. By default as many as there are
    /// processors, or the number in the environment variable `TOKIO_WORKER_THREADS`. A
    /// current-thread runtime ignores it.
    ///
    /// # Panics
    ///
    /// When `val` is 0, or more than 65,535 (16,383 on systems of 32 bits).
    ///
    /// ```
    /// use blitz_io::runtime::Builder;
    ///
    /// let runtime = Builder::new_multi_thread().worker_threads(3).build()?;
    /// assert_eq!(runtime.metrics().num_workers(), 3);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn worker_threads(&mut self, val: usize) -> &mut Self {
        assert!(val > 0, "Worker threads cannot be set to 0");
        assert!(
            val <= MOST_WORKERS,
            "Worker threads cannot be set to {val}: a runtime has at most {MOST_WORKERS}"
        );
        self.worker_threads = Some(val);
        self
    }

    /// Sets how many threads there may be for blocking work, beside the workers. By default
    /// 512.
    ///
    /// # Panics
    ///
    /// When `val` is 0.
    ///
    /// ```
    /// use blitz_io::runtime::Builder;
    /// use std::thread;
    ///
    /// let runtime = Builder::new_current_thread().max_blocking_threads(1).build()?;
    /// // The second one has to wait for the first one's thread.
    /// let jobs = [0; 2].map(|_| runtime.spawn_blocking(|| thread::current().id()));
    /// let [one, other] = jobs.map(|job| runtime.block_on(job).unwrap());
    /// assert_eq!(one, other);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn max_blocking_threads(&mut self, val: usize) -> &mut Self {
        assert!(val > 0, "Max blocking threads cannot be set to 0");
        self.config.max_blocking_threads = val;
        self
    }

    /// Sets how long a thread for blocking work stays when there is none. By default 10
    /// seconds.
    pub fn thread_keep_alive(&mut self, duration: Duration) -> &mut Self {
        self.config.thread_keep_alive = duration;
        self
    }

    /// Sets the name of the runtime's threads. By default "blitz-worker", and under the drop-in
    /// package `tokio` "tokio-rt-worker".
    ///
    /// ```
    /// use blitz_io::runtime::Builder;
    /// use std::thread;
    ///
    /// let runtime = Builder::new_multi_thread().thread_name("mine").build()?;
    /// let task = runtime.spawn(async { thread::current().name().map(str::to_owned) });
    /// assert_eq!(runtime.block_on(task).unwrap().as_deref(), Some("mine"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn thread_name(&mut self, val: impl Into<String>) -> &mut Self {
        let name = val.into();
        self.thread_name_fn(move || name.clone())
    }

    /// Sets a function that names the runtime's threads.
    pub fn thread_name_fn<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() -> String + Send + Sync + 'static,
    {
        self.config.thread_name = Arc::new(f);
        self
    }

    /// Sets the name of the runtime: see [`Handle::name`](super::Handle::name).
    ///
    /// # Panics
    ///
    /// When it is empty or has only spaces.
    #[track_caller]
    pub fn name(&mut self, val: impl Into<String>) -> &mut Self {
        let name = val.into();
        assert!(!name.trim().is_empty(), "runtime name shouldn't be empty");
        self.config.name = Some(name);
        self
    }

    /// Sets the size of the threads' stacks in bytes. By default that of
    /// [`std::thread`](mod@std::thread).
    pub fn thread_stack_size(&mut self, val: usize) -> &mut Self {
        self.config.thread_stack_size = Some(val);
        self
    }

    hooks! {
        /// Sets a function that each thread of the runtime calls when it starts.
        ///
        /// ```
        /// use blitz_io::runtime::Builder;
        ///
        /// let runtime = Builder::new_multi_thread()
        ///     .on_thread_start(|| println!("a thread begins"))
        ///     .build()?;
        /// # drop(runtime);
        /// # Ok::<(), std::io::Error>(())
        /// ```
        on_thread_start() sets on_thread_start;

        /// Sets a function that each thread of the runtime calls when it is about to end.
        on_thread_stop() sets on_thread_stop;

        /// Sets a function that a worker without work calls before it sleeps. It may spawn
        /// tasks.
        on_thread_park() sets on_thread_park;

        /// Sets a function that a worker calls after it has slept.
        on_thread_unpark() sets on_thread_unpark;

        /// Sets a function that is called for each task that is spawned, on the spawning
        /// thread. It must not panic, and should be fast.
        ///
        /// ```
        /// use blitz_io::runtime::Builder;
        /// use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
        ///
        /// let spawned = Arc::new(AtomicUsize::new(0));
        /// let count = spawned.clone();
        /// let runtime = Builder::new_current_thread()
        ///     .on_task_spawn(move |_task| {
        ///         count.fetch_add(1, Ordering::Relaxed);
        ///     })
        ///     .build()?;
        /// let task = runtime.spawn(async {});
        /// runtime.block_on(task).unwrap();
        /// assert_eq!(spawned.load(Ordering::Relaxed), 1);
        /// # Ok::<(), std::io::Error>(())
        /// ```
        on_task_spawn(&TaskMeta<'_>) sets on_task_spawn;

        /// Sets a function that is called for each task that has ended for any reason. It
        /// must not panic, and should be fast.
        ///
        /// ```
        /// use blitz_io::runtime::Builder;
        /// use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
        ///
        /// let ended = Arc::new(AtomicUsize::new(0));
        /// let count = ended.clone();
        /// let runtime = Builder::new_current_thread()
        ///     .on_task_terminate(move |_task| {
        ///         count.fetch_add(1, Ordering::Relaxed);
        ///     })
        ///     .build()?;
        /// drop(runtime.spawn(std::future::pending::<()>()));
        /// drop(runtime);
        /// assert_eq!(ended.load(Ordering::Relaxed), 1);
        /// # Ok::<(), std::io::Error>(())
        /// ```
        on_task_terminate(&TaskMeta<'_>) sets on_task_terminate;

        /// Sets a function that is called before each poll of a task. It must not panic,
        /// and should be very fast.
        on_before_task_poll(&TaskMeta<'_>) sets before_task_poll;

        /// Sets a function that is called after each poll of a task. It must not panic, and
        /// should be very fast.
        on_after_task_poll(&TaskMeta<'_>) sets after_task_poll;
    }

    /// Sets a function that is called once for each poll that lasts longer than `after`: its task
    /// blocks the thread, or computes for long.
    ///
    /// A thread of its own calls it, so it is called also when all workers are stalled. It looks
    /// eight times in `after`, and at least four times in a second. The function must not panic,
    /// and should not block: a call for another worker waits for it. It is not called for the
    /// future of [`Runtime::block_on`](super::Runtime::block_on).
    ///
    /// A poll counts with all that happens in it:
    ///
    /// * The tasks of a [`LocalSet`](crate::task::LocalSet) count as the poll of the task that runs
    ///   the set. The function gets that task, and not the one in the set.
    /// * A task that calls [`block_in_place`](crate::task::block_in_place) gives its worker away. It
    ///   is not watched from then on, and the worker is watched again from its next poll.
    /// * The function of [`on_after_task_poll`](Self::on_after_task_poll) counts as a part of the
    ///   poll; that of [`on_before_task_poll`](Self::on_before_task_poll) does not.
    ///
    /// Each poll reads the clock and each spawn takes a lock while there is such a function.
    /// [`RuntimeMetrics::worker_current_poll`](crate::runtime::RuntimeMetrics::worker_current_poll)
    /// is known then.
    ///
    /// ```
    /// use blitz_io::runtime::Builder;
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    ///
    /// let (seen, sees) = mpsc::channel();
    /// let runtime = Builder::new_multi_thread()
    ///     .on_worker_stalled(Duration::from_millis(10), move |stalled| {
    ///         let _ = seen.send((stalled.task_id(), stalled.elapsed()));
    ///     })
    ///     .build()?;
    /// let (end, ends) = mpsc::channel::<()>();
    /// let blocks = runtime.spawn(async move { ends.recv() });
    /// let (task, elapsed) = sees.recv().unwrap();
    /// assert!(task == blocks.id() && elapsed >= Duration::from_millis(10));
    /// drop(end);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_worker_stalled<F>(&mut self, after: Duration, f: F) -> &mut Self
    where
        F: Fn(&StalledWorker<'_>) + Send + Sync + 'static,
    {
        self.hooks.on_worker_stalled = Some((after, Arc::new(f)));
        self
    }

    /// Sets after how many polls a worker checks the global queue before its own. By
    /// default the scheduler decides.
    ///
    /// # Panics
    ///
    /// When `val` is 0.
    #[track_caller]
    pub fn global_queue_interval(&mut self, val: u32) -> &mut Self {
        assert!(val > 0, "global_queue_interval must be greater than 0");
        self.config.global_queue_interval = Some(val);
        self
    }

    /// Sets after how many polls a worker checks timers and the driver. By default 61.
    ///
    /// # Panics
    ///
    /// When `val` is 0.
    #[track_caller]
    pub fn event_interval(&mut self, val: u32) -> &mut Self {
        assert!(val > 0, "event_interval must be greater than 0");
        self.config.event_interval = val;
        self
    }

    /// Sets the effect of a task's panic on a current-thread runtime.
    ///
    /// # Panics
    ///
    /// When a multi-thread runtime is to be shut down by it: that is not supported.
    ///
    /// ```should_panic
    /// use blitz_io::{runtime::{Builder, UnhandledPanic}, task};
    ///
    /// let runtime = Builder::new_current_thread()
    ///     .unhandled_panic(UnhandledPanic::ShutdownRuntime)
    ///     .build()
    ///     .unwrap();
    /// runtime.block_on(async {
    ///     task::spawn(async { panic!("boom") });
    ///     std::future::pending::<()>().await;
    /// });
    /// ```
    pub fn unhandled_panic(&mut self, behavior: UnhandledPanic) -> &mut Self {
        let shuts_down = matches!(behavior, UnhandledPanic::ShutdownRuntime);
        if shuts_down && self.kind != Kind::CurrentThread {
            panic!("UnhandledPanic::ShutdownRuntime is only supported in current thread runtime");
        }
        self.config.unhandled_panic = behavior;
        self
    }

    /// Disables the slot from which the task that was woken last runs before its worker's
    /// queue.
    ///
    /// The slot makes communication between two tasks cheap. Other workers cannot steal
    /// from it, so a task that wakes another one and then blocks its thread delays that
    /// one; without the slot it does not.
    pub fn disable_lifo_slot(&mut self) -> &mut Self {
        self.config.disable_lifo_slot = true;
        self
    }

    /// Sets the seed of the runtime's random decisions.
    ///
    /// ```
    /// use blitz_io::runtime::{Builder, RngSeed};
    ///
    /// let seed = RngSeed::from_bytes(b"the same each time");
    /// let runtime = Builder::new_current_thread().rng_seed(seed).build()?;
    /// # drop(runtime);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn rng_seed(&mut self, seed: RngSeed) -> &mut Self {
        self.seed = Some(seed);
        self
    }

    /// Sets whether the runtime starts with a paused clock: see
    /// [`time::pause`](crate::time::pause). Only for current-thread runtimes.
    ///
    /// ```
    /// use blitz_io::{runtime::Builder, time::{Duration, Instant, sleep}};
    ///
    /// let runtime = Builder::new_current_thread().enable_time().start_paused(true).build()?;
    /// runtime.block_on(async {
    ///     let began = Instant::now();
    ///     // When all wait, the clock is put forward.
    ///     sleep(Duration::from_secs(3600)).await;
    ///     assert_eq!(began.elapsed(), Duration::from_secs(3600));
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn start_paused(&mut self, start_paused: bool) -> &mut Self {
        self.config.start_paused = start_paused;
        self
    }

    /// Counts polls by their duration, which costs two reads of the clock for each poll.
    ///
    /// See
    /// [`RuntimeMetrics::poll_time_histogram_bucket_count`](super::RuntimeMetrics::poll_time_histogram_bucket_count).
    pub fn enable_metrics_poll_time_histogram(&mut self) -> &mut Self {
        self.config.poll_time_histogram = Some(self.histogram.clone());
        self
    }

    /// Sets the ranges of the histogram that
    /// [`enable_metrics_poll_time_histogram`](Self::enable_metrics_poll_time_histogram)
    /// enables. By default ten of 100 µs.
    pub fn metrics_poll_time_histogram_configuration(
        &mut self,
        configuration: HistogramConfiguration,
    ) -> &mut Self {
        if self.config.poll_time_histogram.is_some() {
            self.config.poll_time_histogram = Some(configuration.clone());
        }
        self.histogram = configuration;
        self
    }
}

/// The times for which tasks are ready before they are polled.
#[cfg(feature = "schedule-latency")]
impl Builder {
    /// Measures for how long a task was ready before each poll, for the hooks of polls: see
    /// [`TaskMeta::schedule_latency`](super::TaskMeta::schedule_latency). It costs a read of the clock
    /// for each wake-up and one for each poll.
    ///
    /// ```
    /// let runtime = blitz_io::runtime::Builder::new_current_thread()
    ///     .track_task_schedule_latency()
    ///     .on_before_task_poll(|task| assert!(task.schedule_latency().is_some()))
    ///     .build()?;
    /// runtime.block_on(runtime.spawn(async {})).unwrap();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn track_task_schedule_latency(&mut self) -> &mut Self {
        self.config.tracks_latency = true;
        self
    }

    /// Tracks the schedule latency of tasks, and counts polls by it.
    ///
    /// See
    /// [`RuntimeMetrics::schedule_latency_histogram_bucket_count`](super::RuntimeMetrics::schedule_latency_histogram_bucket_count).
    pub fn enable_metrics_schedule_latency_histogram(&mut self) -> &mut Self {
        self.config.latency_histogram = Some(self.latencies.clone());
        self.track_task_schedule_latency()
    }

    /// Sets the ranges of the histogram that
    /// [`enable_metrics_schedule_latency_histogram`](Self::enable_metrics_schedule_latency_histogram)
    /// enables. By default ten of 100 µs.
    pub fn metrics_schedule_latency_histogram_configuration(
        &mut self,
        configuration: HistogramConfiguration,
    ) -> &mut Self {
        if self.config.latency_histogram.is_some() {
            self.config.latency_histogram = Some(configuration.clone());
        }
        self.latencies = configuration;
        self
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn is_set<T>(hook: &Option<T>) -> Option<&'static str> {
            hook.as_ref().map(|_| "...")
        }

        let mut debug = f.debug_struct("Builder");
        if let Some(name) = &self.config.name {
            debug.field("name", name);
        }
        debug
            .field("worker_threads", &self.worker_threads)
            .field("max_blocking_threads", &self.config.max_blocking_threads)
            .field(
                "thread_name",
                &"<dyn Fn() -> String + Send + Sync + 'static>",
            )
            .field("thread_stack_size", &self.config.thread_stack_size)
            .field("after_start", &is_set(&self.hooks.on_thread_start))
            .field("before_stop", &is_set(&self.hooks.on_thread_stop))
            .field("before_park", &is_set(&self.hooks.on_thread_park))
            .field("after_unpark", &is_set(&self.hooks.on_thread_unpark))
            .field("enable_eager_driver_handoff", &self.eager_driver_handoff);
        if self.config.name.is_none() {
            debug.finish_non_exhaustive()
        } else {
            debug.finish()
        }
    }
}
