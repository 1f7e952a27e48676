//! The pool of threads for blocking work: its threads, and its end. `job_queue.rs` says how
//! jobs and threads find each other.

use std::collections::VecDeque;
use std::io;
use std::panic::panic_any;
use std::thread;
use std::time::Duration;

use blitz_io_core::coop::{self, Budget};
use blitz_io_core::{OnDrop, deadline};
use blitz_io_observe::{About, Caller, Kind, Wait, WaitKind, decisions};

use super::threads::Threads;
use crate::api::common::RuntimeRef;
use crate::api::enter;
use crate::api::errors::DROPPED_IN_ASYNC;
use crate::api::hooks::{self, TaskCallback};
use crate::api::task::inspected;
use crate::api::tokio_handle;
use crate::api::trace::{SpawnMeta, spawn_meta, traced};
use crate::kernel::job_queue::{Closed, JobQueue, Next, Numbers, Submitted, ThreadState};
use crate::kernel::task::{BOX_ABOVE, Header, Id, JoinHandle, Notified, Schedule, unowned};

/// A counted reference to a runtime that has a pool.
pub(crate) trait PoolRef: RuntimeRef {
    fn pool(&self) -> &Spawner;

    /// Queues a job as a task, if a simulation decides what this runtime does, on this thread. Otherwise
    /// returns it.
    fn queue_job(&self, task: Notified) -> Result<(), Notified>;
}

/// The scheduler of blocking tasks. They are queued once and never wait, so it only calls
/// the hook for their end.
#[derive(Clone)]
struct Once {
    on_terminate: Option<TaskCallback>,
}

impl Schedule for Once {
    fn schedule(&self, _: Notified) {
        unreachable!("a blocking task is queued once");
    }

    fn release(&self, _: &Header) {}

    fn unhandled_panic(&self) {
        decisions::panicked();
    }

    fn terminated(&self, id: Id) {
        if let Some(hook) = &self.on_terminate {
            hooks::tell(hook, id);
        }
    }
}

/// A job of the pool.
struct Job {
    task: Notified,
    /// `true` if the job runs even after the pool has been closed.
    mandatory: bool,
}

impl Job {
    fn run(self, runtime: &impl PoolRef) {
        let _ = self.task.run();
        release_clock(runtime);
    }

    /// Ends a job that is left when the pool has been closed: runs or cancels it.
    fn end(self, runtime: &impl PoolRef) {
        if self.mandatory {
            self.run(runtime);
        } else {
            self.cancel(runtime);
        }
    }

    fn cancel(self, runtime: &impl PoolRef) {
        self.task.cancel();
        release_clock(runtime);
    }
}

/// Lets a paused clock advance again after a job has ended and its task's waiters were
/// woken.
fn release_clock(runtime: &impl PoolRef) {
    if runtime.common().clock.release() {
        runtime.unpark(0);
    }
}

/// Ends the jobs that are left when there are no threads any more.
fn end_all(jobs: VecDeque<Job>, runtime: &impl PoolRef) {
    enter::with_entered(runtime, || {
        jobs.into_iter().for_each(|job| job.end(runtime))
    });
}

/// The pool's duty for a closure.
#[derive(Clone, Copy)]
pub(crate) struct Demand {
    /// It runs even if the pool is closed before a thread takes it.
    mandatory: bool,
    /// It usually ends soon, so that it can wait for a thread that is starting.
    short: bool,
}

impl Demand {
    const MANDATORY: Self = Self {
        mandatory: true,
        short: false,
    };

    pub(crate) const fn normal(short: bool) -> Self {
        Self {
            mandatory: false,
            short,
        }
    }
}

/// The runtime's pool of threads, which are started when they are needed.
pub(crate) struct Spawner {
    queue: JobQueue<Job>,
    threads: Threads,
    /// Number of the threads that are workers of the scheduler.
    workers: usize,
    keep_alive: Duration,
}

impl Spawner {
    /// Creates a pool of up to `threads` threads for blocking work, besides `workers` for the
    /// scheduler's workers.
    pub(crate) fn new(threads: usize, workers: usize, keep_alive: Duration) -> Self {
        Self {
            queue: JobQueue::new(threads.saturating_add(workers)),
            threads: Threads::default(),
            workers,
            keep_alive,
        }
    }

