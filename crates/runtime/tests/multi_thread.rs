//! The multi-thread scheduler: running, starving and sleeping.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Barrier};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use blitz_io_runtime::runtime::{Builder, Runtime};
use blitz_io_runtime::{task, time};
use blitz_io_sync::task::Notify;

/// Long enough for anything that is not stuck.
const LONG: Duration = Duration::from_secs(900);

fn runtime(workers: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .build()
        .unwrap()
}

/// Waits for something that other threads bring about.
fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < end, "{what} takes too long");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_spawned_task_gives_its_output() {
    for workers in [1, 2, 4, 16] {
        let runtime = runtime(workers);
        let sum = runtime.block_on(async {
            let tasks = (0..100_u64).map(|i| task::spawn(async move { i * i }));
            let mut sum = 0;
            for task in tasks.collect::<Vec<_>>() {
                sum += task.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, (0..100).map(|i| i * i).sum::<u64>());
    }
}

#[test]
fn more_tasks_than_a_queue_holds() {
    for workers in [1, 3] {
        let runtime = runtime(workers);
        let sum = runtime.block_on(runtime.spawn(async {
            let tasks: Vec<_> = (0..10_000_u64)
                .map(|i| task::spawn(async move { i }))
                .collect();
            let mut sum = 0;
            for task in tasks {
                sum += task.await.unwrap();
            }
            sum
        }));
        assert_eq!(sum.unwrap(), (0..10_000).sum::<u64>());
        let overflows: u64 = (0..workers)
            .map(|worker| runtime.metrics().worker_overflow_count(worker))
            .sum();
        // Others may take the tasks as fast as they come.
        assert!(overflows > 0 || workers > 1);
    }
}

/// The inject queue is locked now and then, not for each task, though the worker has some
/// in hand, whose places in its queue are not free.
#[test]
fn a_full_queue_gives_many_away_at_once() {
    const SPAWNED: u64 = 10_000;
    let runtime = runtime(1);
    let overflows = || runtime.metrics().worker_overflow_count(0);
    let made = runtime.block_on(runtime.spawn(async move {
        let restless: Vec<_> = (0..200)
            .map(|_| {
                task::spawn(async {
                    for _ in 0..100 {
                        task::yield_now().await;
                    }
                })
            })
            .collect();
        // The others are polled one after the other: short polls, of which many are
        // claimed.
        for _ in 0..50 {
            task::yield_now().await;
        }
        let tasks: Vec<_> = (0..SPAWNED)
            .map(|i| task::spawn(async move { i }))
            .collect();
        let mut sum = 0;
        for task in tasks {
            sum += task.await.unwrap();
        }
        for task in restless {
            task.await.unwrap();
        }
        sum
    }));
    assert_eq!(made.unwrap(), (0..SPAWNED).sum::<u64>());
    assert!(
        overflows() > 0 && overflows() < SPAWNED / 50,
        "{}",
        overflows()
    );
}

#[test]
fn two_tasks_that_wake_each_other_do_not_starve_a_third() {
    let runtime = runtime(1);
    let (sent, received) = mpsc::channel();
    let end = Arc::new(AtomicBool::new(false));
    let bells = Arc::new([Notify::new(), Notify::new()]);
    for i in 0..2 {
        let (bells, end) = (bells.clone(), end.clone());
        runtime.spawn(async move {
            while !end.load(Ordering::Relaxed) {
                bells[1 - i].notify_one();
                bells[i].notified().await;
            }
            bells[1 - i].notify_one();
        });
    }
    runtime.spawn(async move {
        for _ in 0..100 {
            task::yield_now().await;
        }
        sent.send(()).unwrap();
    });
    received.recv_timeout(LONG).unwrap();
    end.store(true, Ordering::Relaxed);
}

#[test]
fn tasks_that_spawn_on_and_on_do_not_starve_what_comes_from_outside() {
    fn again(count: Arc<AtomicU64>, end: Arc<AtomicBool>) {
        if !end.load(Ordering::Relaxed) {
            count.fetch_add(1, Ordering::Relaxed);
            task::spawn(async move { again(count, end) });
        }
    }
    let runtime = runtime(1);
    let (count, end) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    for _ in 0..3 {
        let (count, end) = (count.clone(), end.clone());
        runtime.spawn(async move { again(count, end) });
    }
    for _ in 0..100 {
        let (sent, received) = mpsc::channel();
        runtime.spawn(async move { sent.send(()).unwrap() });
        received.recv_timeout(LONG).unwrap();
    }
    end.store(true, Ordering::Relaxed);
    assert!(count.load(Ordering::Relaxed) > 0);
}

#[test]
fn a_task_that_yields_lets_those_from_outside_run() {
    let runtime = runtime(1);
    let flag = Arc::new(AtomicBool::new(false));
    let waits = {
        let flag = flag.clone();
        runtime.spawn(async move {
            while !flag.load(Ordering::Relaxed) {
                task::yield_now().await;
            }
        })
    };
    std::thread::sleep(Duration::from_millis(5));
    runtime.spawn(async move { flag.store(true, Ordering::Relaxed) });
    runtime.block_on(waits).unwrap();
}

#[test]
fn a_worker_that_blocks_strands_nobody() {
    for workers in [2, 4] {
        let runtime = runtime(workers);
        for _ in 0..3 {
            let (sent, received) = mpsc::channel();
            // Nothing but the worker's own queues has the three tasks, one of them in the
            // slot, and their maker does not let go of the thread before they have run.
            let maker = runtime.spawn(async move {
                for i in 0..3 {
                    let sent = sent.clone();
                    task::spawn(async move { sent.send(i).unwrap() });
                }
                let mut got: Vec<i32> = (0..3)
                    .map(|_| received.recv_timeout(LONG).unwrap())
                    .collect();
                got.sort_unstable();
                got
            });
            assert_eq!(runtime.block_on(maker).unwrap(), [0, 1, 2]);
        }
    }
}

#[test]
fn blocked_workers_leave_the_rest_to_the_last() {
    const WORKERS: usize = 4;
    let runtime = runtime(WORKERS);
    let (blocked, go_on) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let blockers: Vec<_> = (0..WORKERS - 1)
        .map(|_| {
            let (blocked, go_on) = (blocked.clone(), go_on.clone());
            runtime.spawn(async move {
                blocked.fetch_add(1, Ordering::SeqCst);
                wait_for("the end", || go_on.load(Ordering::SeqCst));
            })
        })
        .collect();
    wait_for("blocking", || blocked.load(Ordering::SeqCst) == WORKERS - 1);
    for _ in 0..100 {
        let (sent, received) = mpsc::channel();
        runtime.spawn(async move { sent.send(()).unwrap() });
        received.recv_timeout(LONG).unwrap();
    }
    go_on.store(true, Ordering::SeqCst);
    for blocker in blockers {
        runtime.block_on(blocker).unwrap();
    }
}

/// Tasks that yield all the time, until one that runs in their midst stops its thread in
/// this way. It resumes when all the others have ended.
fn stop_beside_many(stop: fn(mpsc::Receiver<()>)) {
    const MANY: usize = 200;
    let runtime = runtime(2);
    for round in 0..5 {
        let ended = Arc::new(AtomicUsize::new(0));
        let (go_on, told) = mpsc::channel();
        let mut told = Some(told);
        let begin = runtime.spawn({
            let ended = ended.clone();
            async move {
                // Long enough for the workers to find out that polls are short.
                let many = (0..MANY).map(|number| {
                    let ended = ended.clone();
                    let told = (number == MANY / 2).then(|| told.take().unwrap());
                    task::spawn(async move {
                        for _ in 0..500 + round {
                            task::yield_now().await;
                        }
                        told.map(stop);
                        for _ in 0..500 {
                            task::yield_now().await;
                        }
                        ended.fetch_add(1, Ordering::SeqCst);
                    })
                });
                many.collect::<Vec<_>>()
            }
        });
        let many = runtime.block_on(begin).unwrap();
        wait_for("what the stopped one had in hand", || {
            ended.load(Ordering::SeqCst) >= MANY - 1
        });
        go_on.send(()).unwrap();
        for task in many {
            runtime.block_on(task).unwrap();
        }
    }
}

#[test]
fn what_a_blocked_worker_has_claimed_is_run_by_others() {
    stop_beside_many(|told| told.recv_timeout(LONG).unwrap());
}

#[test]
fn what_a_worker_has_claimed_goes_with_its_core() {
    stop_beside_many(|told| task::block_in_place(|| told.recv_timeout(LONG).unwrap()));
}

#[test]
fn timers_of_a_blocked_worker_fire() {
    for workers in [2, 4] {
        let runtime = Builder::new_multi_thread()
            .worker_threads(workers)
            .enable_all()
            .build()
            .unwrap();
        let (sent, received) = mpsc::channel();
        let blocks = runtime.spawn(async move {
            for _ in 0..8 {
                let sent = sent.clone();
                task::spawn(async move {
                    time::sleep(Duration::from_millis(20)).await;
                    sent.send(()).unwrap();
                });
            }
            task::yield_now().await;
            (0..8).for_each(|_| received.recv_timeout(LONG).unwrap());
        });
        runtime.block_on(blocks).unwrap();
    }
}

#[test]
fn workers_sleep_when_there_is_nothing_to_do() {
    let runtime = runtime(4);
    runtime.block_on(runtime.spawn(async {})).unwrap();
    let metrics = runtime.metrics();
    let parks = || -> Vec<u64> {
        (0..4)
            .map(|worker| metrics.worker_park_unpark_count(worker))
            .collect()
    };
    // The monitor checks a last time, and then all threads sleep. It never dozes for so
    // long.
    wait_for("sleep", || {
        let before = parks();
        std::thread::sleep(Duration::from_millis(600));
        before == parks() && before.iter().all(|parks| parks % 2 == 1)
    });
}

#[test]
fn many_threads_spawn_and_wake_with_more_workers_than_processors() {
    const THREADS: u64 = 4;
    const TASKS: u64 = 500;
    let runtime = runtime(8);
    let sum = Arc::new(AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (runtime, sum) = (&runtime, sum.clone());
            scope.spawn(move || {
                let tasks: Vec<_> = (0..TASKS)
                    .map(|i| {
                        let sum = sum.clone();
                        runtime.spawn(async move {
                            let inner = task::spawn(async move {
                                task::yield_now().await;
                                thread * TASKS + i
                            });
                            task::yield_now().await;
                            sum.fetch_add(inner.await.unwrap(), Ordering::Relaxed);
                        })
                    })
                    .collect();
                for task in tasks {
                    runtime.block_on(task).unwrap();
                }
            });
        }
    });
    assert_eq!(
        sum.load(Ordering::Relaxed),
        (0..THREADS * TASKS).sum::<u64>()
    );
}

