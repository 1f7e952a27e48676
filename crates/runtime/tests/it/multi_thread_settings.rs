//! The effects of the builder's options on the workers of a multi-thread runtime.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_runtime::runtime::{Builder, Runtime};
use blitz_io_runtime::{task, time};
use blitz_io_sync::thread::Mutex;

const LONG: Duration = Duration::from_secs(900);

fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < end, "{what} takes too long");
        thread::sleep(Duration::from_millis(1));
    }
}

fn count(counter: &Arc<AtomicUsize>) -> impl Fn() + Send + Sync + 'static {
    let counter = counter.clone();
    move || {
        counter.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn hooks_come_in_pairs() {
    let [starts, stops, parks, unparks] = [(); 4].map(|()| Arc::new(AtomicUsize::new(0)));
    let runtime = Builder::new_multi_thread()
        .worker_threads(3)
        .on_thread_start(count(&starts))
        .on_thread_stop(count(&stops))
        .on_thread_park(count(&parks))
        .on_thread_unpark(count(&unparks))
        .build()
        .unwrap();
    let load = |counter: &Arc<AtomicUsize>| counter.load(Ordering::SeqCst);
    wait_for("sleep", || load(&starts) == 3 && load(&parks) >= 3);
    for _ in 0..10 {
        runtime.block_on(runtime.spawn(async {})).unwrap();
        thread::sleep(Duration::from_millis(2));
    }
    assert!(load(&unparks) > 0, "nobody was woken");
    drop(runtime);
    assert_eq!(load(&starts), 3);
    assert_eq!(load(&stops), 3);
    assert_eq!(load(&parks), load(&unparks));
}

#[test]
fn a_hook_may_spawn() {
    let runtime = Arc::new(Mutex::new(None::<blitz_io_runtime::runtime::Handle>));
    let (left, ran) = (
        Arc::new(AtomicUsize::new(50)),
        Arc::new(AtomicUsize::new(0)),
    );
    let hook = {
        let (runtime, left, ran) = (runtime.clone(), left.clone(), ran.clone());
        move || {
            let one_less = |left: usize| left.checked_sub(1);
            let handle = runtime.lock().clone();
            if let Some(handle) = handle {
                if left
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less)
                    .is_ok()
                {
                    let ran = ran.clone();
                    handle.spawn(async move { ran.fetch_add(1, Ordering::SeqCst) });
                }
            }
        }
    };
    let owner = Builder::new_multi_thread()
        .worker_threads(2)
        .on_thread_park(hook)
        .build()
        .unwrap();
    *runtime.lock() = Some(owner.handle().clone());
    owner.block_on(owner.spawn(async {})).unwrap();
    wait_for("spawning", || ran.load(Ordering::SeqCst) == 50);
    *runtime.lock() = None;
}

#[test]
fn without_the_slot_tasks_run_in_order() {
    for (disabled, expected) in [(false, [2, 0, 1]), (true, [0, 1, 2])] {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1);
        if disabled {
            builder.disable_lifo_slot();
        }
        let runtime = builder.build().unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let tasks = {
            let order = order.clone();
            runtime.spawn(async move {
                let tasks = [0, 1, 2].map(|i| {
                    let order = order.clone();
                    task::spawn(async move { order.lock().push(i) })
                });
                for task in tasks {
                    task.await.unwrap();
                }
            })
        };
        runtime.block_on(tasks).unwrap();
        assert_eq!(*order.lock(), expected);
    }
}

#[test]
fn intervals_of_one_are_heeded() {
    for (event, global) in [(1, 1), (1, 7), (7, 1), (1000, 1), (1, 1000)] {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .event_interval(event)
            .global_queue_interval(global)
            .enable_all()
            .build()
            .unwrap();
        let end = Arc::new(AtomicBool::new(false));
        let busy = {
            let end = end.clone();
            runtime.spawn(async move {
                while !end.load(Ordering::SeqCst) {
                    task::yield_now().await;
                }
            })
        };
        // Neither timers nor remote tasks wait for the busy task to end.
        runtime
            .block_on(runtime.spawn(async { time::sleep(Duration::from_millis(2)).await }))
            .unwrap();
        end.store(true, Ordering::SeqCst);
        runtime.block_on(busy).unwrap();
    }
}

#[test]
fn long_polls_do_not_keep_what_comes_from_outside_waiting() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let (end, polls) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let make = {
        let (end, polls) = (end.clone(), polls.clone());
        // They are in the worker's own queue.
        move || {
            let (end, polls) = (end.clone(), polls.clone());
            task::spawn(async move {
                while !end.load(Ordering::SeqCst) {
                    polls.fetch_add(1, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(5));
                    task::yield_now().await;
                }
            })
        }
    };
    let busy = runtime.spawn(async move { (0..100).map(|_| make()).collect::<Vec<_>>() });
    let busy = runtime.block_on(busy).unwrap();
    // The worker learns in the first sixty how long they take.
    while polls.load(Ordering::SeqCst) < 150 {
        thread::sleep(Duration::from_millis(5));
    }
    for _ in 0..3 {
        let task = runtime.spawn({
            let polls = polls.clone();
            async move { polls.load(Ordering::SeqCst) }
        });
        let before = polls.load(Ordering::SeqCst);
        let between = runtime.block_on(task).unwrap().saturating_sub(before);
        // Sixty, if the polls were short.
        assert!(between < 30, "after {between} polls");
    }
    end.store(true, Ordering::SeqCst);
    for task in busy {
        runtime.block_on(task).unwrap();
    }
}

