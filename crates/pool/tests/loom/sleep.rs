//! Models of sleeping workers: no published work waits while a worker sleeps for it. The jobs are
//! counters without any order of their own, so all order comes from the protocol.

use std::sync::Arc;
use std::time::Duration;

use blitz_io_pool::model::{Caller, Sleep, SleepFor};
use loom::sync::atomic::AtomicUsize;
use loom::sync::atomic::Ordering::Relaxed;
use loom::thread;

use crate::model;

struct Pool {
    sleep: Sleep,
    jobs: AtomicUsize,
}

impl Pool {
    fn of(workers: usize) -> Arc<Self> {
        Arc::new(Self {
            sleep: Sleep::new(workers),
            jobs: AtomicUsize::new(0),
        })
    }

    fn take(&self) -> bool {
        self.jobs
            .fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1))
            .is_ok()
    }

    fn has_work(&self) -> bool {
        self.jobs.load(Relaxed) != 0
    }

    fn sleep(&self, me: usize, what: SleepFor) {
        let limit = (what == SleepFor::Injected).then_some(Duration::from_secs(1));
        self.sleep
            .sleep(me, what, limit, Caller::UNKNOWN, || self.has_work());
    }

    /// Worker `me` runs one job.
    fn work(&self, me: usize, what: SleepFor) {
        let mut slept = false;
        while !self.take() {
            self.sleep(me, what);
            slept = true;
        }
        if slept && what == SleepFor::Anything {
            self.pass_on();
        }
    }

    fn pass_on(&self) {
        self.sleep.pass_on(|| self.has_work());
    }

    fn inject(&self) {
        self.jobs.fetch_add(1, Relaxed);
        self.sleep.injected_one();
    }

    /// Worker 0 forks a spawned job.
    fn spawn(&self) {
        self.jobs.fetch_add(1, Relaxed);
        self.sleep.spawned(0);
    }
}

/// Runs `publish` beside workers 1 and up, of which each sleeps for the given work.
fn beside<const N: usize>(workers: [SleepFor; N], publish: impl FnOnce(&Pool)) {
    let pool = Pool::of(N + 1);
    let mut number = 0;
    let workers = workers.map(|what| {
        let pool = pool.clone();
        number += 1;
        let me = number;
        thread::spawn(move || pool.work(me, what))
    });
    publish(&pool);
    for worker in workers {
        worker.join().unwrap();
    }
}

#[test]
fn one_worker_never_sleeps_beside_an_injected_job() {
    model(|| beside([SleepFor::Anything], Pool::inject));
}

#[test]
fn a_worker_that_sleeps_for_injected_work_is_woken_for_it() {
    model(|| beside([SleepFor::Injected], Pool::inject));
}

#[test]
fn two_workers_never_sleep_beside_two_injected_jobs() {
    model(|| {
        beside([SleepFor::Anything, SleepFor::Injected], |pool| {
            pool.inject();
            pool.inject();
        });
    });
}

#[test]
fn a_loop_wakes_all_workers() {
    model(|| {
        beside([SleepFor::Anything, SleepFor::Injected], |pool| {
            pool.jobs.store(2, Relaxed);
            pool.sleep.injected_for_all();
        });
    });
}

#[test]
fn a_job_for_each_worker_wakes_all_of_them() {
    model(|| {
        beside([SleepFor::Own, SleepFor::ForksOf(0)], |pool| {
            pool.jobs.store(2, Relaxed);
            pool.sleep.published_for_each();
        });
    });
}

#[test]
fn a_spawned_job_wakes_an_idle_worker() {
    model(|| beside([SleepFor::Anything], Pool::spawn));
}

/// Worker 0 takes its first fork back, so worker 1 may have found nothing, and needs its request.
#[test]
fn a_request_is_not_cleared_unseen() {
    model(|| {
        let pool = Pool::of(2);
        // Leaves a request behind.
        pool.sleep
            .sleep(1, SleepFor::Anything, None, Caller::UNKNOWN, || true);
        let forking = pool.clone();
        let forking = thread::spawn(move || {
            forking.spawn();
            // loom changes threads at atomic operations only, and not at a fence. This one lets it
            // run the steps above between worker 1's request here and the fence after it.
            forking.sleep.worker(1).is_asked();
            if forking.take() {
                forking.spawn();
            }
        });
        pool.work(1, SleepFor::Anything);
        forking.join().unwrap();
    });
}

#[test]
fn a_fork_wakes_the_worker_that_waits_to_help() {
    model(|| beside([SleepFor::ForksOf(0)], Pool::spawn));
}

#[test]
fn a_fork_wakes_an_idle_worker_and_the_one_that_waits_to_help() {
    model(|| {
        beside([SleepFor::ForksOf(0), SleepFor::Anything], |pool| {
            pool.spawn();
            pool.spawn();
        });
    });
}

/// The first spawned job clears the requests of both workers and wakes one of them.
#[test]
fn one_wake_up_for_two_spawned_jobs_is_passed_on() {
    model(|| {
        beside([SleepFor::Anything, SleepFor::Anything], |pool| {
            pool.spawn();
            pool.spawn();
        });
    });
}

/// Worker 1 is woken for a job, runs a job of its own instead, and ends.
fn another_job_first() {
    let pool = Pool::of(3);
    let ended = Arc::new(AtomicUsize::new(0));
    let first = {
        let (pool, ended) = (pool.clone(), ended.clone());
        thread::spawn(move || {
            let has_work = || ended.load(Relaxed) != 0 || pool.has_work();
            pool.sleep
                .sleep(1, SleepFor::Anything, None, Caller::UNKNOWN, has_work);
            pool.pass_on();
        })
    };
    let second = {
        let pool = pool.clone();
        thread::spawn(move || pool.work(2, SleepFor::Anything))
    };
    pool.inject();
    second.join().unwrap();
    ended.store(1, Relaxed);
    pool.sleep.published_for_each();
    first.join().unwrap();
}

#[test]
fn a_wake_up_for_one_worker_is_not_wasted() {
    model(another_job_first);
}
