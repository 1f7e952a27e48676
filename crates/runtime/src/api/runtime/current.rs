//! Functions about the runtime that the calling code runs in.

use std::error::Error;
use std::io;

use blitz_io_observe::decisions;

use crate::api::errors::SHUTTING_DOWN;
use crate::api::scheduler::multi_thread;
use crate::kernel::context::{self, Flavor};

/// Returns the number of the worker that runs on this thread, which is less than
/// [`num_workers`](super::RuntimeMetrics::num_workers).
///
/// Returns `None` outside of workers: on a thread for blocking work, or on one that
/// blocks for a future with a multi-thread runtime. So does a thread that waits for its
/// turn to drive a current-thread runtime. The thread that drives one is number 0.
///
/// In a simulation, whose thread plays all workers, the seed decides the number for each step of a task.
///
/// A task may be on another worker after each `.await`. In
/// [`block_in_place`](crate::task::block_in_place), the number is that of the worker which the
/// thread was before.
///
/// ```
/// use blitz_io::runtime::{Builder, worker_index};
/// use blitz_io::task;
///
/// let runtime = Builder::new_multi_thread().worker_threads(2).build()?;
/// runtime.block_on(async {
///     assert_eq!(worker_index(), None);
///     assert!(task::spawn(async { worker_index() }).await.unwrap().unwrap() < 2);
/// });
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn worker_index() -> Option<usize> {
    let scheduler = context::with(|context| context.worker_of.get());
    match scheduler.flavor {
        Flavor::Absent => None,
        Flavor::CurrentThread => Some(decisions::worker().map_or(0, |number| number as usize)),
        Flavor::MultiThread => multi_thread::number_here(),
    }
}

/// Returns whether an I/O error says that the runtime of the source's driver has been shut
/// down.
#[must_use]
pub fn is_rt_shutdown_err(err: &io::Error) -> bool {
    let Some(inner) = err.get_ref() else {
        return false;
    };
    err.kind() == io::ErrorKind::Other
        && Error::source(inner).is_none()
        && inner.to_string() == SHUTTING_DOWN
}
