//! How any thread gets work done in a pool, and in which pool.

use std::sync::Arc;

use blitz_io_observe::trace::AwaitsJob;
use blitz_io_observe::{Caller, decisions};

use crate::global::global;
use crate::job::StackJob;
use crate::job_ref::JobRef;
use crate::latch::{CrossLatch, ThreadLatch};
use crate::registry::Registry;
use crate::simulation;
use crate::worker::Worker;

/// Returns the pool of this thread, or the global one.
pub(crate) fn current() -> Arc<Registry> {
    match Worker::current() {
        Some(worker) => worker.registry().clone(),
        None => global().clone(),
    }
}

/// Runs `op` on the current worker, or on a worker of the global pool. `caller`: the line of the program that waits for that,
/// if it is known.
#[inline(always)]
pub(crate) fn in_worker<R: Send>(caller: Caller, op: impl FnOnce(&Worker, bool) -> R + Send) -> R {
    if decisions::is_on() {
        return simulation::in_worker(&current(), op);
    }
    match Worker::current() {
        Some(worker) => op(worker, false),
        None => global().in_worker(caller, op),
    }
}

impl Registry {
    /// Runs `op` on a worker of this pool, and waits for its result; see [`in_worker`].
    pub(crate) fn in_worker<R: Send>(
        self: &Arc<Self>,
        caller: Caller,
        op: impl FnOnce(&Worker, bool) -> R + Send,
    ) -> R {
        if decisions::is_on() {
            return simulation::in_worker(self, op);
        }
        match Worker::current() {
            None => self.in_worker_from_outside(caller, op),
            Some(worker) if worker.registry().id() != self.id() => {
                self.in_worker_across(worker, caller, op)
            }
            Some(worker) => op(worker, false),
        }
    }

    #[cold]
    fn in_worker_from_outside<R: Send>(
        self: &Arc<Self>,
        caller: Caller,
        op: impl FnOnce(&Worker, bool) -> R + Send,
    ) -> R {
        let job = StackJob::new(op, ThreadLatch::new());
        self.inject(0, job.as_ref());
        {
            let _waits = AwaitsJob::new(job.as_ref().tag());
            job.latch.wait(caller);
        }
        job.into_result()
    }

    #[cold]
    fn in_worker_across<R: Send>(
        self: &Arc<Self>,
        current: &Worker,
        caller: Caller,
        op: impl FnOnce(&Worker, bool) -> R + Send,
    ) -> R {
        let job = StackJob::new(
            op,
            CrossLatch::new(current.index(), &current.registry().sleep),
        );
        self.inject(0, job.as_ref());
        current.serve_until(&job.latch, job.as_ref(), caller);
        job.into_result()
    }

    /// Hands a job to the worker of this thread if it belongs to this pool, or else to any
    /// worker.
    pub(crate) fn inject_or_push(self: &Arc<Self>, tag: usize, job: JobRef) {
        if decisions::is_on() {
            return simulation::queue(self, tag, None, job);
        }
        match Worker::current_in(self) {
            Some(worker) => worker.push_or_inject(tag, job),
            None => self.inject(tag, job),
        }
    }
}