    /// Runs `closure` on a thread of the pool, which is `runtime`'s.
    #[track_caller]
    pub(crate) fn spawn_blocking<F, R>(
        &self,
        runtime: &impl PoolRef,
        closure: F,
        meta: SpawnMeta<'_>,
        about: About,
        short: bool,
    ) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        match self.try_spawn(runtime, closure, meta, about, Demand::normal(short)) {
            // A closed pool has cancelled the task: the join handle says so.
            (join, Ok(_)) => join,
            (_, Err(error)) => panic!("OS can't spawn worker thread: {error}"),
        }
    }

    /// Runs a closure on the pool. Returns whether the pool has taken the closure: a closed pool
    /// has cancelled the task.
    pub(crate) fn try_spawn<F, R>(
        &self,
        runtime: &impl PoolRef,
        closure: F,
        meta: SpawnMeta<'_>,
        about: About,
        demand: Demand,
    ) -> (JoinHandle<R>, io::Result<bool>)
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        // A paused clock does not jump while blocking work runs.
        runtime.common().clock.hold();
        let (task, join) = if const { size_of::<F>() > BOX_ABOVE } {
            prepare(runtime, Box::new(closure), meta, about)
        } else {
            prepare(runtime, closure, meta, about)
        };
        let mandatory = demand.mandatory;
        let submitted = self.submit(runtime, Job { task, mandatory }, demand.short);
        (join, submitted)
    }

    /// Runs a mandatory closure on the pool. Returns `None` if the pool is closed already, or the
    /// system refuses a thread.
    #[track_caller]
    pub(crate) fn spawn_mandatory<F, R>(
        &self,
        runtime: &impl PoolRef,
        closure: F,
        about: About,
    ) -> Option<JoinHandle<R>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let meta = spawn_meta!(F);
        match self.try_spawn(runtime, closure, meta, about, Demand::MANDATORY) {
            (join, Ok(true)) => Some(join),
            (_, Ok(false) | Err(_)) => None,
        }
    }

    /// Runs `closure`, which the end of the runtime needs, on a thread of its own, although
    /// the pool is closed. Has no effect if the system refuses a thread.
    #[cold]
    pub(crate) fn start_late(
        &self,
        runtime: &impl PoolRef,
        closure: impl FnOnce() + Send + 'static,
    ) {
        let builder = thread_builder(runtime);
        _ = self.threads.start(|_| builder.spawn(closure));
    }

    /// Submits a job. Returns whether the pool has taken it; if it is closed, the job has
    /// been cancelled.
    #[inline]
    fn submit(&self, runtime: &impl PoolRef, job: Job, short: bool) -> io::Result<bool> {
        if decisions::is_on() {
            return self.submit_in_simulation(runtime, job, short);
        }
        self.submit_to_thread(runtime, job, short)
    }

    /// Queues a job beside the tasks of a simulation, which has one thread.
    #[cold]
    fn submit_in_simulation(
        &self,
        runtime: &impl PoolRef,
        job: Job,
        short: bool,
    ) -> io::Result<bool> {
        let Job { task, mandatory } = job;
        match runtime.queue_job(task) {
            // The job is a task, which keeps the clock from moving as long as it is ready.
            Ok(()) => _ = runtime.common().clock.release(),
            // It belongs to another runtime, which is no part of the simulation.
            Err(task) => return self.submit_to_thread(runtime, Job { task, mandatory }, short),
        }
        Ok(true)
    }

    #[inline]
    fn submit_to_thread(&self, runtime: &impl PoolRef, job: Job, short: bool) -> io::Result<bool> {
        match self.queue.submit(job, short) {
            Ok(Submitted::Served) => Ok(true),
            Ok(Submitted::StartThread) => self.start_thread(runtime).map(|()| true),
            Err(Closed(job)) => {
                job.cancel(runtime);
                Ok(false)
            }
        }
    }

    #[cold]
    fn start_thread(&self, runtime: &impl PoolRef) -> io::Result<()> {
        let builder = thread_builder(runtime);
        let own = runtime.clone();
        let started = self
            .threads
            .start(|number| builder.spawn(move || work(&own, number)));
        let Err(error) = started else {
            return Ok(());
        };
        let remains = self.queue.lost(self.workers + 1);
        end_all(remains.jobs, runtime);
        // The system may have more threads later; until then the other threads run the job.
        if error.kind() == io::ErrorKind::WouldBlock && remains.threads > self.workers {
            return Ok(());
        }
        Err(error)
    }

    /// Closes the pool and waits for its threads, at most for `timeout`. A second call
    /// does nothing.
    ///
    /// # Panics
    ///
    /// On a thread that must not block.
    pub(crate) fn shutdown(&self, runtime: &impl PoolRef, timeout: Option<Duration>) {
        let Some(jobs) = self.queue.close() else {
            return;
        };
        end_all(jobs, runtime);
        self.threads.close();
        if timeout == Some(Duration::ZERO) {
            return;
        }
        if enter::try_enter_blocking_region().is_none() {
            // No panic within a panic.
            if !thread::panicking() {
                panic_any(DROPPED_IN_ASYNC);
            }
            return;
        }
        let until = timeout.and_then(deadline::after);
        let mut record = Wait::new(Caller::UNKNOWN);
        let number = runtime.common().id.number();
        record.begin_blocking_with(WaitKind::new(Kind::Shutdown), number, until.is_some());
        if self.queue.wait_until_empty(until) {
            // A thread that was started late may start another.
            while let Some(thread) = self.threads.pop() {
                // Its panic has been printed already.
                let _ = thread.join();
            }
        }
    }

    /// Returns the number of threads for blocking work, and of closures that wait for one.
    pub(crate) fn numbers(&self) -> Numbers {
        let numbers = self.queue.numbers();
        Numbers {
            threads: numbers.threads.saturating_sub(self.workers),
            ..numbers
        }
    }
}

