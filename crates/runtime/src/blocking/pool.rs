//! The pool of threads for blocking work. How jobs and threads find each other is told
//! in `desk.rs`; here are the threads, and what happens at the runtime's end.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::panic::panic_any;
use std::thread;
use std::time::Duration;

use blitz_sync::internals::deadline;
use blitz_sync::thread::Mutex;

use super::desk::{Closed, Desk, Next, Seat, Submitted};
use super::roster::Roster;
use super::task::{BlockingTask, Once};
use crate::runtime::enter;
use crate::runtime::errors::DROPPED_IN_ASYNC;
use crate::scheduler::Handle;
use crate::task::{self, BOX_ABOVE, Id, JoinHandle, Notified};
use crate::trace::{self, SpawnMeta};

/// A job of the pool.
struct Job {
    task: Notified,
    /// It is run also after the pool has been closed.
    mandatory: bool,
}

impl Job {
    fn run(self, handle: &Handle) {
        let _ = self.task.run();
        release_clock(handle);
    }

    /// What becomes of a job that is left when the pool has been closed.
    fn end(self, handle: &Handle) {
        if self.mandatory {
            self.run(handle);
        } else {
            self.cancel(handle);
        }
    }

    fn cancel(self, handle: &Handle) {
        self.task.cancel();
        release_clock(handle);
    }
}

/// A job is done, and all have been told: a clock that stands still may jump again.
fn release_clock(handle: &Handle) {
    if handle.common().clock.release() {
        handle.unpark(0);
    }
}

/// The jobs that are left when there are no threads any more.
fn end_all(jobs: VecDeque<Job>, handle: &Handle) {
    enter::with_entered(handle, || jobs.into_iter().for_each(|job| job.end(handle)));
}

/// The runtime's pool of threads, which are started when they are needed.
pub(crate) struct Spawner {
    desk: Desk<Job>,
    roster: Roster,
    /// Threads that were started after the pool had been closed.
    late: Mutex<Vec<thread::JoinHandle<()>>>,
    /// How many of the threads are workers of the scheduler.
    workers: usize,
    keep_alive: Duration,
}

impl Spawner {
    /// A pool of up to `threads` threads for blocking work, besides `workers` for the
    /// scheduler's workers.
    pub(crate) fn new(threads: usize, workers: usize, keep_alive: Duration) -> Self {
        Self {
            desk: Desk::new(threads.saturating_add(workers)),
            roster: Roster::default(),
            late: Mutex::default(),
            workers,
            keep_alive,
        }
    }

    /// Runs `closure` on a thread of the pool, which is `handle`'s.
    #[track_caller]
    pub(crate) fn spawn_blocking<F, R>(&self, handle: &Handle, closure: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let meta = SpawnMeta::unnamed(size_of::<F>());
        self.spawn_named(handle, closure, meta)
    }