#[test]
fn rings_of_tasks_pass_a_token_round() {
    const RINGS: usize = 8;
    const LENGTH: usize = 16;
    const ROUNDS: usize = 200;
    let runtime = runtime(4);
    let passes = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..RINGS)
        .flat_map(|_| {
            let bells: Arc<Vec<Notify>> = Arc::new((0..LENGTH).map(|_| Notify::new()).collect());
            bells[0].notify_one();
            (0..LENGTH).map(move |i| (bells.clone(), i))
        })
        .map(|(bells, i)| {
            let passes = passes.clone();
            runtime.spawn(async move {
                for _ in 0..ROUNDS {
                    bells[i].notified().await;
                    passes.fetch_add(1, Ordering::Relaxed);
                    bells[(i + 1) % LENGTH].notify_one();
                }
            })
        })
        .collect();
    runtime.block_on(async {
        for task in tasks {
            task.await.unwrap();
        }
    });
    assert_eq!(passes.load(Ordering::Relaxed), RINGS * LENGTH * ROUNDS);
}

#[test]
fn others_in_the_process_know_how_many_workers_are_awake() {
    use blitz_io_core::awake::awake;

    let (runtime, stop) = (runtime(3), Arc::new(AtomicBool::new(false)));
    // More than this test's own workers may be awake, since other tests run at the same
    // time.
    for _ in 0..3 {
        let stop = stop.clone();
        runtime.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        });
    }
    wait_for("a worker that is awake", || awake() >= 1);
    stop.store(true, Ordering::Relaxed);
    let handle = runtime.handle().clone();
    drop(runtime);
    // The count does not read a runtime that has ended, with a handle or without.
    awake();
    drop(handle);
    awake();
}

