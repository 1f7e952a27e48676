//! A pool in a process whose runtime is busy uses the processors that are left: how soon, depends
//! on the scheduler. `.ci/observe` runs this test.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread::{self, available_parallelism};
use std::time::{Duration, Instant};

use blitz_io::runtime::Builder;
use blitz_io_pool::{ThreadPool, ThreadPoolBuilder};

use blitz_io_testing::observe;

/// Runs a loop of two items that needs two threads. Returns how long it had only one.
fn alone(pool: &ThreadPool) -> Duration {
    let begin = Instant::now();
    let both = AtomicBool::new(false);
    let second = AtomicBool::new(false);
    pool.for_each(0..2, 1, |_| {
        if both.swap(true, Ordering::Relaxed) {
            second.store(true, Ordering::Relaxed);
        }
        while !second.load(Ordering::Relaxed) {
            thread::yield_now();
        }
    });
    begin.elapsed()
}

#[test]
#[ignore = "observes the scheduler"]
fn a_loop_beside_a_busy_runtime_gets_more_threads_only_if_it_takes_long() {
    let processors = available_parallelism().unwrap().get();
    let pool = ThreadPoolBuilder::new()
        .num_threads(processors + 1)
        .build()
        .unwrap();
    let runtime = Builder::new_multi_thread()
        .worker_threads(processors)
        .build()
        .unwrap();
    let busy = Arc::new(Barrier::new(processors + 1));
    let mut ends = vec![];
    for _ in 0..processors {
        let (end, ended) = mpsc::channel::<()>();
        let busy = busy.clone();
        ends.push(end);
        drop(runtime.spawn(async move {
            busy.wait();
            // It occupies its worker, but no processor, so pool workers could start at
            // once.
            _ = ended.recv();
        }));
    }
    busy.wait();
    let mut times: Vec<Duration> = (0..50).map(|_| alone(&pool)).collect();
    let at_once = times
        .iter()
        .filter(|time| **time < Duration::from_millis(1));
    // A worker that was late for one loop may come to the next at once.
    observe(
        "of 50 loops: helped at once beside a busy runtime",
        at_once.count(),
        20,
    );
    drop(ends);
    drop(runtime);
    if processors > 1 {
        times = (0..50).map(|_| alone(&pool)).collect();
        times.sort_unstable();
        observe(
            "us until a free processor helps",
            times[25].as_micros(),
            1000,
        );
    }
}
