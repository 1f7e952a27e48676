//! Blocking work and local tasks with many threads, and their costs.

use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use blitz_io_runtime::runtime::{Builder, LocalRuntime, Runtime, worker_index};
use blitz_io_runtime::task::{self, JoinHandle, LocalSet};
use tokio::sync::oneshot;

const LONG: Duration = Duration::from_secs(900);

/// Fails the test instead of hanging it.
fn within_time<R: Send + 'static>(run: impl FnOnce() -> R + Send + 'static) -> R {
    let end = Arc::new((Mutex::new(None), Condvar::new()));
    let theirs = end.clone();
    let thread = thread::spawn(move || {
        let result = run();
        *theirs.0.lock().unwrap() = Some(result);
        theirs.1.notify_one();
    });
    let result = end.0.lock().unwrap();
    let waits = |result: &mut Option<R>| result.is_none() && !thread.is_finished();
    let slice = Duration::from_millis(50);
    let (mut result, began) = (result, Instant::now());
    while waits(&mut result) {
        assert!(began.elapsed() < LONG, "it hangs");
        result = end.1.wait_timeout(result, slice).unwrap().0;
    }
    let result = result.take();
    thread.join().unwrap();
    result.unwrap()
}

fn pool(threads: usize, keep_alive: Duration) -> Runtime {
    Builder::new_current_thread()
        .max_blocking_threads(threads)
        .thread_keep_alive(keep_alive)
        .build()
        .unwrap()
}

/// Threads end and start all the time, while jobs come from everywhere.
#[test]
fn no_job_is_lost_while_threads_come_and_go() {
    for threads in [1, 2, 5] {
        let sum = within_time(move || {
            let runtime = pool(threads, Duration::from_micros(50));
            let sum = Arc::new(AtomicUsize::new(0));
            thread::scope(|scope| {
                for submitter in 0..4 {
                    let (handle, sum) = (runtime.handle().clone(), sum.clone());
                    scope.spawn(move || {
                        let submit = |job| {
                            let sum = sum.clone();
                            let job = handle.spawn_blocking(move || sum.fetch_add(job, SeqCst));
                            thread::sleep(Duration::from_micros(30));
                            job
                        };
                        for burst in 0..60 {
                            let jobs: Vec<_> = (0..1 + (burst + submitter) % 8)
                                .map(|_| submit(1))
                                .collect();
                            for job in jobs {
                                pollster::block_on(job).unwrap();
                            }
                        }
                    });
                }
            });
            drop(runtime);
            sum.load(SeqCst)
        });
        let bursts =
            (0..4).flat_map(|submitter| (0..60).map(move |burst| 1 + (burst + submitter) % 8));
        assert_eq!(sum, bursts.sum::<usize>());
    }
}

/// Jobs that are accepted run or are cancelled, however the runtime ends.
#[test]
fn each_job_ends_once_when_the_runtime_ends() {
    for round in 0..60 {
        within_time(move || {
            let runtime = pool(1 + round % 3, LONG);
            let (ran, start) = (Arc::new(AtomicUsize::new(0)), Barrier::new(3));
            let drops = blitz_io_testing::Drops::new();
            let handle = runtime.handle().clone();
            let jobs: Vec<JoinHandle<()>> = thread::scope(|scope| {
                let submit = || {
                    start.wait();
                    let job = |_| {
                        let (ran, counted) = (ran.clone(), drops.counted(()));
                        handle.spawn_blocking(move || {
                            let _counted = counted;
                            ran.fetch_add(1, SeqCst);
                        })
                    };
                    (0..20).map(job).collect::<Vec<_>>()
                };
                let submitters = [scope.spawn(submit), scope.spawn(submit)];
                start.wait();
                match round % 2 {
                    0 => drop(runtime),
                    _ => runtime.shutdown_background(),
                }
                submitters
                    .into_iter()
                    .flat_map(|submitter| submitter.join().unwrap())
                    .collect()
            });
            let done = jobs.into_iter().map(pollster::block_on);
            let (ok, failed): (Vec<_>, Vec<_>) = done.partition(Result::is_ok);
            assert_eq!((ok.len() + failed.len(), drops.count()), (40, 40));
            assert_eq!(ok.len(), ran.load(SeqCst));
            assert!(
                failed
                    .iter()
                    .all(|job| job.as_ref().unwrap_err().is_cancelled())
            );
        });
    }
}

/// A thread whose first hook panics leaves; the next job gets another one.
#[test]
fn a_hook_that_panics_costs_its_thread_only() {
    within_time(|| {
        let failed = AtomicBool::new(false);
        let runtime = Builder::new_current_thread()
            .on_thread_start(move || {
                assert!(failed.swap(true, SeqCst), "the first thread's hook");
            })
            .build()
            .unwrap();
        let first = runtime.spawn_blocking(|| 1);
        while runtime.metrics().num_blocking_threads() != 0 {
            thread::yield_now();
        }
        assert_eq!(runtime.metrics().blocking_queue_depth(), 1);
        let second = runtime.spawn_blocking(|| 2);
        let both = runtime.block_on(async { first.await.unwrap() + second.await.unwrap() });
        assert_eq!(both, 3);
    });
}

