//! Models of the queue of the pool for blocking work.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use blitz_io_runtime::kernel::job_queue::{Closed, JobQueue, Next, Submitted, ThreadState};
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use crate::model::model_in_order as model;

const KEEP_ALIVE: Duration = Duration::from_secs(3600);

/// A pool that counts its threads' steps.
struct Pool {
    queue: JobQueue<Job>,
    ran: AtomicU32,
    cancelled: AtomicU32,
    left: AtomicU32,
    threads: Mutex<Vec<thread::JoinHandle<()>>>,
}

/// The work of a job.
#[derive(Debug)]
enum Job {
    Count,
    /// Wait until so many jobs have run.
    Await(u32),
}

impl Pool {
    fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            queue: JobQueue::new(limit),
            ran: AtomicU32::new(0),
            cancelled: AtomicU32::new(0),
            left: AtomicU32::new(0),
            threads: Mutex::default(),
        })
    }

    /// Hands in a job, and starts a thread if one is wanted.
    fn submit(self: &Arc<Self>, job: Job) -> Result<(), Closed<Job>> {
        self.submit_as(job, false)
    }

    fn submit_as(self: &Arc<Self>, job: Job, short: bool) -> Result<(), Closed<Job>> {
        if self.queue.submit(job, short)? == Submitted::StartThread {
            self.start();
        }
        Ok(())
    }

    fn start(self: &Arc<Self>) {
        let pool = self.clone();
        let thread = thread::spawn(move || pool.work());
        self.threads.lock().unwrap().push(thread);
    }

    fn run(&self, job: Job) {
        if let Job::Await(others) = job {
            self.await_jobs(others);
        }
        self.count();
    }

    fn work(self: &Arc<Self>) {
        let mut state = ThreadState::new();
        loop {
            match self.queue.next(&mut state, KEEP_ALIVE) {
                Next::Run(job) => self.run(job),
                Next::StartThreadAndRun(job) => {
                    self.start();
                    self.run(job);
                }
                Next::Cancel(_) => drop(self.cancelled.fetch_add(1, Ordering::Relaxed)),
                Next::Leave => break,
            }
        }
        self.left.fetch_add(1, Ordering::Relaxed);
    }

    fn count(&self) {
        self.ran.fetch_add(1, Ordering::AcqRel);
        blitz_io_futex::wake_all(&raw const self.ran);
    }

    /// Sleeps until so many jobs have run: for ever, if one is left behind.
    fn await_jobs(&self, jobs: u32) {
        loop {
            let ran = self.ran.load(Ordering::Acquire);
            if ran >= jobs {
                return;
            }
            blitz_io_futex::wait(&self.ran, ran);
        }
    }

    fn close(&self) {
        let left = self.queue.close().unwrap();
        self.cancelled
            .fetch_add(left.len() as u32, Ordering::Relaxed);
        assert!(self.queue.wait_until_empty(None));
    }

    /// Joins the threads, as a model has to.
    fn join(&self) {
        let threads = std::mem::take(&mut *self.threads.lock().unwrap());
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    }

    /// So many jobs have been taken, one way or the other, and no thread is left.
    fn check(&self, jobs: u32) {
        self.join();
        let taken = self.ran.load(Ordering::Acquire) + self.cancelled.load(Ordering::Acquire);
        assert_eq!(taken, jobs);
        let numbers = self.queue.numbers();
        assert_eq!((numbers.threads, numbers.queued, numbers.idle), (0, 0, 0));
    }
}

/// One job after the other: the thread searches, sleeps, and is woken.
fn jobs_in_turn() {
    model(3, || {
        let pool = Pool::new(1);
        for job in 1..=3 {
            pool.submit(Job::Count).unwrap();
            pool.await_jobs(job);
        }
        pool.close();
        pool.check(3);
    });
}

