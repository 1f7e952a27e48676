//! Detached jobs.

use std::sync::Arc;

use blitz_io_observe::decisions;

use crate::in_worker::current;
use crate::injector::Injector;
use crate::job::HeapJob;
use crate::job_ref::JobRef;
use crate::registry::Registry;
use crate::simulation;
use crate::worker::Worker;

/// Spawns a job that no thread waits for, in the pool of this thread, or the global one.
///
/// The jobs that one worker has spawned run last in, first out, unless they are stolen.
///
/// # Panics
///
/// A panic in `func` goes to the pool's panic handler; without one, the process is aborted.
///
/// # Examples
///
/// ```
/// use blitz_io::pool;
/// let (sender, receiver) = std::sync::mpsc::channel();
/// pool::spawn(move || sender.send(7).unwrap());
/// assert_eq!(receiver.recv(), Ok(7));
/// ```
pub fn spawn<F: FnOnce() + Send + 'static>(func: F) {
    spawn_in(&current(), func);
}

/// Does the same as [`spawn`], but the jobs that one worker has spawned begin first in,
/// first out.
///
/// # Examples
///
/// ```
/// use blitz_io::pool;
/// let (sender, receiver) = std::sync::mpsc::channel();
/// pool::spawn_fifo(move || sender.send(7).unwrap());
/// assert_eq!(receiver.recv(), Ok(7));
/// ```
pub fn spawn_fifo<F: FnOnce() + Send + 'static>(func: F) {
    spawn_fifo_in(&current(), func);
}

pub(crate) fn spawn_in(registry: &Arc<Registry>, func: impl FnOnce() + Send + 'static) {
    if decisions::is_on() {
        return simulation::detach(registry, None, |_| func());
    }
    let job = detached(registry, func);
    registry.inject_or_push(0, job);
}

pub(crate) fn spawn_fifo_in(registry: &Arc<Registry>, func: impl FnOnce() + Send + 'static) {
    if decisions::is_on() {
        return simulation::detach(registry, None, |_| func());
    }
    let job = detached(registry, func);
    match Worker::current_in(registry) {
        Some(worker) => push_fifo(worker, &registry.workers[worker.index()].fifo, 0, job),
        None => registry.inject(0, job),
    }
}

/// Creates a job that keeps its pool alive until it has run.
fn detached(registry: &Arc<Registry>, func: impl FnOnce() + Send + 'static) -> JobRef {
    registry.retain();
    let registry = registry.clone();
    // SAFETY: it borrows nothing, and the pool runs all its jobs before it ends.
    unsafe {
        HeapJob::into_ref(0, move |_: &Worker| {
            registry.catch_unwind(func);
            registry.release();
        })
    }
}

/// Adds a job to this worker's queue `fifo`, and forks the right to run the job that is
/// first in that queue by then.
pub(crate) fn push_fifo(worker: &Worker, fifo: &Injector, tag: usize, job: JobRef) {
    fifo.push(tag, job);
    let fifo = Queue(fifo);
    // SAFETY: it borrows only the queue, which lives as long as a job is in it.
    let next = unsafe {
        HeapJob::into_ref(tag, move |_: &Worker| {
            let fifo = fifo;
            let first = (*fifo.0).pop().expect("as many jobs as rights to run one");
            first.execute();
        })
    };
    if decisions::is_on() {
        return simulation::queue(worker.registry(), tag, None, next);
    }
    worker.push_or_inject(tag, next);
}

struct Queue(*const Injector);

// SAFETY: a queue is shared between threads.
unsafe impl Send for Queue {}