    /// The same, with what is known of the task.
    #[track_caller]
    pub(crate) fn spawn_named<F, R>(
        &self,
        handle: &Handle,
        closure: F,
        meta: SpawnMeta<'_>,
    ) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        match self.try_spawn(handle, closure, meta, false) {
            // A closed pool has cancelled the task: the join handle says so.
            (join, Ok(_)) => join,
            (_, Err(error)) => panic!("OS can't spawn worker thread: {error}"),
        }
    }

    /// The same. Says whether the pool has taken the closure: if it is closed, the task
    /// has been cancelled. A `mandatory` one is run even if the pool is closed before a
    /// thread gets to it.
    pub(crate) fn try_spawn<F, R>(
        &self,
        handle: &Handle,
        closure: F,
        meta: SpawnMeta<'_>,
        mandatory: bool,
    ) -> (JoinHandle<R>, io::Result<bool>)
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        // A clock that stands still does not jump while blocking work goes on.
        handle.common().clock.hold();
        let (task, join) = if size_of::<F>() > BOX_ABOVE {
            prepare(handle, Box::new(closure), meta)
        } else {
            prepare(handle, closure, meta)
        };
        (join, self.submit(handle, Job { task, mandatory }))
    }

    /// The same for a mandatory closure. `None` if the pool is closed already, or there is
    /// no thread.
    #[track_caller]
    pub(crate) fn spawn_mandatory<F, R>(&self, handle: &Handle, closure: F) -> Option<JoinHandle<R>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let meta = SpawnMeta::unnamed(size_of::<F>());
        match self.try_spawn(handle, closure, meta, true) {
            (join, Ok(true)) => Some(join),
            (_, Ok(false) | Err(_)) => None,
        }
    }

    /// Runs `closure`, which the end of the runtime needs, on a thread of its own, though
    /// the pool is closed. Nothing happens if the system has no thread.
    #[cold]
    pub(crate) fn start_late(&self, handle: &Handle, closure: impl FnOnce() + Send + 'static) {
        if let Ok(thread) = thread_builder(handle).spawn(closure) {
            self.late.lock().push(thread);
        }
    }

    fn join_late(&self) {
        // Such a thread may start another: the lock is not held meanwhile.
        loop {
            let Some(thread) = self.late.lock().pop() else {
                return;
            };
            let _ = thread.join();
        }
    }

    /// Hands in a job. Says whether the pool has taken it; if it is closed, the job has
    /// been cancelled.
    #[inline]
    fn submit(&self, handle: &Handle, job: Job) -> io::Result<bool> {
        match self.desk.submit(job) {
            Ok(Submitted::Served) => Ok(true),
            Ok(Submitted::StartThread) => self.start_thread(handle).map(|()| true),
            Err(Closed(job)) => {
                job.cancel(handle);
                Ok(false)
            }
        }
    }

    #[cold]
    fn start_thread(&self, handle: &Handle) -> io::Result<()> {
        let builder = thread_builder(handle);
        let own = handle.clone();
        let started = self
            .roster
            .start(|number| builder.spawn(move || work(&own, number)));
        let Err(error) = started else {
            return Ok(());
        };
        let remains = self.desk.lost();
        end_all(remains.jobs, handle);
        // The system may have more threads later; meanwhile the others see to the job.
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
    /// Where a thread must not be blocked.
    pub(crate) fn shutdown(&self, handle: &Handle, timeout: Option<Duration>) {
        let Some(jobs) = self.desk.close() else {
            return;
        };
        end_all(jobs, handle);
        let threads = self.roster.close();
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
        if self
            .desk
            .wait_until_empty(timeout.and_then(deadline::after))
        {
            for thread in threads {
                // What it panicked with has been shown already.
                let _ = thread.join();
            }
            self.join_late();
        }
    }

    /// How many threads there are for blocking work.
    pub(crate) fn num_threads(&self) -> usize {
        self.desk.numbers().threads.saturating_sub(self.workers)
    }

    /// How many threads have nothing to do.
    pub(crate) fn num_idle_threads(&self) -> usize {
        self.desk.numbers().idle
    }

    /// How many closures wait for a thread.
    pub(crate) fn queue_depth(&self) -> usize {
        self.desk.numbers().queued
    }
}

impl fmt::Debug for Spawner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("blocking::Spawner").finish()
    }
}

#[inline]
fn prepare<F, R>(handle: &Handle, closure: F, meta: SpawnMeta<'_>) -> (Notified, JoinHandle<R>)
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let id = Id::next();
    let future = trace::blocking::<F, _>(BlockingTask::new(closure), meta, id);
    let on_terminate = handle.common().hooks.on_task_terminate.clone();
    let (join, task) = task::unowned(future, Once { on_terminate }, id);
    (task, join)
}

/// A thread as the user wants them.
fn thread_builder(handle: &Handle) -> thread::Builder {
    let config = &handle.common().config;
    let builder = thread::Builder::new().name((config.thread_name)());
    match config.thread_stack_size {
        Some(size) => builder.stack_size(size),
        None => builder,
    }
}

/// What a thread of the pool does.
fn work(handle: &Handle, number: u64) {
    let _current = enter::set_current(handle);
    let common = handle.common();
    let pool = &common.blocking;

    let missing = Missing(pool, handle);
    common.hooks.thread_start();
    std::mem::forget(missing);

    pool.work(handle);
    common.hooks.thread_stop();
    if let Some(thread) = pool.roster.go(number) {
        let _ = thread.join();
    }
}

/// A hook has panicked: the thread will not get to the desk.
struct Missing<'a>(&'a Spawner, &'a Handle);

impl Drop for Missing<'_> {
    fn drop(&mut self) {
        end_all(self.0.desk.lost().jobs, self.1);
    }
}

impl Spawner {
    fn work(&self, handle: &Handle) {
        let mut seat = Seat::new();
        loop {
            match self.desk.next(&mut seat, self.keep_alive) {
                Next::Run(job) => job.run(handle),
                Next::Cancel(job) => job.end(handle),
                Next::Leave => return,
            }
        }
    }
}
