//! A pool in a process whose runtime is busy: it uses the processors that are left.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread::{self, available_parallelism};
use std::time::{Duration, Instant};

use blitz_io::runtime::Builder;
use blitz_io_pool::ThreadPool;

use crate::join::pool;

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
fn a_loop_beside_a_busy_runtime_gets_more_threads_only_if_it_takes_long() {
    let processors = available_parallelism().unwrap().get();
    let pool = pool(processors + 1);
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
    // A worker that was late for one loop may come to the next at once.
    let mut times: Vec<Duration> = (0..50).map(|_| alone(&pool)).collect();
    times.sort_unstable();
    assert!(
        times[20] >= Duration::from_millis(1),
        "a second thread came after {times:?}"
    );
    drop(ends);
    drop(runtime);
    // They start at once when the processors are free, if this process gets one in that
    // time.
    let end = Instant::now() + Duration::from_secs(60);
    while processors > 1 && alone(&pool) >= Duration::from_millis(1) {
        assert!(Instant::now() < end, "nobody helps, though all are free");
    }
}
