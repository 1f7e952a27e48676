//! The runtime: workers that take, park, steal and wake; its blocking pool; its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use blitz_io::runtime::{Builder, Runtime};
use blitz_io::sync::{Mutex, Notify, Semaphore, mpsc};
use blitz_io::task::{self, JoinSet};
use blitz_io::time;

fn runtime(workers: usize) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(workers).enable_time();
    builder.build().unwrap()
}

#[test]
fn each_task_runs_to_its_end() {
    let ran = Arc::new(AtomicUsize::new(0));
    runtime(3).block_on(async {
        let mut tasks = JoinSet::new();
        for _ in 0..4 {
            let ran = ran.clone();
            tasks.spawn(async move {
                task::yield_now().await;
                ran.fetch_add(1, Ordering::SeqCst);
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended.unwrap();
        }
    });
    assert_eq!(ran.load(Ordering::SeqCst), 4);
}

#[test]
fn tasks_wake_each_other_across_workers() {
    runtime(2).block_on(async {
        let (sender, mut receiver) = mpsc::channel(1);
        let (back, mut answers) = mpsc::channel(1);
        let echo = task::spawn(async move {
            while let Some(value) = receiver.recv().await {
                back.send(value).await.unwrap();
            }
        });
        for value in 0..2 {
            sender.send(value).await.unwrap();
            assert_eq!(answers.recv().await, Some(value));
        }
        drop(sender);
        echo.await.unwrap();
    });
}

#[test]
fn an_aborted_task_ends_once() {
    runtime(2).block_on(async {
        let notify = Arc::new(Notify::new());
        let waits = {
            let notify = notify.clone();
            task::spawn(async move { notify.notified().await })
        };
        let other = task::spawn(async move { notify.notify_one() });
        waits.abort();
        let ended = waits.await;
        assert!(ended.is_ok() || ended.unwrap_err().is_cancelled());
        other.await.unwrap();
    });
}

#[test]
fn locks_of_tasks_pass_from_one_to_the_next() {
    runtime(2).block_on(async {
        let shared = Arc::new((Mutex::new(0), Semaphore::new(1)));
        let mut tasks = JoinSet::new();
        for _ in 0..3 {
            let shared = shared.clone();
            tasks.spawn(async move {
                let _permit = shared.1.acquire().await.unwrap();
                let mut count = shared.0.lock().await;
                task::yield_now().await;
                *count += 1;
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended.unwrap();
        }
        assert_eq!(*shared.0.lock().await, 3);
    });
}

#[test]
fn blocking_jobs_end_and_timers_fire() {
    runtime(2).block_on(async {
        let jobs: Vec<_> = (0..3).map(|n| task::spawn_blocking(move || n)).collect();
        let nap = task::spawn(time::sleep(Duration::from_millis(1)));
        let mut sum = 0;
        for job in jobs {
            sum += job.await.unwrap();
        }
        nap.await.unwrap();
        assert_eq!(sum, 3);
    });
}

#[test]
fn a_shutdown_drops_each_task_once() {
    struct Counts(Arc<AtomicUsize>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let runtime = runtime(2);
    for _ in 0..3 {
        let counts = Counts(dropped.clone());
        drop(runtime.spawn(async move {
            let _counts = counts;
            task::yield_now().await;
            std::future::pending::<()>().await;
        }));
    }
    drop(runtime);
    assert_eq!(dropped.load(Ordering::SeqCst), 3);
}