/// Keeps both workers busy until each runs one of two tasks. The task on thread `last`
/// stays busy for a while, so that its worker falls asleep after the other.
fn occupy_both_workers(last: ThreadId) {
    let together = Arc::new(Barrier::new(2));
    let (end, ended) = mpsc::channel();
    for _ in 0..2 {
        let (together, end) = (together.clone(), end.clone());
        drop(task::spawn(async move {
            together.wait();
            if last == std::thread::current().id() {
                std::thread::sleep(Duration::from_millis(100));
            }
            end.send(()).unwrap();
        }));
    }
    for _ in 0..2 {
        ended.recv_timeout(LONG).unwrap();
    }
}

/// Spawns a task and blocks the thread until the other worker has run it.
fn run_on_other_worker<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    let (result, results) = mpsc::channel();
    drop(task::spawn(async move { result.send(f()) }));
    results
        .recv_timeout(LONG)
        .expect("nobody saw that this worker is stalled")
}

/// A source of events calls a monitor: here the worker whose core the thread has given away,
/// if that one fell asleep first. (In another order this shows nothing.)
#[test]
fn a_thread_without_its_core_calls_the_worker_that_it_was() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let first = runtime.spawn(async {
        let other = run_on_other_worker(|| std::thread::current().id());
        let stalled = task::block_in_place(|| {
            occupy_both_workers(other);
            // Until both sleep, and none is the monitor.
            std::thread::sleep(Duration::from_millis(300));
            drop(blitz_io_runtime::internals::own_driver());
            task::spawn(async { run_on_other_worker(|| ()) })
        });
        stalled.await
    });
    runtime.block_on(first).unwrap().unwrap();
}
