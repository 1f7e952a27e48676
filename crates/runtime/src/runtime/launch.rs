//! From a builder's settings to a running runtime.

use std::io;
use std::sync::Arc;

use super::builder::{Builder, Kind};
use super::handle::Handle;
use super::metrics::Totals;
use super::runtime::{Runtime, Scheduler};
use super::{Id, seed};
use crate::blocking;
use crate::common::Common;
use crate::scheduler::current_thread::CurrentThread;
use crate::scheduler::{self, multi_thread};
use crate::time;
use blitz_sync::internals::ThreadId;

/// Makes the runtime that `builder` describes.
pub(super) fn launch(builder: &Builder) -> io::Result<Runtime> {
    time::offer();
    let common = common(builder);
    let (scheduler, inner) = match builder.kind {
        Kind::CurrentThread => {
            let (scheduler, shared) = CurrentThread::new(common);
            let inner = scheduler::Handle::CurrentThread(shared);
            (Scheduler::CurrentThread(scheduler), inner)
        }
        Kind::MultiThread => {
            let shared = multi_thread::launch(common)?;
            (
                Scheduler::MultiThread,
                scheduler::Handle::MultiThread(shared),
            )
        }
    };
    if let Some(wheels) = &inner.common().time {
        wheels.set_unpark(inner.unparker());
    }
    Ok(Runtime::from_parts(scheduler, Handle { inner }))
}

fn common(builder: &Builder) -> Common {
    let config = builder.config.clone();
    // A multi-thread runtime's workers are threads of the pool, too.
    let workers = match builder.kind {
        Kind::CurrentThread => 0,
        Kind::MultiThread => config.worker_threads,
    };
    let may_pause = builder.kind == Kind::CurrentThread;
    let clock = Arc::new(time::Clock::new(may_pause, config.start_paused));
    let wheels = || time::Wheels::new(config.worker_threads, &clock);
    Common {
        local_thread: builder.is_local.then(ThreadId::current),
        id: Id::next(),
        blocking: blocking::Spawner::new(
            config.max_blocking_threads,
            workers,
            config.thread_keep_alive,
        ),
        time: config.enable_time.then(wheels),
        clock,
        hooks: builder.hooks.clone(),
        seeds: seed::Seeds::new(builder.seed.as_ref()),
        totals: Totals::default(),
        config,
    }
}
