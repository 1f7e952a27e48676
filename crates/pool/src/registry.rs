//! A pool as its threads share it: the workers' deques, the jobs from outside, who sleeps,
//! the loop in progress, and how long the pool lives.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::process;
use std::sync::{Arc, OnceLock};

use blitz_futex::atomic::AtomicUsize;
use blitz_futex::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use crossbeam_utils::CachePadded;

use crate::builder::{Handlers, ThreadBuilder, ThreadPoolBuilder, ThreadSpawn};
use crate::deque::Deque;
use crate::error::ThreadPoolBuildError;
use crate::injector::Injector;
use crate::job::{JobRef, StackJob};
use crate::latch::{CrossLatch, OnceFlag, ThreadLatch};
use crate::loop_slot::LoopSlot;
use crate::sleep::Sleep;
use crate::worker::Worker;

/// What other threads see of one worker.
pub(crate) struct Shared {
    pub(crate) deque: Deque,
    /// Jobs that this worker, and no other, is to run.
    pub(crate) own_jobs: Injector,
    /// Jobs in the order in which the worker spawned them.
    pub(crate) fifo: Injector,
    pub(crate) started: OnceFlag,
    pub(crate) stopped: OnceFlag,
}

impl Shared {
    fn new() -> Self {
        Self {
            deque: Deque::new(),
            own_jobs: Injector::new(),
            fifo: Injector::new(),
            started: OnceFlag::new(),
            stopped: OnceFlag::new(),
        }
    }
}

pub(crate) struct Registry {
    pub(crate) workers: Box<[CachePadded<Shared>]>,
    pub(crate) sleep: Sleep,
    pub(crate) injector: Injector,
    pub(crate) loop_slot: LoopSlot,
    pub(crate) handlers: Handlers,
    /// Who keeps the pool alive: its handle, and each detached job.
    users: AtomicUsize,
}

/// Ends what a pool has begun if not all of its threads could be started.
struct EndOnFailure<'a>(Option<&'a Registry>);

impl Drop for EndOnFailure<'_> {
    fn drop(&mut self) {
        if let Some(registry) = self.0 {
            registry.release();
        }
    }
}

impl Registry {
    pub(crate) fn new<S: ThreadSpawn>(
        mut builder: ThreadPoolBuilder<S>,
    ) -> Result<Arc<Self>, ThreadPoolBuildError> {
        let threads = builder.threads().min(crate::max_num_threads());
        if builder.uses_current_thread() && Worker::is_current() {
            return Err(ThreadPoolBuildError::current_thread_already_in_pool());
        }
        builder.resolve_pinning()?;
        let registry = Arc::new(Self {
            workers: (0..threads)
                .map(|_| CachePadded::new(Shared::new()))
                .collect(),
            sleep: Sleep::new(threads),
            injector: Injector::new(),
            loop_slot: LoopSlot::new(threads + 1),
            handlers: builder.take_handlers(),
            users: AtomicUsize::new(1),
        });
        let mut on_failure = EndOnFailure(Some(&registry));
        for index in 0..threads {
            let thread = builder.thread(&registry, index);
            if index == 0 && builder.uses_current_thread() {
                Worker::adopt_current_thread(registry.clone());
            } else {
                builder
                    .spawn_thread(thread)
                    .map_err(ThreadPoolBuildError::io)?;
            }
        }
        on_failure.0 = None;
        drop(on_failure);
        Ok(registry)
    }

    pub(crate) fn id(&self) -> usize {
        self as *const Self as usize
    }

    pub(crate) fn num_threads(&self) -> usize {
        self.workers.len()
    }

    pub(crate) fn wait_until_started(&self) {
        for worker in &self.workers {
            worker.started.wait();
        }
    }