/// A thread that is about to sleep, and two jobs which need a thread each.
fn jobs_that_need_each_other() {
    model(2, || {
        let pool = Pool::new(2);
        pool.submit(Job::Count).unwrap();
        pool.await_jobs(1);
        pool.submit(Job::Await(2)).unwrap();
        pool.submit(Job::Count).unwrap();
        pool.await_jobs(3);
        pool.close();
        pool.check(3);
    });
}

/// Two short jobs which need a thread each: the first thread starts the second.
fn short_jobs_that_need_each_other() {
    model(2, || {
        let pool = Pool::new(2);
        pool.submit_as(Job::Await(1), true).unwrap();
        pool.submit_as(Job::Count, true).unwrap();
        pool.await_jobs(2);
        pool.close();
        pool.check(2);
    });
}

/// Two submit at the same time.
fn two_submit() {
    model(2, || {
        let pool = Pool::new(1);
        let other = {
            let pool = pool.clone();
            thread::spawn(move || pool.submit(Job::Count).unwrap())
        };
        pool.submit(Job::Count).unwrap();
        other.join().unwrap();
        pool.await_jobs(2);
        pool.close();
        pool.check(2);
    });
}

/// The thread's keep-alive time ends while a job comes.
fn keep_alive_ends() {
    model(2, || {
        let pool = Pool::new(1);
        pool.submit(Job::Count).unwrap();
        pool.await_jobs(1);
        let time = thread::spawn(blitz_io_futex::model::expire);
        pool.submit(Job::Count).unwrap();
        pool.await_jobs(2);
        time.join().unwrap();
        pool.close();
        pool.check(2);
    });
}

/// The pool is closed while a job comes: it is run or cancelled, or refused.
fn closing() {
    model(2, || {
        let pool = Pool::new(1);
        pool.submit(Job::Count).unwrap();
        let other = {
            let pool = pool.clone();
            thread::spawn(move || u32::from(pool.submit(Job::Count).is_ok()))
        };
        pool.close();
        let accepted = other.join().unwrap();
        pool.check(1 + accepted);
    });
}

/// The pool is closed while its thread searches, sleeps, or works.
fn closing_at_rest() {
    model(3, || {
        let pool = Pool::new(1);
        pool.submit(Job::Count).unwrap();
        pool.close();
        pool.check(1);
        assert_eq!(pool.left.load(Ordering::Relaxed), 1);
    });
}

/// A thread cannot be started, and a job has counted on it. The job needs another thread,
/// which has gone to sleep in between and must be woken.
fn a_start_fails() {
    model(2, || {
        let pool = Pool::new(2);
        pool.submit(Job::Count).unwrap();
        let failing = pool.queue.submit(Job::Count, false).unwrap();
        pool.submit(Job::Count).unwrap();
        if failing == Submitted::StartThread {
            let remains = pool.queue.lost(0);
            assert_eq!(remains.threads, 1);
            assert!(remains.jobs.is_empty());
        }
        pool.await_jobs(3);
        pool.close();
        pool.check(3);
    });
}

/// The only thread cannot be started, while another thread closes the pool.
fn the_only_start_fails() {
    model(3, || {
        let pool = Pool::new(1);
        assert_eq!(
            pool.queue.submit(Job::Count, false).unwrap(),
            Submitted::StartThread
        );
        let closer = {
            let pool = pool.clone();
            thread::spawn(move || pool.close())
        };
        let remains = pool.queue.lost(0);
        pool.cancelled
            .fetch_add(remains.jobs.len() as u32, Ordering::Relaxed);
        closer.join().unwrap();
        pool.check(1);
    });
}

macro_rules! models {
    ($($name:ident)*) => { $(
        mod $name {
            #[test]
            fn holds() {
                super::$name();
            }
        }
    )* };
}

models! {
    jobs_in_turn
    jobs_that_need_each_other
    short_jobs_that_need_each_other
    two_submit
    keep_alive_ends
    closing
    closing_at_rest
    a_start_fails
    the_only_start_fails
}
