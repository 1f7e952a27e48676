//! Searches with shuttle.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler, UrwRandomScheduler};
use shuttle::{Config, FailurePersistence, Runner};

use crate::LIMIT;

/// How shuttle chooses the next thread.
#[derive(Clone, Copy)]
pub enum Order {
    Random,
    /// With depth 3.
    Pct,
    Urw,
}

/// Returns the number of schedules until the first failure or the limit, and whether there was one.
pub fn search(program: fn(), order: Order, seed: u64) -> (u64, bool) {
    // A failure leaves its mark in shuttle's variables of the thread.
    let search = thread::spawn(move || match order {
        Order::Random => run(program, RandomScheduler::new_from_seed(seed, usize::MAX)),
        Order::Pct => run(program, PctScheduler::new_from_seed(seed, 3, usize::MAX)),
        Order::Urw => run(program, UrwRandomScheduler::new_from_seed(seed, usize::MAX)),
    });
    search.join().expect("the search catches panics")
}

fn run(program: fn(), scheduler: impl Scheduler + 'static) -> (u64, bool) {
    let runs = Arc::new(AtomicU64::new(0));
    let counted = runs.clone();
    let mut config = Config::default();
    config.failure_persistence = FailurePersistence::None;
    config.silence_warnings = true;
    config.max_time = Some(LIMIT);
    let runner = Runner::new(scheduler, config);
    let result = catch_unwind(AssertUnwindSafe(|| {
        runner.run(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            program();
        })
    }));
    (runs.load(Ordering::Relaxed), result.is_err())
}
