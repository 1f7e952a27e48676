//! Starts a runtime from the settings of a builder.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;

use super::builder::{Builder, Kind};
use super::handle::Handle;
use super::inspected;
use super::owner::{Runtime, Scheduler};
use crate::api::common::Common;
use crate::api::metrics::{ReadyClock, Totals};
use crate::api::pool::Spawner;
use crate::api::runtime_id::Id;
use crate::api::scheduler::current_thread::CurrentThread;
use crate::api::scheduler::{self, multi_thread};
use crate::api::seed::Seeds;
use crate::api::stalls::Stalls;
use crate::api::time;
use crate::api::timers::{Clock, Wheels};
use crate::kernel::idle::MOST_WORKERS;
use blitz_io_core::ThreadId;
use blitz_io_observe::Kept;

const WORKER_THREADS_VARIABLE: &str = "TOKIO_WORKER_THREADS";

impl Builder {
    /// Builds the runtime.
    ///
    /// # Errors
    ///
    /// When the system refuses a thread.
    ///
    /// # Panics
    ///
    /// When `TOKIO_WORKER_THREADS` is needed and is not a number from 1 to 65,535.
    ///
    /// ```
    /// use blitz_io::runtime::Builder;
    ///
    /// let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    /// assert_eq!(runtime.block_on(async { "runs" }), "runs");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn build(&mut self) -> io::Result<Runtime> {
        self.config.worker_threads = match self.kind {
            Kind::CurrentThread => 1,
            Kind::MultiThread => self.worker_threads.unwrap_or_else(default_workers),
        };
        inspected::serve(self.inspect)?;
        inspected::trace(&mut self.tracing)?;
        launch(self)
    }
}

fn default_workers() -> usize {
    let text = match std::env::var(WORKER_THREADS_VARIABLE) {
        Ok(text) => text,
        Err(std::env::VarError::NotPresent) => {
            return std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        }
        Err(std::env::VarError::NotUnicode(text)) => {
            panic!("\"{WORKER_THREADS_VARIABLE}\" must be valid unicode, error: {text:?}")
        }
    };
    let workers = text.parse().unwrap_or_else(|error| {
        panic!("\"{WORKER_THREADS_VARIABLE}\" must be usize, error: {error}, value: {text}")
    });
    assert!(
        workers > 0,
        "\"{WORKER_THREADS_VARIABLE}\" cannot be set to 0"
    );
    assert!(
        workers <= MOST_WORKERS,
        "\"{WORKER_THREADS_VARIABLE}\" cannot be set to {workers}: a runtime has at most {MOST_WORKERS} workers"
    );
    workers
}

/// Starts the runtime that `builder` describes.
fn launch(builder: &Builder) -> io::Result<Runtime> {
    time::install();
    let (common, pool) = (common(builder)?, pool(builder));
    let (scheduler, inner) = match builder.kind {
        Kind::CurrentThread => {
            let (scheduler, shared) = CurrentThread::new(common, pool);
            let inner = scheduler::Handle::CurrentThread(shared);
            (Scheduler::CurrentThread(scheduler), inner)
        }
        Kind::MultiThread => {
            let shared = multi_thread::launch(common, pool);
            (
                Scheduler::MultiThread,
                scheduler::Handle::MultiThread(shared),
            )
        }
    };
    if let Some(wheels) = &inner.common().time {
        wheels.set_unpark(inner.unparker());
    }
    inspected::register(&inner);
    Ok(Runtime::from_parts(scheduler, Handle { inner }))
}

fn common(builder: &Builder) -> io::Result<Common> {
    let config = builder.config.clone();
    let may_pause = builder.kind == Kind::CurrentThread;
    let clock = Arc::new(Clock::new(may_pause, config.start_paused));
    let wheels = || Wheels::new(config.worker_threads, &clock);
    let stalls = builder.hooks.on_worker_stalled.clone();
    let workers = config.worker_threads;
    Ok(Common {
        #[cfg(feature = "io")]
        io: crate::api::io::IoDrivers::new(&config)?,
        local_thread: builder.is_local.then(ThreadId::current),
        id: Id::next(),
        time: config.enable_time.then(wheels),
        clock,
        hooks: builder.hooks.clone(),
        stalls: stalls
            .map(|(after, hook)| Stalls::start(after, hook, workers))
            .transpose()?,
        seeds: Seeds::new(builder.seed.as_ref()),
        totals: Totals::default(),
        ready_clock: ReadyClock::new(&config),
        registered: Kept::new(),
        config,
    })
}

fn pool(builder: &Builder) -> Spawner {
    let config = &builder.config;
    // The workers of a multi-thread runtime run on threads of the pool, too.
    let workers = match builder.kind {
        Kind::CurrentThread => 0,
        Kind::MultiThread => config.worker_threads,
    };
    Spawner::new(
        config.max_blocking_threads,
        workers,
        config.thread_keep_alive,
    )
}
