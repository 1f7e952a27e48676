//! Models of idle workers: injected work is never left waiting while all of them sleep.
#![cfg(loom)]

use std::sync::Arc;
use std::time::Duration;

use blitz_io_pool::model::Sleep;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use crate::model;

struct Pool {
    sleep: Sleep,
    injected: AtomicUsize,
}

impl Pool {
    fn of(workers: usize) -> Arc<Self> {
        Arc::new(Self {
            sleep: Sleep::new(workers),
            injected: AtomicUsize::new(0),
        })
    }

    fn take(&self) -> bool {
        self.injected
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1))
            .is_ok()
    }

    fn has_work(&self) -> bool {
        self.injected.load(Ordering::SeqCst) != 0
    }

    /// A worker that runs one job.
    fn work(&self, me: usize) {
        while !self.take() {
            self.sleep.sleep_idle(me, || self.has_work());
        }
    }

    /// Does the same, in a worker that rests first.
    fn rest_and_work(&self, me: usize) {
        if !self.take() {
            self.sleep.rest(Duration::from_secs(1), || self.has_work());
            self.work(me);
        }
    }

    fn inject(&self) {
        self.injected.fetch_add(1, Ordering::SeqCst);
        self.sleep.injected_one();
    }
}

fn workers(count: usize) -> impl Fn() + Send + Sync + 'static {
    workers_that(count, |number, pool| pool.work(number))
}

/// Workers of which the first rests before it sleeps.
fn resting(count: usize) -> impl Fn() + Send + Sync + 'static {
    workers_that(count, |number, pool| match number {
        0 => pool.rest_and_work(number),
        _ => pool.work(number),
    })
}

fn workers_that(
    count: usize,
    work: impl Fn(usize, &Pool) + Copy + Send + Sync + 'static,
) -> impl Fn() + Send + Sync + 'static {
    move || {
        let pool = Pool::of(count);
        let workers: Vec<_> = (0..count)
            .map(|number| {
                let pool = pool.clone();
                thread::spawn(move || work(number, &pool))
            })
            .collect();
        for _ in 0..count {
            pool.inject();
        }
        for worker in workers {
            worker.join().unwrap();
        }
    }
}

/// Two workers sleep, and a third makes two forks, of which each takes one.
fn two_forks() {
    let pool = Pool::of(3);
    let workers = [1, 2].map(|me| {
        let pool = pool.clone();
        thread::spawn(move || {
            pool.work(me);
            if pool.has_work() {
                pool.sleep.pass_on();
            }
        })
    });
    for _ in 0..2 {
        pool.injected.fetch_add(1, Ordering::SeqCst);
        if pool.sleep.worker(0).is_asked() {
            pool.sleep.answer(0);
        }
    }
    for worker in workers {
        worker.join().unwrap();
    }
}

#[test]
fn one_wake_up_for_two_forks_is_passed_on() {
    model(two_forks);
}

/// A worker that was idle begins a job and forks. It passes no fence of its own between the fork
/// and its look at the request. A worker that asks it at the same time either sees that it runs,
/// or sees the fork, or its request is seen.
fn a_fork_of_one_that_was_idle() {
    let pool = Arc::new((Sleep::new(2), AtomicUsize::new(0)));
    pool.0.worker(0).ends();
    let idle = {
        let pool = pool.clone();
        thread::spawn(move || {
            let (sleep, forks) = &*pool;
            sleep.ask_for_forks(1) || forks.load(Ordering::SeqCst) != 0
        })
    };
    let (sleep, forks) = &*pool;
    sleep.worker(0).begins();
    forks.store(1, Ordering::Release);
    let asked = sleep.worker(0).is_asked();
    assert!(idle.join().unwrap() || asked);
}

#[test]
fn a_fork_of_one_that_was_idle_is_not_missed() {
    blitz_io_core::fences::model::without_light_fences(|| model(a_fork_of_one_that_was_idle));
}

/// A worker waits for a job, which another one ends or forks for.
fn a_waiting_worker_is_woken() {
    let pool = Arc::new((Sleep::new(2), AtomicUsize::new(0)));
    let waiting = {
        let pool = pool.clone();
        thread::spawn(move || {
            let (sleep, forks) = &*pool;
            while forks.load(Ordering::SeqCst) == 0 {
                sleep.sleep_waiting(0, Some(1), || forks.load(Ordering::SeqCst) != 0);
            }
        })
    };
    let (sleep, forks) = &*pool;
    forks.store(1, Ordering::SeqCst);
    if sleep.worker(1).is_asked() {
        sleep.answer(1);
    }
    waiting.join().unwrap();
}

#[test]
fn one_worker_never_sleeps_beside_its_job() {
    model(workers(1));
}

#[test]
fn two_workers_never_both_sleep_beside_two_jobs() {
    model(workers(2));
}

#[test]
fn one_worker_does_not_rest_beside_its_job() {
    model(resting(1));
}

#[test]
fn one_worker_rests_while_the_other_sleeps() {
    model(resting(2));
}

#[test]
fn a_fork_wakes_whoever_waits_to_help() {
    model(a_waiting_worker_is_woken);
}
