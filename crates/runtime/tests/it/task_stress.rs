//! Many tasks, many threads, everything at once: every future and every output is
//! dropped once, and every wake-up arrives.

#![allow(clippy::waker_clone_wake, reason = "waking by value is what is tested")]

use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use blitz_io_runtime::runtime::{Builder, Runtime};
use blitz_io_runtime::task;
use blitz_io_testing::{Counted, Dice, Drops};

fn runtime(workers: usize) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder
        .worker_threads(workers)
        .enable_all()
        .build()
        .unwrap()
}

/// Fails instead of hanging.
fn within_a_minute(test: impl FnOnce() + Send + 'static) {
    let (tx, rx) = mpsc::channel();
    let thread = thread::spawn(move || {
        test();
        tx.send(()).unwrap();
    });
    match rx.recv_timeout(Duration::from_secs(900)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it takes too long"),
        _ => thread.join().unwrap(),
    }
}

/// Wakers that another thread calls.
#[derive(Clone, Default)]
struct Bells(Arc<Mutex<Vec<Waker>>>);

/// Waits for so many wake-ups from other threads, or for its own ones.
struct Rounds {
    left: usize,
    bells: Bells,
    value: Option<Counted<usize>>,
    _kept: Counted,
}

impl Future for Rounds {
    type Output = Counted<usize>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.left == 0 {
            return Poll::Ready(self.value.take().unwrap());
        }
        self.left -= 1;
        match self.left % 3 {
            0 => context.waker().wake_by_ref(),
            1 => context.waker().clone().wake(),
            _ => {
                let mut bells = self.bells.0.lock().unwrap();
                bells.push(context.waker().clone());
            }
        }
        Poll::Pending
    }
}

#[test]
fn tasks_are_woken_aborted_joined_and_detached_by_all() {
    within_a_minute(|| {
        const TASKS: usize = 4000;
        let (futures, outputs) = (Drops::new(), Drops::new());
        let bells = Bells::default();
        let done = Arc::new(AtomicUsize::new(0));
        let ringers: Vec<_> = (0..2)
            .map(|_| {
                let (bells, done) = (bells.clone(), done.clone());
                thread::spawn(move || {
                    while done.load(Ordering::Acquire) == 0 {
                        let ready = std::mem::take(&mut *bells.0.lock().unwrap());
                        for (number, waker) in ready.into_iter().enumerate() {
                            if number % 2 == 0 {
                                waker.wake_by_ref();
                            }
                            waker.wake();
                        }
                        thread::yield_now();
                    }
                })
            })
            .collect();

        let runtime = runtime(4);
        let (of_futures, of_outputs, rings) = (futures.clone(), outputs.clone(), bells.clone());
        let (joined, cancelled) = runtime.block_on(async move {
            let mut dice = Dice(7);
            let mut parents = Vec::new();
            for _ in 0..8 {
                let (futures, outputs) = (of_futures.clone(), of_outputs.clone());
                let bells = rings.clone();
                let mut dice = Dice(dice.below(1 << 20) as u64);
                parents.push(task::spawn(async move {
                    let (mut joined, mut cancelled) = (0, 0);
                    let mut joins = Vec::new();
                    for number in 0..TASKS / 8 {
                        let join = task::spawn(Rounds {
                            left: dice.below(7),
                            bells: bells.clone(),
                            value: Some(outputs.counted(number)),
                            _kept: futures.counted(()),
                        });
                        match dice.below(8) {
                            0 => drop(join),
                            1 => {
                                join.abort();
                                joins.push((number, join));
                            }
                            2 => {
                                let abort = join.abort_handle();
                                thread::yield_now();
                                abort.abort();
                                joins.push((number, join));
                            }
                            _ => joins.push((number, join)),
                        }
                        if dice.below(16) == 0 {
                            task::yield_now().await;
                        }
                        if joins.len() > 20 {
                            let place = dice.below(joins.len());
                            let (number, join) = joins.swap_remove(place);
                            match join.await {
                                Ok(value) => {
                                    assert_eq!(value.value, number);
                                    joined += 1;
                                }
                                Err(error) => {
                                    assert!(error.is_cancelled());
                                    cancelled += 1;
                                }
                            }
                        }
                    }
                    for (number, join) in joins {
                        match join.await {
                            Ok(value) => {
                                assert_eq!(value.value, number);
                                joined += 1;
                            }
                            Err(error) => {
                                assert!(error.is_cancelled());
                                cancelled += 1;
                            }
                        }
                    }
                    (joined, cancelled)
                }));
            }
            let mut sums = (0, 0);
            for parent in parents {
                let (joined, cancelled) = parent.await.unwrap();
                sums = (sums.0 + joined, sums.1 + cancelled);
            }
            sums
        });
        // The detached ones may run still; now they end.
        drop(runtime);
        done.store(1, Ordering::Release);
        ringers
            .into_iter()
            .for_each(|ringer| ringer.join().unwrap());
        bells.0.lock().unwrap().clear();
        assert_eq!((futures.count(), outputs.count()), (TASKS, TASKS));
        assert!(joined > TASKS / 2 && cancelled > 0 && joined + cancelled < TASKS);
    });
}

#[test]
fn the_end_meets_tasks_in_all_states() {
    within_a_minute(|| {
        for round in 0..60 {
            let drops = Drops::new();
            let spawned = Arc::new(AtomicUsize::new(0));
            let runtime = runtime(3);
            let bells = Bells::default();
            for _ in 0..4 {
                let (drops, spawned, bells) = (drops.clone(), spawned.clone(), bells.clone());
                runtime.spawn(async move {
                    loop {
                        spawned.fetch_add(2, Ordering::Relaxed);
                        let (kept, other) = (drops.counted(()), drops.counted(()));
                        let bells = bells.clone();
                        task::spawn(async move {
                            let _kept = kept;
                            poll_fn(|context| {
                                bells.0.lock().unwrap().push(context.waker().clone());
                                Poll::<()>::Pending
                            })
                            .await;
                        });
                        task::spawn(async move {
                            let _other = other;
                            task::yield_now().await;
                        });
                        task::yield_now().await;
                    }
                });
            }
            let rings = bells.clone();
            let ringer = thread::spawn(move || {
                for _ in 0..200 {
                    let some = std::mem::take(&mut *rings.0.lock().unwrap());
                    some.into_iter().for_each(Waker::wake);
                    thread::yield_now();
                }
            });
            thread::sleep(Duration::from_micros(100 * (round % 7)));
            drop(runtime);
            ringer.join().unwrap();
            bells.0.lock().unwrap().clear();
            assert_eq!(drops.count(), spawned.load(Ordering::Relaxed));
        }
    });
}

#[test]
fn tasks_that_end_elsewhere_are_freed_and_counted() {
    within_a_minute(|| {
        let runtime = runtime(4);
        let metrics = runtime.metrics();
        runtime.block_on(async {
            for _ in 0..50 {
                let spawner = task::spawn(async {
                    let joins: Vec<_> = (0..200)
                        .map(|_| {
                            task::spawn(async {
                                task::yield_now().await;
                            })
                        })
                        .collect();
                    for join in joins {
                        join.await.unwrap();
                    }
                });
                spawner.await.unwrap();
            }
        });
        assert_eq!(metrics.num_alive_tasks(), 0);
        let waits = runtime.spawn(pending::<()>());
        assert_eq!(metrics.num_alive_tasks(), 1);
        drop((waits, runtime));
    });
}
