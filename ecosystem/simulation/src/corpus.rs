//! Small programs with a mistake each, as they are known from published packages and textbooks.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use blitz_io::sync::{Mutex, Notify, RwLock, Semaphore, mpsc, oneshot, watch};
use blitz_io::task::{self, JoinHandle};
use blitz_io::time;

/// A run of a program.
pub type Program = Pin<Box<dyn Future<Output = ()>>>;

/// A program with a mistake.
pub struct Mistake {
    pub name: &'static str,
    pub run: fn() -> Program,
}

macro_rules! mistakes {
    ($($name:literal $run:ident,)*) => {
        /// All programs.
        pub const ALL: &[Mistake] = &[
            $(Mistake { name: $name, run: || Box::pin($run()) },)*
        ];
    };
}

mistakes! {
    "look, then act" look_then_act,
    "lost addition" lost_addition,
    "wake-up before the wait" early_wake,
    "two locks in two orders" two_orders,
    "five philosophers" philosophers,
    "upgrade of a read lock" upgrades,
    "one event for both sides of a buffer" one_event,
    "a permit that a cancelled task keeps" leaked_permit,
    "a stop signal that is read twice" stop_twice,
    "last value before the end" last_value,
    "a cache that is filled late" late_cache,
    "an order of six steps" six_steps,
    "a rare step among many" rare_step,
    "one of fifty locks" one_of_fifty,
}

async fn join(tasks: impl IntoIterator<Item = JoinHandle<()>>) {
    for task in tasks {
        task.await.unwrap();
    }
}

async fn look_then_act() {
    let left = Arc::new(Mutex::new(1));
    let buyer = |_| {
        let left = left.clone();
        task::spawn(async move {
            if *left.lock().await > 0 {
                let mut left = left.lock().await;
                *left -= 1;
                assert!(*left >= 0, "sold twice");
            }
        })
    };
    join((0..3).map(buyer).collect::<Vec<_>>()).await;
}

async fn lost_addition() {
    let count = Arc::new(AtomicU32::new(0));
    let adder = |_| {
        let count = count.clone();
        task::spawn(async move {
            for _ in 0..5 {
                let before = count.load(SeqCst);
                task::consume_budget().await;
                count.store(before + 1, SeqCst);
            }
        })
    };
    join((0..2).map(adder).collect::<Vec<_>>()).await;
    // Even one addition may be all that is left. This needs an order of three.
    assert!(count.load(SeqCst) > 5, "half of them are lost");
}

async fn early_wake() {
    let (ready, event) = (Arc::new(AtomicU32::new(0)), Arc::new(Notify::new()));
    let (same, changed) = (ready.clone(), event.clone());
    let waiter = task::spawn(async move {
        while same.load(SeqCst) < 3 {
            task::consume_budget().await;
            changed.notified().await;
        }
    });
    for _ in 0..3 {
        task::consume_budget().await;
        ready.fetch_add(1, SeqCst);
        event.notify_waiters();
    }
    waiter.await.unwrap();
}

async fn two_orders() {
    let locks = Arc::new([(); 2].map(Mutex::new));
    let transfer = |number: usize| {
        let locks = locks.clone();
        task::spawn(async move {
            for _ in 0..3 {
                let _from = locks[number % 2].lock().await;
                let _to = locks[(number + 1) % 2].lock().await;
            }
        })
    };
    join((0..2).map(transfer).collect::<Vec<_>>()).await;
}

async fn philosophers() {
    let forks = Arc::new([(); 5].map(Mutex::new));
    let philosopher = |number: usize| {
        let forks = forks.clone();
        task::spawn(async move {
            let _left = forks[number].lock().await;
            let _right = forks[(number + 1) % 5].lock().await;
        })
    };
    join((0..5).map(philosopher).collect::<Vec<_>>()).await;
}

/// Each task lets the other one write between its read and its write.
async fn upgrades() {
    let version = Arc::new(RwLock::new(0));
    let writer = |_| {
        let version = version.clone();
        task::spawn(async move {
            for _ in 0..4 {
                let seen = *version.read().await;
                let mut version = version.write().await;
                *version = seen + 1;
            }
        })
    };
    join((0..2).map(writer).collect::<Vec<_>>()).await;
    assert!(*version.read().await >= 4, "a whole task is lost");
}

/// A wake-up that is meant for a consumer goes to a producer.
async fn one_event() {
    let (buffer, event) = (
        Arc::new(Mutex::new(VecDeque::new())),
        Arc::new(Notify::new()),
    );
    let producer = |number: u32| {
        let (buffer, event) = (buffer.clone(), event.clone());
        task::spawn(async move {
            for _ in 0..2 {
                loop {
                    let mut values = buffer.lock().await;
                    if values.is_empty() {
                        values.push_back(number);
                        break;
                    }
                    drop(values);
                    event.notified().await;
                }
                event.notify_one();
            }
        })
    };
    let consumer = |_| {
        let (buffer, event) = (buffer.clone(), event.clone());
        task::spawn(async move {
            for _ in 0..2 {
                while buffer.lock().await.pop_front().is_none() {
                    event.notified().await;
                }
                event.notify_one();
            }
        })
    };
    let mut tasks: Vec<_> = (0..2).map(producer).collect();
    tasks.extend((0..2).map(consumer));
    join(tasks).await;
}

