//! The shapes with shuttle, as in its benchmarks.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::sync::atomic::AtomicUsize;
use shuttle::sync::{Condvar, Mutex};
use shuttle::{Runner, future, thread};

use crate::Schedule;

const SEED: u64 = 0x1234_5678;

fn run(schedule: Schedule, runs: usize, test: impl Fn() + Send + Sync + 'static) {
    let mut config = shuttle::Config::default();
    config.max_steps = shuttle::MaxSteps::None;
    match schedule {
        Schedule::Random => {
            Runner::new(RandomScheduler::new_from_seed(SEED, runs), config).run(test)
        }
        Schedule::Pct => Runner::new(PctScheduler::new_from_seed(SEED, 2, runs), config).run(test),
    };
}

pub fn buffer(schedule: Schedule, runs: usize) {
    run(schedule, runs, || {
        let lock = Arc::new(Mutex::new(()));
        let has_space = Arc::new(Condvar::new());
        let has_elements = Arc::new(Condvar::new());
        let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let consumers: Vec<_> = (0..3)
            .map(|_| {
                let (lock, count) = (lock.clone(), count.clone());
                let (has_space, has_elements) = (has_space.clone(), has_elements.clone());
                thread::spawn(move || {
                    for _ in 0..9 {
                        let mut guard = lock.lock().unwrap();
                        while count.load(SeqCst) == 0 {
                            guard = has_elements.wait(guard).unwrap();
                        }
                        count.fetch_sub(1, SeqCst);
                        has_space.notify_one();
                        drop(guard);
                    }
                })
            })
            .collect();
        let producers: Vec<_> = (0..3)
            .map(|_| {
                let (lock, count) = (lock.clone(), count.clone());
                let (has_space, has_elements) = (has_space.clone(), has_elements.clone());
                thread::spawn(move || {
                    for _ in 0..9 {
                        let mut guard = lock.lock().unwrap();
                        while count.load(SeqCst) == 3 {
                            guard = has_space.wait(guard).unwrap();
                        }
                        count.fetch_add(1, SeqCst);
                        has_elements.notify_one();
                        drop(guard);
                    }
                })
            })
            .collect();
        for thread in consumers.into_iter().chain(producers) {
            thread.join().unwrap();
        }
    });
}

pub fn counter(schedule: Schedule, runs: usize, tasks: usize, events: usize) {
    run(schedule, runs, move || {
        let counter = Arc::new(AtomicUsize::new(0));
        let all: Vec<_> = (0..tasks)
            .map(|_| {
                let counter = counter.clone();
                future::spawn(async move {
                    for _ in 0..events {
                        counter.fetch_add(1, SeqCst);
                    }
                })
            })
            .collect();
        future::block_on(async move {
            for task in all {
                task.await.unwrap();
            }
        });
    });
}

pub fn lock(schedule: Schedule, runs: usize, tasks: usize, events: usize) {
    run(schedule, runs, move || {
        let lock = Arc::new(Mutex::new(0));
        let all: Vec<_> = (0..tasks)
            .map(|_| {
                let lock = lock.clone();
                thread::spawn(move || {
                    for _ in 0..events {
                        *lock.lock().unwrap() += 1;
                    }
                })
            })
            .collect();
        for thread in all {
            thread.join().unwrap();
        }
    });
}

pub fn create(schedule: Schedule, runs: usize, tasks: usize) {
    counter(schedule, runs, tasks, 1);
}
