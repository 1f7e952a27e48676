//! Simulations with real threads: `threads = "all"`.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use blitz_io::sim::{Builder, Schedule};
use blitz_io::sync::mpsc;
use blitz_io::{task, time};

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
#[should_panic(expected = "the test returned an error: \"on purpose\"")]
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