#[inline]
fn prepare<F, R>(
    runtime: &impl PoolRef,
    closure: F,
    meta: SpawnMeta<'_>,
    about: About,
) -> (Notified, JoinHandle<R>)
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let id = Id::next();
    let future = async move { call(closure) };
    let future = inspected::job(future, id, meta, runtime.common().id, about);
    let future = traced!(blocking::<F>(future, meta, id));
    let on_terminate = runtime.common().hooks.on_task_terminate.clone();
    let (join, task) = unowned(future, Once { on_terminate }, id);
    (task, join)
}

/// Calls a closure, on a thread where it may block. In a simulation the thread polls a task: the closure may drive
/// futures that need not wait, and an operation that blocks its thread panics.
#[inline(always)]
fn call<R>(closure: impl FnOnce() -> R) -> R {
    if decisions::is_on() {
        return enter::exit_runtime(closure);
    }
    closure()
}

/// Returns a builder for a thread with the name and the stack size that the user has set.
fn thread_builder(runtime: &impl PoolRef) -> thread::Builder {
    let config = &runtime.common().config;
    let builder = thread::Builder::new().name((config.thread_name)());
    match config.thread_stack_size {
        Some(size) => builder.stack_size(size),
        None => builder,
    }
}

/// Runs a thread of the pool.
fn work(runtime: &impl PoolRef, number: u64) {
    let _current = enter::set_current(runtime);
    blitz_io_observe::runs_tasks();
    let common = runtime.common();
    let _tokio = tokio_handle::enter(common);
    let pool = runtime.pool();

    // If the hook panics, the thread does not serve the queue. Its job stays for the next thread.
    let missing = OnDrop(|| end_all(pool.queue.lost(0).jobs, runtime));
    hooks::call(common.hooks.on_thread_start.as_ref());
    std::mem::forget(missing);

    // Closures have no budget.
    coop::set(Budget::UNCONSTRAINED);
    let mut state = ThreadState::new();
    loop {
        match pool.queue.next(&mut state, pool.keep_alive) {
            Next::Run(job) => job.run(runtime),
            Next::StartThreadAndRun(job) => {
                // If the system refuses a thread, the others run the jobs that wait.
                _ = pool.start_thread(runtime);
                job.run(runtime);
            }
            Next::Cancel(job) => job.end(runtime),
            Next::Leave => break,
        }
    }
    hooks::call(common.hooks.on_thread_stop.as_ref());
    if let Some(thread) = pool.threads.go(number) {
        let _ = thread.join();
    }
}
