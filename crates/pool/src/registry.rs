//! State shared by the threads of a pool: the workers' deques, injected jobs, sleepers, the loop
//! in progress, and the pool's lifetime.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::process;
use std::sync::Arc;

use blitz_io_core::CachePadded;
use blitz_io_core::OnDrop;
use blitz_io_futex::atomic::AtomicUsize;
use blitz_io_futex::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use blitz_io_observe::trace::job_queued;
use blitz_io_observe::{Caller, decisions};

use crate::deque::Deque;
use crate::injector::Injector;
use crate::job_ref::JobRef;
use crate::latch::ThreadLatch;
use crate::loop_slot::LoopSlot;
use crate::policy::{FineSite, Spin};
use crate::sleep::Sleep;

type PanicHandler = dyn Fn(Box<dyn Any + Send>) + Send + Sync;
type ThreadHandler = dyn Fn(usize) + Send + Sync;

/// The builder's settings that a pool keeps.
#[derive(Default)]
pub(crate) struct Handlers {
    pub(crate) panic: Option<Box<PanicHandler>>,
    pub(crate) start: Option<Box<ThreadHandler>>,
    pub(crate) exit: Option<Box<ThreadHandler>>,
    pub(crate) breadth_first: bool,
    pub(crate) spin: Spin,
}

/// The part of a worker that other threads see.
pub(crate) struct Shared {
    pub(crate) deque: Deque,
    pub(crate) fine: FineSite,
    /// Jobs that only this worker may run.
    pub(crate) own_jobs: Injector,
    /// Jobs in the order in which the worker spawned them.
    pub(crate) fifo: Injector,
    pub(crate) started: ThreadLatch,
    pub(crate) stopped: ThreadLatch,
}

impl Shared {
    fn new() -> Self {
        Self {
            deque: Deque::new(),
            fine: FineSite::new(),
            own_jobs: Injector::new(),
            fifo: Injector::new(),
            started: ThreadLatch::new(),
            stopped: ThreadLatch::new(),
        }
    }
}

pub(crate) struct Registry {
    pub(crate) workers: Box<[CachePadded<Shared>]>,
    pub(crate) sleep: Arc<Sleep>,
    pub(crate) injector: Injector,
    pub(crate) loop_slot: LoopSlot,
    pub(crate) handlers: Handlers,
    /// Number of users that keep the pool alive: its handle, and each detached job.
    users: AtomicUsize,
}

impl Registry {
    pub(crate) fn new(threads: usize, handlers: Handlers) -> Self {
        Self {
            workers: (0..threads)
                .map(|_| CachePadded::new(Shared::new()))
                .collect(),
            sleep: Arc::new(Sleep::new(threads)),
            injector: Injector::new(),
            loop_slot: LoopSlot::new(threads + 1),
            handlers,
            users: AtomicUsize::new(1),
        }
    }

    pub(crate) fn id(&self) -> usize {
        self as *const Self as usize
    }

    pub(crate) fn num_threads(&self) -> usize {
        self.workers.len()
    }

    pub(crate) fn wait_until_started(&self) {
        for worker in &self.workers {
            worker.started.wait(Caller::UNKNOWN);
        }
    }

    /// Runs `f`, which must not unwind into the pool: a panic goes to the handler.
    pub(crate) fn catch_unwind(&self, f: impl FnOnce()) {
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(f)) {
            self.handle_panic(payload);
        }
    }

    /// Handles a panic of a job that no thread waits for. Without a handler, aborts the
    /// process. A simulation fails then.
    #[cold]
    fn handle_panic(&self, payload: Box<dyn Any + Send>) {
        if decisions::is_on() && self.handlers.panic.is_none() {
            return decisions::panicked();
        }
        let abort = OnDrop(|| {
            eprintln!(
                "blitz-io-pool: a detached job panicked, and there is no panic handler; aborting"
            );
            process::abort();
        });
        if let Some(handler) = &self.handlers.panic {
            handler(payload);
            std::mem::forget(abort);
        }
    }

    /// Hands a job of the scope `tag`, or of no scope (0), to any worker.
    pub(crate) fn inject(&self, tag: usize, job: JobRef) {
        job_queued(JobRef::number(tag, job.as_ptr()));
        self.injector.push(tag, job);
        self.sleep.injected_one();
    }

    /// Hands each worker its own job.
    pub(crate) fn inject_each(&self, jobs: impl Iterator<Item = JobRef>) {
        for (worker, job) in self.workers.iter().zip(jobs) {
            worker.own_jobs.push(0, job);
        }
        self.sleep.published_for_each();
    }

    pub(crate) fn retain(&self) {
        let before = self.users.fetch_add(1, Relaxed);
        assert!(
            before != 0 && before < usize::MAX / 2,
            "a pool that has ended, or too many jobs"
        );
    }

    /// Ends the pool when it has no user left.
    pub(crate) fn release(&self) {
        if self.users.fetch_sub(1, AcqRel) == 1 {
            self.sleep.published_for_each();
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.users.load(Acquire) == 0
    }
}
