//! Detached jobs.

use std::sync::Arc;

use crate::job::{HeapJob, JobRef};
use crate::registry::Registry;
use crate::worker::Worker;

/// Spawns a job that nobody waits for, in the pool of this thread, or the global one.
///
/// Jobs that one worker has spawned and nobody has stolen run last in, first out.
///
/// # Panics
///
/// A panic in `func` goes to the pool's panic handler; without one, the process is aborted.
///
/// # Examples
///
/// ```
/// # use blitz_pool as pool; // blitz_io::pool
/// let (sender, receiver) = std::sync::mpsc::channel();
/// pool::spawn(move || sender.send(7).unwrap());
/// assert_eq!(receiver.recv(), Ok(7));
/// ```
pub fn spawn<F: FnOnce() + Send + 'static>(func: F) {
    spawn_in(&Registry::current(), func);
}

/// The same as [`spawn`], but jobs that one worker has spawned begin first in, first out.
///
/// # Examples
///
/// ```
/// # use blitz_pool as pool; // blitz_io::pool
/// let (sender, receiver) = std::sync::mpsc::channel();
/// pool::spawn_fifo(move || sender.send(7).unwrap());
/// assert_eq!(receiver.recv(), Ok(7));
/// ```
pub fn spawn_fifo<F: FnOnce() + Send + 'static>(func: F) {
    spawn_fifo_in(&Registry::current(), func);
}

pub(crate) fn spawn_in(registry: &Arc<Registry>, func: impl FnOnce() + Send + 'static) {
    let job = detached(registry, func);
    registry.inject_or_push(job);
}

pub(crate) fn spawn_fifo_in(registry: &Arc<Registry>, func: impl FnOnce() + Send + 'static) {
    let job = detached(registry, func);
    registry.inject_or_push_fifo(0, job);
}

/// A job that keeps its pool alive until it has run.
fn detached(registry: &Arc<Registry>, func: impl FnOnce() + Send + 'static) -> JobRef {
    registry.retain();
    let registry = registry.clone();
    // SAFETY: it borrows nothing, and the pool runs what it has before it ends.
    unsafe {
        HeapJob::into_ref(0, move |_: &Worker| {
            registry.catch_unwind(func);
            registry.release();
        })
    }
}

impl Registry {
    /// Hands a job to any worker, in the order of this worker's jobs if the thread is one.
    pub(crate) fn inject_or_push_fifo(&self, tag: usize, job: JobRef) {
        let Some(worker) = Worker::current_in(self) else {
            return self.inject(job);
        };
        let index = worker.index();
        self.workers[index].fifo.push(job);
        // What is forked is the right to run whatever is first in the queue by then.
        // SAFETY: it borrows nothing that the job in the queue does not, and runs as surely.
        let next = unsafe {
            HeapJob::into_ref(tag, move |worker: &Worker| {
                let first = worker.registry().workers[index].fifo.pop();
                let first = first.expect("as many jobs as rights to run one");
                first.execute(worker);
            })
        };
        worker.push_or_inject(next);
    }
}