/// As in bb8 0.6: a task that is cancelled between the permit and the guard keeps the permit.
async fn leaked_permit() {
    let permits = Arc::new(Semaphore::new(1));
    let get = |_| {
        let permits = permits.clone();
        task::spawn(async move {
            let get = async {
                permits.acquire().await.unwrap().forget();
                task::consume_budget().await;
                Permit(permits.clone())
            };
            drop(time::timeout(Duration::from_secs(1), get).await);
        })
    };
    let tasks: Vec<_> = (0..3).map(get).collect();
    task::consume_budget().await;
    tasks[0].abort();
    for task in tasks {
        _ = task.await;
    }
    assert_eq!(permits.available_permits(), 1, "it has leaked");
}

/// Returns the permit.
struct Permit(Arc<Semaphore>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

async fn stop_twice() {
    let (stop, stopped) = watch::channel(false);
    let (sender, mut jobs) = mpsc::channel::<oneshot::Sender<()>>(4);
    let worker = task::spawn(async move {
        while !*stopped.borrow() {
            let Some(job) = jobs.recv().await else { break };
            task::consume_budget().await;
            // The answer to a job that came before the signal is lost.
            if *stopped.borrow() {
                std::mem::forget(job);
            } else {
                _ = job.send(());
            }
        }
    });
    let client = task::spawn(async move {
        for _ in 0..3 {
            let (answer, answered) = oneshot::channel();
            if sender.send(answer).await.is_ok() {
                _ = answered.await;
            }
        }
    });
    task::consume_budget().await;
    stop.send_replace(true);
    join([worker, client]).await;
}

/// The consumer asks whether the producer has ended before it looks for the last value.
async fn last_value() {
    let (queue, ended) = (
        Arc::new(Mutex::new(Vec::new())),
        Arc::new(AtomicU32::new(0)),
    );
    let (same, end) = (queue.clone(), ended.clone());
    let producer = task::spawn(async move {
        for number in 0..4 {
            same.lock().await.push(number);
        }
        end.store(1, SeqCst);
    });
    let consumer = task::spawn(async move {
        let mut found = 0;
        loop {
            found += std::mem::take(&mut *queue.lock().await).len();
            task::consume_budget().await;
            if ended.load(SeqCst) == 1 {
                break;
            }
            task::yield_now().await;
        }
        assert_eq!(found, 4, "the last value is lost");
    });
    join([producer, consumer]).await;
}

async fn late_cache() {
    let (store, cache) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(None)));
    let (same, cached) = (store.clone(), cache.clone());
    let reader = task::spawn(async move {
        for _ in 0..3 {
            if cached.lock().await.is_none() {
                let value = *same.lock().await;
                *cached.lock().await = Some(value);
            }
        }
    });
    let (same, cached) = (store.clone(), cache.clone());
    let writer = task::spawn(async move {
        for number in 1..=3 {
            *same.lock().await = number;
            *cached.lock().await = None;
        }
    });
    join([reader, writer]).await;
    let (stored, cached) = (*store.lock().await, *cache.lock().await);
    assert!(
        cached.is_none_or(|cached| cached == stored),
        "an old value stays"
    );
}

/// Each step of one task comes between two of the other one.
async fn six_steps() {
    let value = Arc::new(Mutex::new(0));
    let mut tasks = noise(4, 10);
    let phase = value.clone();
    tasks.push(task::spawn(async move {
        for number in 1..=6 {
            *phase.lock().await = number;
        }
    }));
    tasks.push(task::spawn(async move {
        for number in 1..=6 {
            if *value.lock().await != number {
                return;
            }
        }
        panic!("found");
    }));
    join(tasks).await;
}

/// Another task must run after exactly 15 of 30 steps, and again after 25.
async fn rare_step() {
    let count = Arc::new(Mutex::new(0));
    let same = count.clone();
    let counter = task::spawn(async move {
        for _ in 0..30 {
            *same.lock().await += 1;
        }
    });
    let probe = task::spawn(async move {
        let first = *count.lock().await;
        let second = *count.lock().await;
        assert!((first, second) != (15, 25), "found");
    });
    join([counter, probe]).await;
}

/// Only one lock is contended, and two tasks must use it in turns.
async fn one_of_fifty() {
    let shared = Arc::new(Mutex::new(0));
    let mut tasks = noise(10, 20);
    let user = |_| {
        let shared = shared.clone();
        task::spawn(async move {
            let own = Mutex::new(0);
            for _ in 0..10 {
                *own.lock().await += 1;
            }
            for _ in 0..4 {
                let seen = *shared.lock().await;
                *shared.lock().await = seen + 1;
            }
        })
    };
    tasks.extend((0..2).map(user));
    join(tasks).await;
    assert!(*shared.lock().await >= 3, "most are lost");
}

/// Tasks that use locks of their own only.
fn noise(tasks: usize, steps: usize) -> Vec<JoinHandle<()>> {
    let one = |_| {
        task::spawn(async move {
            let own = Mutex::new(0);
            for _ in 0..steps {
                *own.lock().await += 1;
            }
        })
    };
    (0..tasks).map(one).collect()
}
