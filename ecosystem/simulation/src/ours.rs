//! The shapes with blitz-io.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use blitz_io::sim::{self, Builder, Report};
use blitz_io::sync::{Mutex, Notify};
use blitz_io::task;

use crate::{Schedule, processor_time};

fn run<F>(schedule: Schedule, runs: usize, test: impl Fn() -> F) -> Report
where
    F: Future<Output = ()> + 'static,
{
    let schedule = match schedule {
        Schedule::Random => sim::Schedule::Random,
        Schedule::Pct => sim::Schedule::Pct { depth: 2 },
    };
    Builder::new()
        .seeds(runs as u64)
        .schedule(schedule)
        .run(test)
}

/// A bounded queue without the queue: a lock, and an event for each side.
#[derive(Default)]
struct Buffer {
    lock: Mutex<usize>,
    has_space: Notify,
    has_elements: Notify,
}

impl Buffer {
    async fn get(&self) {
        loop {
            let mut count = self.lock.lock().await;
            if *count > 0 {
                *count -= 1;
                self.has_space.notify_one();
                if *count > 0 {
                    self.has_elements.notify_one();
                }
                return;
            }
            drop(count);
            self.has_elements.notified().await;
        }
    }

    async fn put(&self) {
        loop {
            let mut count = self.lock.lock().await;
            if *count < 3 {
                *count += 1;
                self.has_elements.notify_one();
                if *count < 3 {
                    self.has_space.notify_one();
                }
                return;
            }
            drop(count);
            self.has_space.notified().await;
        }
    }
}

pub fn buffer(schedule: Schedule, runs: usize) {
    run(schedule, runs, || async {
        let buffer = Arc::new(Buffer::default());
        let consumers: Vec<_> = (0..3)
            .map(|_| {
                let buffer = buffer.clone();
                task::spawn(async move {
                    for _ in 0..9 {
                        buffer.get().await;
                    }
                })
            })
            .collect();
        let producers: Vec<_> = (0..3)
            .map(|_| {
                let buffer = buffer.clone();
                task::spawn(async move {
                    for _ in 0..9 {
                        buffer.put().await;
                    }
                })
            })
            .collect();
        for task in consumers.into_iter().chain(producers) {
            task.await.unwrap();
        }
    });
}

pub fn counter(schedule: Schedule, runs: usize, tasks: usize, events: usize) {
    run(schedule, runs, move || async move {
        let counter = Arc::new(AtomicUsize::new(0));
        let all: Vec<_> = (0..tasks)
            .map(|_| {
                let counter = counter.clone();
                task::spawn(async move {
                    for _ in 0..events {
                        // Atomics are no points of their own.
                        task::consume_budget().await;
                        counter.fetch_add(1, SeqCst);
                    }
                })
            })
            .collect();
        for task in all {
            task.await.unwrap();
        }
    });
}

fn lock_of(schedule: Schedule, runs: usize, tasks: usize, events: usize) -> Report {
    run(schedule, runs, move || async move {
        let lock = Arc::new(Mutex::new(0));
        let all: Vec<_> = (0..tasks)
            .map(|_| {
                let lock = lock.clone();
                task::spawn(async move {
                    for _ in 0..events {
                        *lock.lock().await += 1;
                    }
                })
            })
            .collect();
        for task in all {
            task.await.unwrap();
        }
    })
}

pub fn lock(schedule: Schedule, runs: usize, tasks: usize, events: usize) {
    lock_of(schedule, runs, tasks, events);
}

pub fn create(schedule: Schedule, runs: usize, tasks: usize) {
    counter(schedule, runs, tasks, 1);
}

/// Returns the number of steps a second of `lock` with five tasks.
pub fn steps() -> f64 {
    let start = processor_time();
    let report = lock_of(Schedule::Random, 100, 5, 2_000);
    report.steps() as f64 / (processor_time() - start).as_secs_f64()
}
