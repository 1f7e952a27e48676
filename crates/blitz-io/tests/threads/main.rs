//! Simulations with real threads: `threads = "all"`.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use blitz_io::sim::{Builder, Schedule};
use blitz_io::sync::{mpmc, mpsc};
use blitz_io::{pool, runtime, task, time};

#[blitz_io::sim(threads = "all", seeds = 30)]
async fn tasks_on_several_workers_pass() {
    let (sender, mut receiver) = mpsc::channel(1);
    let tasks = [0; 2].map(|_| {
        let sender = sender.clone();
        task::spawn(async move { sender.send(thread::current().id()).await })
    });
    drop(sender);
    let mut count = 0;
    while receiver.recv().await.is_some() {
        count += 1;
    }
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(count, 2);
}

mod inner {
    /// The body runs in another process, so it sees nothing of this one. And an hour takes no time.
    #[blitz_io::sim(threads = "all", seeds = 5, schedule = "pos")]
    async fn time_is_simulated() -> Result<(), String> {
        super::time::sleep(super::Duration::from_secs(3_600)).await;
        Ok(())
    }
}

/// Two workers at once: on one thread, the second task would begin when the first one has ended.
async fn loses_an_update() {
    let count = Arc::new(AtomicU32::new(0));
    let tasks = [0; 2].map(|_| {
        let count = count.clone();
        task::spawn(async move {
            let before = count.load(Ordering::Relaxed);
            // A call.
            thread::yield_now();
            count.store(before + 1, Ordering::Relaxed);
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(count.load(Ordering::Relaxed), 2);
}

#[blitz_io::sim(seeds = 200)]
async fn one_thread_loses_no_update() {
    loses_an_update().await;
}

#[blitz_io::sim(threads = "all")]
#[should_panic(expected = "to replay: BLITZ_SIM_SEED=")]
async fn two_workers_lose_an_update() {
    loses_an_update().await;
}

#[blitz_io::sim(threads = "all")]
#[should_panic(expected = "deadlock, in run")]
async fn two_locks_in_two_orders_are_a_deadlock() {
    let locks = Arc::new((Mutex::new(()), Mutex::new(())));
    let both = Arc::new(Barrier::new(2));
    let jobs = [false, true].map(|swaps| {
        let (locks, both) = (locks.clone(), both.clone());
        task::spawn_blocking(move || {
            let (one, other) = if swaps {
                (&locks.1, &locks.0)
            } else {
                (&locks.0, &locks.1)
            };
            let _one = one.lock().unwrap();
            both.wait();
            let _other = other.lock().unwrap();
        })
    });
    for job in jobs {
        job.await.unwrap();
    }
}

#[blitz_io::sim(threads = "all", seeds = 3)]
#[should_panic(expected = "the test returned an error: on purpose")]
async fn an_error_of_the_test_is_in_the_report() -> Result<(), &'static str> {
    Err("on purpose")
}

#[test]
#[should_panic(expected = "has no test of this name")]
fn a_wrong_name_is_no_success() {
    Builder::new().run_threads("no_such_test", || async {});
}

#[test]
fn an_exhaustive_search_says_that_it_is_complete() {
    let report = Builder::new()
        .schedule(Schedule::Exhaustive {
            preemptions: Some(0),
        })
        .seeds(u64::MAX)
        .run_threads("an_exhaustive_search_says_that_it_is_complete", || async {});
    assert!(report.is_complete() && report.steps() > 0);
}

#[blitz_io::sim(threads = "all", seeds = 1)]
#[should_panic(expected = "1 thread is left at the end: thread ")]
async fn a_thread_that_waits_for_ever_is_left() {
    thread::spawn(thread::park);
}

/// Its sleep ends an hour later, which no test waits for.
async fn leaves_a_thread_that_sleeps() {
    let threads = thread::Builder::new().name("poller".into());
    let sleeps = || thread::sleep(Duration::from_secs(3_600));
    drop(threads.spawn(sleeps).unwrap());
}

#[test]
fn a_thread_that_is_left_has_its_name_and_its_line() {
    let name = "a_thread_that_is_left_has_its_name_and_its_line";
    // The seed takes the processor away between two instructions, too.
    let builder = Builder::new().seed(1).seeds(1);
    let run = || builder.run_threads(name, leaves_a_thread_that_sleeps);
    let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    let text = panic.downcast::<String>().unwrap();
    let (_, left) = text.split_once("1 thread is left at the end: ").unwrap();
    let (_, place) = left.split_once(" \"poller\", started at ").expect(&text);
    assert!(place.starts_with("tests/threads/main.rs:"), "{text}");
    let waits = "left at the end of the test:\nthread ";
    assert!(
        text.contains(waits) && text.contains("\"poller\" sleeps for "),
        "{text}"
    );
}

#[blitz_io::sim(threads = "all", seeds = 3, allow_leaks = true)]
async fn a_thread_may_be_left() {
    leaves_a_thread_that_sleeps().await;
}

/// It has something to do when the test has ended.
#[blitz_io::sim(threads = "all", seeds = 8)]
async fn a_thread_that_ends_by_itself_is_not_left() {
    let (sender, receiver) = channel::<()>();
    thread::spawn(move || {
        receiver.recv().unwrap_err();
        for _ in 0..10 {
            thread::yield_now();
        }
    });
    drop(sender);
}

#[blitz_io::sim(threads = "all", seeds = 3)]
async fn a_thread_that_is_joined_is_not_left() {
    let sleeps = thread::spawn(|| thread::sleep(Duration::from_secs(3_600)));
    task::spawn_blocking(|| sleeps.join().unwrap())
        .await
        .unwrap();
}

/// A job that is still running when its runtime's end does not wait for it.
#[blitz_io::sim(threads = "all", seeds = 1)]
#[should_panic(expected = "2 threads are left at the end: thread ")]
async fn threads_of_a_runtime_are_left() {
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    runtime.spawn_blocking(|| thread::sleep(Duration::from_secs(3_600)));
    std::mem::forget(runtime);
}

/// The threads of the global pool, and the thread that sends ticks.
#[blitz_io::sim(threads = "all", seeds = 3)]
async fn threads_that_serve_the_process_are_not_left() {
    assert_eq!(pool::join(|| 1, || 2), (1, 2));
    let ticks = mpmc::tick(Duration::from_secs(1));
    ticks.recv().await.unwrap();
}
