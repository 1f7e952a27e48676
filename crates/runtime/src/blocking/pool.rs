//! The pool of threads for blocking work. How jobs and threads find each other is told
//! in `desk.rs`; here are the threads, and what happens at the runtime's end.

use std::fmt;
use std::io;
use std::thread;
use std::time::Duration;

use blitz_sync::internals::deadline;

use super::desk::{Closed, Desk, Next, Seat, Submitted};
use super::roster::Roster;
use super::task::{BlockingTask, Once};
use crate::runtime::enter;
use crate::scheduler::Handle;
use crate::task::{self, Id, JoinHandle, Notified};
use crate::trace::{self, SpawnMeta};

/// A job of the pool.
struct Job {
    task: Notified,
    /// It is run also after the pool has been closed.
    mandatory: bool,
}

impl Job {
    fn run(self) {
        let _ = self.task.run();
        release_clock();
    }

    fn cancel(self) {
        if self.mandatory {
            self.run();
        } else {
            self.cancel_now();
        }
    }

    fn cancel_now(self) {
        self.task.cancel();
        release_clock();
    }
}

/// A job is done, and all have been told: a clock that stands still may jump again.
fn release_clock() {
    let _ = enter::with_current(|handle| {
        if handle.common().clock.release() {
            handle.unpark(0);
        }
    });
}

/// The runtime's pool of threads, which are started when they are needed.
pub(crate) struct Spawner {
    desk: Desk<Job>,
    roster: Roster,
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
        // A clock that stands still does not jump while blocking work goes on.
        handle.common().clock.hold();
        let (task, join) = prepare(closure, meta);
        let job = Job {
            task,
            mandatory: false,
        };
        match self.submit(handle, job) {
            // A closed pool has cancelled the task: the join handle says so.
            Ok(_) => {}
            Err(error) => panic!("OS can't spawn worker thread: {error}"),
        }
        join
    }

    /// The same for a closure that is run even if the pool is closed before a thread
    /// gets to it. `None` if the pool is closed already, or there is no thread.
    #[track_caller]
    pub(crate) fn spawn_mandatory<F, R>(&self, handle: &Handle, closure: F) -> Option<JoinHandle<R>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        handle.common().clock.hold();
        let (task, join) = prepare(closure, SpawnMeta::unnamed(size_of::<F>()));
        let job = Job {
            task,
            mandatory: true,
        };
        match self.submit(handle, job) {
            Ok(true) => Some(join),
            Ok(false) | Err(_) => None,
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
                enter::with_entered(handle, || job.cancel_now());
                Ok(false)
            }
        }
    }

    #[cold]
    fn start_thread(&self, handle: &Handle) -> io::Result<()> {
        let config = &handle.common().config;
        let mut builder = thread::Builder::new().name((config.thread_name)());
        if let Some(size) = config.thread_stack_size {
            builder = builder.stack_size(size);
        }
        let own = handle.clone();
        let started = self
            .roster
            .start(|number| builder.spawn(move || work(&own, number)));
        let Err(error) = started else {
            return Ok(());
        };
        let remains = self.desk.lost();
        enter::with_entered(handle, || remains.jobs.into_iter().for_each(Job::cancel));
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
        enter::with_entered(handle, || jobs.into_iter().for_each(Job::cancel));
        let threads = self.roster.close();
        if timeout == Some(Duration::ZERO) {
            return;
        }
        if enter::try_enter_blocking_region().is_none() {
            // No panic within a panic.
            assert!(
                thread::panicking(),
                "Cannot drop a runtime in a context where blocking is not allowed. \
                 This happens when a runtime is dropped from within an asynchronous context."
            );
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
#[track_caller]
fn prepare<F, R>(closure: F, meta: SpawnMeta<'_>) -> (Notified, JoinHandle<R>)
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let id = Id::next();
    let future = trace::blocking::<F, _>(BlockingTask::new(closure), meta, id);
    let (join, task) = task::unowned(future, Once, id);
    (task, join)
}

/// What a thread of the pool does.
fn work(handle: &Handle, number: u64) {
    let _current = enter::set_current(handle);
    let common = handle.common();
    let pool = &common.blocking;

    let missing = Missing(pool, handle);
    common.hooks.thread_start();
    std::mem::forget(missing);

    pool.work();
    common.hooks.thread_stop();
    if let Some(thread) = pool.roster.go(number) {
        let _ = thread.join();
    }
}

/// A hook has panicked: the thread will not get to the desk.
struct Missing<'a>(&'a Spawner, &'a Handle);

impl Drop for Missing<'_> {
    fn drop(&mut self) {
        let jobs = self.0.desk.lost().jobs;
        enter::with_entered(self.1, || jobs.into_iter().for_each(Job::cancel));
    }
}

impl Spawner {
    fn work(&self) {
        let mut seat = Seat::new();
        loop {
            match self.desk.next(&mut seat, self.keep_alive) {
                Next::Run(job) => job.run(),
                Next::Cancel(job) => job.cancel(),
                Next::Leave => return,
            }
        }
    }
}
