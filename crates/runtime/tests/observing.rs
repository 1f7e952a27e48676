//! How often workers and the monitor run, and how late: that depends on the scheduler.
//! `.ci/observe` runs these tests.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_runtime::runtime::{Builder, Runtime};
use blitz_io_runtime::{task, time};
use blitz_io_testing::observe;

fn runtime(workers: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .unwrap()
}

/// The number of times that threads of this process have given up their processor
/// voluntarily.
#[cfg(target_os = "linux")]
fn voluntary_switches(thread: &str) -> u64 {
    let mut sum = 0;
    for entry in std::fs::read_dir("/proc/self/task").unwrap() {
        let path = entry.unwrap().path();
        let status = std::fs::read_to_string(path.join("status")).unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name));
            line.and_then(|line| line.split_ascii_whitespace().nth(1))
                .map(str::to_owned)
        };
        if field("Name:").as_deref() == Some(thread) {
            sum += field("voluntary_ctxt_switches:")
                .unwrap()
                .parse::<u64>()
                .unwrap();
        }
    }
    sum
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "observes the scheduler"]
fn yielding_never_enters_the_system() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("blitz-yields")
        .enable_all()
        .build()
        .unwrap();
    let switches = runtime.block_on(runtime.spawn(async {
        let before = voluntary_switches("blitz-yields");
        for _ in 0..1_000_000 {
            task::yield_now().await;
        }
        voluntary_switches("blitz-yields") - before
    }));
    // `read_dir` and its like may wait for a lock of the system's.
    observe("switches in a million yields", switches.unwrap(), 3);
}

/// It looked every four milliseconds for ever.
#[test]
#[ignore = "observes the scheduler"]
fn the_monitor_of_a_blocked_worker_looks_ever_more_rarely() {
    let runtime = runtime(3);
    let metrics = runtime.metrics();
    let parks = || (0..3).map(|i| metrics.worker_park_count(i)).sum::<u64>();
    let (begun, has_begun) = mpsc::channel();
    let task = runtime.spawn(async move {
        begun.send(()).unwrap();
        thread::sleep(Duration::from_millis(1500));
    });
    has_begun.recv().unwrap();
    let before = parks();
    runtime.block_on(task).unwrap();
    let looks = parks() - before;
    observe("looks of the monitor in 1.5 s", looks, 60);
}

/// The timer of a blocked worker does not wait until the monitor's next regular check.
#[test]
#[ignore = "observes the scheduler"]
fn a_monitor_that_looks_rarely_sees_the_timers_of_a_blocked_worker() {
    let runtime = runtime(2);
    // Without a wake-up the monitor checks after 1, 3, 7, ... 255, 511 ms.
    let wait = || {
        let task = runtime.spawn(async {
            let begin = Instant::now();
            let timer = task::spawn(async move {
                time::sleep(Duration::from_millis(280)).await;
                begin.elapsed()
            });
            // The timer starts on this thread.
            task::yield_now().await;
            thread::sleep(Duration::from_millis(600));
            [timer]
        });
        let [timer] = runtime.block_on(task).unwrap();
        runtime.block_on(timer).unwrap()
    };
    observe("ms until a timer after 280 ms", wait().as_millis(), 400);
}
