//! Tasks that always have something to do let others run.

use std::future::{Future, pending, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use blitz_io_channel::{broadcast, mpmc, mpsc, oneshot, watch};
use blitz_io_runtime::runtime::{Builder, Runtime};
use blitz_io_runtime::{task, time};
use blitz_io_sync::task::{Mutex, RwLock, Semaphore};
use blitz_io_testing::watch_dog;

const UNITS: usize = 128;

fn one_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn one_worker() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
}

/// Runs a loop that would not end without help, and another task that stops it. Fails if
/// that task never runs.
fn does_not_starve(looping: impl AsyncLoop) {
    for runtime in [one_thread(), one_worker()] {
        let stop = Arc::new(AtomicBool::new(false));
        let turns = Arc::new(AtomicUsize::new(0));
        let stopper = stop.clone();
        let greedy = looping.clone().run(Turns {
            stop,
            turns: turns.clone(),
        });
        // Both begin on the runtime's own thread, one behind the other.
        let both = runtime.spawn(async move {
            let greedy = task::spawn(greedy);
            task::spawn(async move {
                stopper.store(true, Ordering::SeqCst);
            });
            greedy.await.unwrap();
            turns.load(Ordering::SeqCst)
        });
        let seen = runtime.block_on(both).unwrap();
        assert!(seen < Turns::MOST, "the other task did not get its turn");
        assert!(seen <= 2 * UNITS, "{seen} turns before the other task's");
    }
}

trait AsyncLoop: Clone {
    fn run(self, turns: Turns) -> impl Future<Output = ()> + Send + 'static;
}

impl<F, Fut> AsyncLoop for F
where
    F: Fn(Turns) -> Fut + Clone,
    Fut: Future<Output = ()> + Send + 'static,
{
    fn run(self, turns: Turns) -> impl Future<Output = ()> + Send + 'static {
        self(turns)
    }
}

/// Says when to stop.
struct Turns {
    stop: Arc<AtomicBool>,
    turns: Arc<AtomicUsize>,
}

impl Turns {
    /// A test that fails ends, too.
    const MOST: usize = 100_000;

    fn go_on(&self) -> bool {
        let turn = self.turns.fetch_add(1, Ordering::SeqCst);
        turn < Self::MOST && !self.stop.load(Ordering::SeqCst)
    }
}

#[test]
fn receivers() {
    does_not_starve(|turns: Turns| async move {
        let (tx, mut rx) = mpsc::unbounded_channel();
        while turns.go_on() {
            tx.send(1).unwrap();
            rx.recv().await.unwrap();
        }
    });
    does_not_starve(|turns: Turns| async move {
        while turns.go_on() {
            let (tx, rx) = oneshot::channel();
            tx.send(1).unwrap();
            rx.await.unwrap();
        }
    });
    does_not_starve(|turns: Turns| async move {
        let (tx, mut rx) = broadcast::channel(1);
        while turns.go_on() {
            tx.send(1).unwrap();
            rx.recv().await.unwrap();
        }
    });
    does_not_starve(|turns: Turns| async move {
        let (tx, mut rx) = watch::channel(1);
        while turns.go_on() {
            tx.send(1).unwrap();
            rx.changed().await.unwrap();
        }
    });
    does_not_starve(|turns: Turns| async move {
        let (tx, rx) = mpmc::bounded(1);
        while turns.go_on() {
            tx.try_send(1).unwrap();
            rx.recv().await.unwrap();
        }
    });
}

#[test]
fn senders() {
    does_not_starve(|turns: Turns| async move {
        let (tx, mut rx) = mpsc::channel(1);
        while turns.go_on() {
            tx.send(1).await.unwrap();
            rx.try_recv().unwrap();
        }
    });
    does_not_starve(|turns: Turns| async move {
        let (tx, rx) = mpmc::bounded(1);
        while turns.go_on() {
            tx.send(1).await.unwrap();
            rx.try_recv().unwrap();
        }
    });
}

#[test]
fn locks() {
    does_not_starve(|turns: Turns| async move {
        let mutex = Mutex::new(());
        while turns.go_on() {
            drop(mutex.lock().await);
        }
    });
    does_not_starve(|turns: Turns| async move {
        let lock = RwLock::new(());
        while turns.go_on() {
            drop(lock.read().await);
        }
    });
    does_not_starve(|turns: Turns| async move {
        let semaphore = Semaphore::new(1);
        while turns.go_on() {
            drop(semaphore.acquire().await.unwrap());
        }
    });
}