    /// Runs what must not unwind into the pool: the panic goes to the handler.
    pub(crate) fn catch_unwind(&self, f: impl FnOnce()) {
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(f)) {
            self.handle_panic(payload);
        }
    }

    /// A panic that nobody waits for. Without a handler, the process is aborted.
    #[cold]
    fn handle_panic(&self, payload: Box<dyn Any + Send>) {
        struct Abort;
        impl Drop for Abort {
            fn drop(&mut self) {
                eprintln!(
                    "blitz-pool: a detached job panicked, and there is no panic handler; aborting"
                );
                process::abort();
            }
        }
        let abort = Abort;
        if let Some(handler) = &self.handlers.panic {
            handler(payload);
            std::mem::forget(abort);
        }
    }

    /// Hands a job of the scope `tag`, or of nobody (0), to any worker.
    pub(crate) fn inject(&self, tag: usize, job: JobRef) {
        self.injector.push(tag, job);
        self.sleep.injected_one();
    }

    /// Hands a job to the worker of this thread if it is one of this pool, else to any.
    pub(crate) fn inject_or_push(&self, tag: usize, job: JobRef) {
        match Worker::current_in(self) {
            Some(worker) => worker.push_or_inject(tag, job),
            None => self.inject(tag, job),
        }
    }

    /// Hands each worker its own job.
    pub(crate) fn inject_each(&self, jobs: impl Iterator<Item = JobRef>) {
        for (worker, job) in self.workers.iter().zip(jobs) {
            worker.own_jobs.push(0, job);
        }
        self.sleep.wake_everybody();
    }

    pub(crate) fn retain(&self) {
        let before = self.users.fetch_add(1, Relaxed);
        assert!(
            before != 0 && before < usize::MAX / 2,
            "a pool that has ended, or too many jobs"
        );
    }

    /// Ends the pool when nobody uses it any more.
    pub(crate) fn release(&self) {
        if self.users.fetch_sub(1, AcqRel) == 1 {
            self.sleep.wake_everybody();
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.users.load(Acquire) == 0
    }

    /// Runs `op` on a worker of this pool, and waits for its result.
    pub(crate) fn in_worker<R: Send>(&self, op: impl FnOnce(&Worker, bool) -> R + Send) -> R {
        match Worker::current() {
            None => self.in_worker_from_outside(op),
            Some(worker) if worker.registry().id() != self.id() => {
                self.in_worker_across(worker, op)
            }
            Some(worker) => op(worker, false),
        }
    }

    #[cold]
    fn in_worker_from_outside<R: Send>(&self, op: impl FnOnce(&Worker, bool) -> R + Send) -> R {
        let job = StackJob::new(op, ThreadLatch::new());
        self.inject(0, job.as_ref());
        job.latch.wait();
        job.into_result()
    }

    #[cold]
    fn in_worker_across<R: Send>(
        &self,
        current: &Worker,
        op: impl FnOnce(&Worker, bool) -> R + Send,
    ) -> R {
        let job = StackJob::new(op, CrossLatch::new(current));
        self.inject(0, job.as_ref());
        current.serve_until(&job.latch);
        job.into_result()
    }

    /// The pool of this thread, or the global one.
    pub(crate) fn current() -> Arc<Self> {
        match Worker::current() {
            Some(worker) => worker.registry().clone(),
            None => global().clone(),
        }
    }
}

static GLOBAL: OnceLock<Arc<Registry>> = OnceLock::new();

/// The global pool, which the first use starts.
pub(crate) fn global() -> &'static Arc<Registry> {
    GLOBAL.get_or_init(|| match default_global() {
        Ok(registry) => registry,
        Err(error) => panic!("The global thread pool has not been initialized.: {error}"),
    })
}

/// Where no thread can be started at all, the current thread is the pool.
fn default_global() -> Result<Arc<Registry>, ThreadPoolBuildError> {
    let result = Registry::new(ThreadPoolBuilder::new());
    match &result {
        Err(error) if error.is_unsupported() && !Worker::is_current() => {
            Registry::new(ThreadPoolBuilder::new().num_threads(1).use_current_thread()).or(result)
        }
        _ => result,
    }
}

/// Makes the global pool.
pub(crate) fn init_global<S: ThreadSpawn>(
    builder: ThreadPoolBuilder<S>,
) -> Result<&'static Arc<Registry>, ThreadPoolBuildError> {
    let mut builder = Some(builder);
    let mut error = None;
    // `OnceLock` has no fallible initialisation: a failure leaves the default pool in place
    // only if the caller asks for the global pool later on.
    if GLOBAL.get().is_none() {
        match Registry::new(builder.take().expect("taken once")) {
            Ok(registry) => match GLOBAL.set(registry) {
                Ok(()) => return Ok(global()),
                Err(registry) => registry.release(),
            },
            Err(failure) => error = Some(failure),
        }
    }
    Err(error.unwrap_or_else(ThreadPoolBuildError::global_pool_already_initialized))
}

/// Runs `op` on the current worker, or on one of the global pool.
#[inline(always)]
pub(crate) fn in_worker<R: Send>(op: impl FnOnce(&Worker, bool) -> R + Send) -> R {
    match Worker::current() {
        Some(worker) => op(worker, false),
        None => global().in_worker(op),
    }
}

/// Starts the thread of worker `thread.index()`.
pub(crate) fn main_loop(thread: ThreadBuilder) {
    let index = thread.index();
    let registry = thread.into_registry();
    let worker = Worker::enter(registry.clone(), index);
    registry.workers[index].started.set();
    if let Some(handler) = &registry.handlers.start {
        registry.catch_unwind(|| handler(index));
    }
    worker.run_until_end();
    if let Some(handler) = &registry.handlers.exit {
        registry.catch_unwind(|| handler(index));
    }
    drop(worker);
    registry.workers[index].stopped.set();
}