#[test]
fn the_numbers_are_right() {
    within_time(|| {
        let runtime = pool(2, LONG);
        let metrics = runtime.metrics();
        let numbers = || {
            let threads = metrics.num_blocking_threads();
            (
                threads,
                metrics.num_idle_blocking_threads(),
                metrics.blocking_queue_depth(),
            )
        };
        assert_eq!(numbers(), (0, 0, 0));
        let gate = Arc::new(Barrier::new(3));
        let job = |_| {
            let gate = gate.clone();
            runtime.spawn_blocking(move || {
                gate.wait();
            })
        };
        let first: Vec<_> = (0..2).map(job).collect();
        let rest: Vec<_> = (0..4).map(|_| runtime.spawn_blocking(|| ())).collect();
        while numbers() != (2, 0, 4) {
            thread::yield_now();
        }
        gate.wait();
        first
            .into_iter()
            .for_each(|job| pollster::block_on(job).unwrap());
        rest.into_iter()
            .for_each(|job| pollster::block_on(job).unwrap());
        while numbers() != (2, 2, 0) {
            thread::yield_now();
        }
    });
}

/// A worker counts for nothing, blocking or not.
#[test]
fn workers_are_no_blocking_threads() {
    within_time(|| {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(2).build().unwrap();
        let metrics = runtime.metrics();
        assert_eq!(pollster::block_on(runtime.spawn_blocking(|| 1)).unwrap(), 1);
        assert_eq!(metrics.num_blocking_threads(), 1);
    });
}

/// All workers block at the same time, again and again, with much to do.
#[test]
fn blocking_in_place_everywhere() {
    for workers in [1, 2, 4] {
        let sum = within_time(move || {
            let mut builder = Builder::new_multi_thread();
            let runtime = builder.worker_threads(workers).build().unwrap();
            let tasks: Vec<_> = (0..64)
                .map(|number| {
                    runtime.spawn(async move {
                        let mut sum = 0;
                        for _ in 0..10 {
                            let inner = task::spawn(async move { number });
                            sum += task::block_in_place(|| pollster::block_on(inner).unwrap());
                            task::yield_now().await;
                        }
                        sum
                    })
                })
                .collect();
            tasks
                .into_iter()
                .map(|task| pollster::block_on(task).unwrap())
                .sum::<u64>()
        });
        assert_eq!(sum, (0..64).sum::<u64>() * 10);
    }
}

/// Fails unless it is dropped on the thread that made it.
struct StaysHere(ThreadId, Rc<Cell<usize>>);

impl StaysHere {
    fn new(drops: &Rc<Cell<usize>>) -> Self {
        Self(thread::current().id(), drops.clone())
    }
}

impl Drop for StaysHere {
    fn drop(&mut self) {
        assert_eq!(self.0, thread::current().id());
        self.1.set(self.1.get() + 1);
    }
}

/// A thread that gives its worker away keeps the number. (The second worker once said 0.)
#[test]
fn a_task_that_blocks_in_place_keeps_its_workers_number() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    // Each task blocks its thread until the other one runs, so each is on a worker of its own.
    let both = Arc::new(Barrier::new(2));
    let tasks = [(); 2].map(|()| {
        let both = both.clone();
        runtime.spawn(async move {
            both.wait();
            let before = worker_index().unwrap();
            let inside = task::block_in_place(|| worker_index().unwrap());
            assert_eq!(before, inside);
            before
        })
    });
    let numbers = tasks.map(|task| runtime.block_on(task).unwrap());
    assert_eq!(numbers[0] + numbers[1], 1);
}

/// Other threads wake tasks while their set is dropped.
#[test]
fn a_set_is_dropped_while_others_wake_its_tasks() {
    within_time(|| {
        let mut builder = Builder::new_current_thread();
        let runtime = builder.build().unwrap();
        for round in 0..300 {
            let drops = Rc::new(Cell::new(0));
            let set = LocalSet::new();
            let mut senders = Vec::new();
            let mut tasks = Vec::new();
            for _ in 0..8 {
                let (sender, receiver) = oneshot::channel::<()>();
                senders.push(sender);
                let stays = StaysHere::new(&drops);
                tasks.push(set.spawn_local(async move {
                    let _stays = stays;
                    let _ = receiver.await;
                    pending::<()>().await;
                }));
            }
            set.block_on(&runtime, task::yield_now());
            let abort = tasks[0].abort_handle();
            let waker = thread::spawn(move || {
                abort.abort();
                senders.into_iter().for_each(|sender| {
                    let _ = sender.send(());
                });
            });
            for _ in 0..round % 50 {
                std::hint::spin_loop();
            }
            drop(set);
            assert_eq!(drops.get(), 8);
            waker.join().unwrap();
            assert!(tasks.iter().all(JoinHandle::is_finished));
        }
    });
}

/// Values that come from other threads all arrive.
#[test]
fn a_set_hears_every_wake_up() {
    within_time(|| {
        let runtime = LocalRuntime::new().unwrap();
        let set = LocalSet::new();
        let sum = runtime.block_on(set.run_until(async {
            let (sender, mut receiver) = tokio::sync::mpsc::channel(4);
            let threads: Vec<_> = (0..3_u64)
                .map(|thread| {
                    let sender = sender.clone();
                    thread::spawn(move || {
                        for value in 0..500 {
                            sender.blocking_send(thread * 1000 + value).unwrap();
                        }
                    })
                })
                .collect();
            drop(sender);
            let sum = Rc::new(Cell::new(0));
            let ours = sum.clone();
            let task = set.spawn_local(async move {
                while let Some(value) = receiver.recv().await {
                    ours.set(ours.get() + value);
                }
            });
            task.await.unwrap();
            threads
                .into_iter()
                .for_each(|thread| thread.join().unwrap());
            sum.get()
        }));
        assert_eq!(sum, 500 * 3000 + 3 * (0..500).sum::<u64>());
    });
}