#[test]
fn tasks_and_budgets_themselves() {
    does_not_starve(|turns: Turns| async move {
        while turns.go_on() {
            task::consume_budget().await;
        }
    });
    does_not_starve(|turns: Turns| async move {
        while turns.go_on() {
            task::coop::cooperative(std::future::ready(())).await;
        }
    });
    does_not_starve(|turns: Turns| async move {
        let mut done: Vec<_> = (0..10 * UNITS).map(|_| task::spawn(async {})).collect();
        task::yield_now().await;
        while turns.go_on() {
            match done.pop() {
                Some(task) => task.await.unwrap(),
                None => task::consume_budget().await,
            }
        }
    });
    does_not_starve(|turns: Turns| async move {
        let mut set: task::JoinSet<_> = (0..10 * UNITS).map(|_| async {}).collect();
        while turns.go_on() {
            set.spawn(async {});
            set.join_next().await.unwrap().unwrap();
        }
        set.detach_all();
    });
}

/// The future of `block_on`, too.
#[test]
fn the_main_future() {
    watch_dog::watch();
    for runtime in [one_thread(), one_worker()] {
        let stop = Arc::new(AtomicBool::new(false));
        runtime.block_on(async {
            let stopper = stop.clone();
            task::spawn(async move { stopper.store(true, Ordering::SeqCst) });
            let mutex = Mutex::new(());
            // No limit of turns: the worker may lose its processor for any number of them.
            while !stop.load(Ordering::SeqCst) {
                drop(mutex.lock().await);
            }
        });
    }
}

#[test]
fn each_poll_has_a_full_budget() {
    one_thread().block_on(async {
        for _ in 0..3 {
            let mut count = 0;
            poll_fn(|context| {
                while let Poll::Ready(unit) = task::coop::poll_proceed(context) {
                    unit.made_progress();
                    count += 1;
                }
                Poll::Ready(())
            })
            .await;
            // The poll that found no budget left has woken the task.
            assert_eq!(count, UNITS);
            assert!(!task::coop::has_budget_remaining());
            task::consume_budget().await;
            assert!(task::coop::has_budget_remaining());
            task::yield_now().await;
        }
    });
}

#[test]
fn without_a_limit() {
    one_thread().block_on(async {
        let other = task::spawn(async {});
        let mutex = Mutex::new(());
        task::unconstrained(async {
            for _ in 0..10 * UNITS {
                drop(mutex.lock().await);
            }
            assert!(task::coop::has_budget_remaining());
        })
        .await;
        assert!(!other.is_finished());
        for _ in 0..10 * UNITS {
            drop(mutex.lock().await);
        }
        assert!(other.is_finished());
        // Nor has a thread of the blocking pool.
        task::spawn_blocking(|| {
            for _ in 0..10 * UNITS {
                let mut one = std::pin::pin!(task::consume_budget());
                assert!(
                    blitz_io_testing::poll_once(one.as_mut(), std::task::Waker::noop()).is_ready()
                );
            }
        })
        .await
        .unwrap();
    });
}

/// A time-out ends a future that uses up every budget.
#[test]
fn a_timeout_is_looked_at() {
    one_thread().block_on(async {
        let busy = async {
            loop {
                task::consume_budget().await;
            }
        };
        let result = time::timeout(Duration::from_millis(10), busy).await;
        assert!(result.is_err());
    });
}

/// Tasks that hand a value to and fro, by the fast way past the queue, share a budget
/// and do not keep others waiting.
#[test]
fn two_that_wake_each_other() {
    watch_dog::watch();
    let runtime = one_worker();
    runtime.block_on(async {
        let (to, mut from) = mpsc::channel::<usize>(1);
        let (back_to, mut back_from) = mpsc::channel::<usize>(1);
        let stop = Arc::new(AtomicBool::new(false));
        let echo = task::spawn(async move {
            while let Some(value) = from.recv().await {
                if back_to.send(value + 1).await.is_err() {
                    break;
                }
            }
        });
        let stopped = stop.clone();
        let player = task::spawn(async move {
            let mut value = 0;
            // No limit of rounds: this thread may lose its processor before it spawns the next task.
            while !stopped.load(Ordering::SeqCst) {
                to.send(value).await.unwrap();
                value = back_from.recv().await.unwrap();
            }
        });
        task::spawn(async move { stop.store(true, Ordering::SeqCst) });
        player.await.unwrap();
        echo.await.unwrap();
    });
}

/// A task that has nothing to do costs nothing of it: it is not woken by its budget.
#[test]
fn who_waits_is_not_woken() {
    one_thread().block_on(async {
        let polls = Arc::new(AtomicUsize::new(0));
        let count = polls.clone();
        let waiting = task::spawn(async move {
            let mut never = std::pin::pin!(pending::<()>());
            poll_fn(|context| {
                count.fetch_add(1, Ordering::SeqCst);
                never.as_mut().poll(context)
            })
            .await;
        });
        for _ in 0..10 * UNITS {
            task::consume_budget().await;
        }
        waiting.abort();
        assert!(waiting.await.unwrap_err().is_cancelled());
        assert_eq!(polls.load(Ordering::SeqCst), 1);
    });
}
