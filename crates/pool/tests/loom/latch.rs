//! Models of latches: the end of a job wakes the thread that waits for it, and this sees the
//! job's writes.

use std::sync::Arc;

use blitz_io_pool::model::{
    Caller, CountLatch, CrossLatch, JoinLatch, Latch, Probe, Sleep, SleepFor, ThreadLatch,
};
use loom::sync::atomic::AtomicUsize;
use loom::sync::atomic::Ordering::Relaxed;
use loom::thread;

use crate::model;

/// A latch, and the job's write before it sets the latch.
struct Job<L> {
    latch: L,
    result: AtomicUsize,
}

impl<L: Latch + Send + Sync + 'static> Job<L> {
    fn new(latch: L) -> Arc<Self> {
        let result = AtomicUsize::new(0);
        Arc::new(Self { latch, result })
    }

    /// Runs the job in a thread while `wait` waits for it.
    fn run(self: Arc<Self>, wait: impl FnOnce(&L)) {
        let job = self.clone();
        let runs = thread::spawn(move || {
            job.result.store(1, Relaxed);
            // SAFETY: it is set once, and alive.
            unsafe { L::set(&job.latch) };
        });
        wait(&self.latch);
        assert_eq!(self.result.load(Relaxed), 1);
        runs.join().unwrap();
    }
}

fn a_thread_waits() {
    Job::new(ThreadLatch::new()).run(|latch| latch.wait(Caller::UNKNOWN));
}

/// The start of a thread, for which any number of threads can wait.
fn two_threads_wait() {
    let job = Job::new(ThreadLatch::new());
    let other = {
        let job = job.clone();
        thread::spawn(move || {
            job.latch.wait(Caller::UNKNOWN);
            assert_eq!(job.result.load(Relaxed), 1);
        })
    };
    job.run(|latch| latch.wait(Caller::UNKNOWN));
    other.join().unwrap();
}

/// A join.
fn a_worker_waits() {
    struct Waits(JoinLatch, Arc<Sleep>);
    // SAFETY: the pointer to the sleeper is valid as long as the pool's `Sleep`, which is
    // here.
    unsafe impl Send for Waits {}
    impl Latch for Waits {
        unsafe fn set(this: *const Self) {
            // SAFETY: by the contract of `Latch::set`, the latch is alive until it is set.
            unsafe { JoinLatch::set(&raw const (*this).0) }
        }
    }
    let sleep = Arc::new(Sleep::new(1));
    let latch = JoinLatch::new(sleep.worker(0));
    Job::new(Waits(latch, sleep)).run(|Waits(latch, sleep)| {
        while !latch.is_set() {
            sleep.sleep(0, SleepFor::Own, None, Caller::UNKNOWN, || latch.is_set());
        }
    });
}

/// An install into another pool: the worker sleeps as an idle one does.
fn a_worker_waits_for_another_pool() {
    let sleep = Arc::new(Sleep::new(1));
    Job::new(CrossLatch::new(0, &sleep)).run(|latch| {
        while !latch.is_set() {
            sleep.sleep(0, SleepFor::Anything, None, Caller::UNKNOWN, || {
                latch.is_set()
            });
        }
    });
}

/// A scope with two jobs, the body among them, and their writes.
struct Scope {
    latch: CountLatch,
    jobs: AtomicUsize,
    results: [AtomicUsize; 2],
}

impl Scope {
    fn new(sleep: Option<&Arc<Sleep>>) -> Arc<Self> {
        let latch = CountLatch::new(sleep.map(|sleep| (0, sleep)));
        latch.begin();
        Arc::new(Self {
            latch,
            jobs: AtomicUsize::new(0),
            results: [AtomicUsize::new(0), AtomicUsize::new(0)],
        })
    }

    fn end(&self, job: usize) {
        self.results[job].store(1, Relaxed);
        // SAFETY: each of the two ends once, and the scope is alive.
        unsafe { CountLatch::end(&self.latch) };
    }

    fn assert_ended(&self) {
        assert!(self.results.iter().all(|result| result.load(Relaxed) == 1));
    }

    /// Waits as worker 0 does, and runs the jobs that were added.
    fn wait_as_worker(&self, sleep: &Sleep) {
        self.latch.wait(Caller::UNKNOWN, |latch| {
            while !latch.is_set() {
                if self.jobs.swap(0, Relaxed) != 0 {
                    self.end(1);
                    continue;
                }
                let has_work = || latch.is_set() || self.jobs.load(Relaxed) != 0;
                sleep.sleep(0, SleepFor::Own, None, Caller::UNKNOWN, has_work);
            }
        });
    }
}

fn a_thread_waits_for_two_jobs() {
    let scope = Scope::new(None);
    let threads = [0, 1].map(|job| {
        let scope = scope.clone();
        thread::spawn(move || scope.end(job))
    });
    scope
        .latch
        .wait(Caller::UNKNOWN, |_| unreachable!("there is no worker"));
    scope.assert_ended();
    for thread in threads {
        thread.join().unwrap();
    }
}

fn a_worker_waits_for_two_jobs() {
    let sleep = Arc::new(Sleep::new(1));
    let scope = Scope::new(Some(&sleep));
    let job = {
        let scope = scope.clone();
        thread::spawn(move || scope.end(1))
    };
    scope.end(0);
    scope.wait_as_worker(&sleep);
    scope.assert_ended();
    job.join().unwrap();
}

/// Another thread adds the job, which only the waiting worker may run.
fn a_worker_is_given_a_job_while_it_waits() {
    let sleep = Arc::new(Sleep::new(1));
    let scope = Scope::new(Some(&sleep));
    let adds = {
        let scope = scope.clone();
        thread::spawn(move || {
            scope.jobs.fetch_add(1, Relaxed);
            scope.latch.wake_for_job();
        })
    };
    scope.end(0);
    scope.wait_as_worker(&sleep);
    scope.assert_ended();
    adds.join().unwrap();
}

#[test]
fn the_end_of_a_job_wakes_its_waiter() {
    model(a_thread_waits);
    model(two_threads_wait);
    model(a_worker_waits);
    model(a_worker_waits_for_another_pool);
}

#[test]
fn the_last_of_many_jobs_wakes_the_waiter() {
    model(a_thread_waits_for_two_jobs);
    model(a_worker_waits_for_two_jobs);
}

#[test]
fn a_waiting_worker_finds_a_job_that_is_added() {
    model(a_worker_is_given_a_job_while_it_waits);
}