fn runtime(workers: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn a_task_may_block_in_place_and_the_others_go_on() {
    for workers in [1, 2] {
        let runtime = runtime(workers);
        let sum = runtime.block_on(runtime.spawn(async {
            let mut sum = 0;
            for i in 0..20_u64 {
                let (sent, received) = mpsc::channel();
                // It waits in the slot of this very worker.
                let other = task::spawn(async move {
                    sent.send(i).unwrap();
                    task::yield_now().await;
                    i
                });
                sum += task::block_in_place(|| received.recv_timeout(LONG).unwrap());
                time::sleep(Duration::from_millis(i % 2)).await;
                sum += other.await.unwrap();
            }
            sum
        }));
        assert_eq!(sum.unwrap(), 2 * (0..20).sum::<u64>());
    }
}

#[test]
fn many_block_in_place_at_once() {
    let runtime = runtime(2);
    let tasks: Vec<_> = (0..50)
        .map(|i| {
            runtime.spawn(async move {
                for _ in 0..3 {
                    task::block_in_place(|| thread::sleep(Duration::from_millis(1)));
                    task::yield_now().await;
                }
                i
            })
        })
        .collect();
    let sum: i32 = tasks
        .into_iter()
        .map(|task| runtime.block_on(task).unwrap())
        .sum();
    assert_eq!(sum, (0..50).sum::<i32>());
}

#[test]
fn the_runtime_may_end_while_tasks_block_in_place() {
    for _ in 0..20 {
        let runtime = runtime(2);
        let count = Arc::new(AtomicUsize::new(0));
        for _ in 0..10 {
            let count = count.clone();
            runtime.spawn(async move {
                struct Bye(Arc<AtomicUsize>);
                impl Drop for Bye {
                    fn drop(&mut self) {
                        self.0.fetch_sub(1, Ordering::SeqCst);
                    }
                }
                count.fetch_add(1, Ordering::SeqCst);
                let _bye = Bye(count);
                task::block_in_place(|| thread::sleep(Duration::from_millis(2)));
                std::future::pending::<()>().await;
            });
        }
        thread::sleep(Duration::from_millis(1));
        drop(runtime);
        assert_eq!(count.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn workers_count_what_they_do() {
    const TASKS: usize = 1000;
    let runtime = runtime(2);
    runtime
        .block_on(runtime.spawn(async {
            let tasks: Vec<_> = (0..TASKS).map(|_| task::spawn(task::yield_now())).collect();
            for task in tasks {
                task.await.unwrap();
            }
        }))
        .unwrap();
    let metrics = runtime.metrics();
    let sum = |of: &dyn Fn(usize) -> u64| of(0) + of(1);
    assert!(sum(&|worker| metrics.worker_poll_count(worker)) > 2 * TASKS as u64);
    assert!(sum(&|worker| metrics.worker_local_schedule_count(worker)) >= TASKS as u64);
    assert!(metrics.remote_schedule_count() >= 1);
    assert_eq!(metrics.spawned_tasks_count(), TASKS as u64 + 1);
    wait_for("counting down", || metrics.num_alive_tasks() == 0);
    wait_for("sleep", || {
        (0..2).all(|worker| metrics.worker_park_unpark_count(worker) % 2 == 1)
    });
    for worker in 0..2 {
        assert_eq!(metrics.worker_local_queue_depth(worker), 0);
        assert!(metrics.worker_park_count(worker) > 0);
        assert!(metrics.worker_total_busy_duration(worker) > Duration::ZERO);
    }
    let threads: HashSet<_> = (0..2)
        .map(|worker| metrics.worker_thread_id(worker).unwrap())
        .collect();
    assert_eq!(threads.len(), 2);
}

/// The time was counted only when a worker parked.
#[test]
fn a_worker_that_never_parks_is_busy() {
    let runtime = runtime(1);
    let metrics = runtime.metrics();
    let task = runtime.spawn(async move {
        let before = metrics.worker_total_busy_duration(0);
        let parks = metrics.worker_park_count(0);
        let end = Instant::now() + LONG;
        while metrics.worker_total_busy_duration(0) == before && Instant::now() < end {
            task::yield_now().await;
        }
        // It did not park while this task was ready.
        assert_eq!(metrics.worker_park_count(0), parks);
        metrics.worker_total_busy_duration(0) - before
    });
    assert!(runtime.block_on(task).unwrap() > Duration::ZERO);
}

/// Workers that found nothing to do, or ended at once, were never busy.
#[test]
fn every_worker_was_busy_for_some_time_in_the_end() {
    let runtime = runtime(3);
    let metrics = runtime.metrics();
    drop(runtime);
    for worker in 0..3 {
        assert!(metrics.worker_total_busy_duration(worker) > Duration::ZERO);
    }
}
