//! Hangs of tasks that wait for something which they have themselves, or which a task that waits for them has: locks,
//! permits, and values that are made once.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use blitz_io::inspect::Named;
use blitz_io::sync::{
    Barrier, Mutex, OnceCell, OwnedSemaphorePermit, RwLock, Semaphore, mpsc, oneshot, watch,
};
use blitz_io::{task, time};
use futures_util::stream::{FuturesUnordered, StreamExt};

use crate::{is_apart, meeting, spawn};

/// A task that reads a table wants to write to it.
///
/// After <https://github.com/Amanieu/parking_lot/issues/200>.
pub async fn write_while_reading() {
    let table = Arc::new(RwLock::new(0).named("table"));
    _ = spawn("updates", async move {
        let seen = table.read().await;
        *table.write().await = *seen + 1;
    })
    .await;
}

/// A task that writes to a table reads it in a function that it calls.
pub async fn read_while_writing() {
    let table = Arc::new(RwLock::new(0).named("table"));
    _ = spawn("updates", async move {
        let mut new = table.write().await;
        *new = *table.read().await + 1;
    })
    .await;
}

/// Two tasks read one table and write to another one, in two orders.
pub async fn two_tables() {
    let one = Arc::new(RwLock::new(0).named("users"));
    let two = Arc::new(RwLock::new(0).named("groups"));
    let both = Arc::new(Barrier::new(meeting(2)));
    let update = |name, read: &Arc<RwLock<u32>>, write: &Arc<RwLock<u32>>| {
        let (read, write, both) = (read.clone(), write.clone(), both.clone());
        spawn(name, async move {
            let seen = read.read().await;
            both.wait().await;
            *write.write().await = *seen;
        })
    };
    let tasks = [update("join", &one, &two), update("leave", &two, &one)];
    for task in tasks {
        _ = task.await;
    }
}

/// A value that is made once needs itself.
pub async fn cell_needs_itself() {
    let config = Arc::new(OnceCell::new().named("config"));
    _ = spawn("reads the configuration", async move {
        let inner = async { *config.get_or_init(|| async { 1 }).await };
        *config.get_or_init(|| inner).await
    })
    .await;
}

/// Two values that are made once need each other.
///
/// After <https://github.com/matklad/once_cell/issues/156>.
pub async fn cells_need_each_other() {
    let config = Arc::new(OnceCell::new().named("config"));
    let logger = Arc::new(OnceCell::new().named("logger"));
    let both = Arc::new(Barrier::new(2));
    let make = |name, own: &Arc<OnceCell<u32>>, other: &Arc<OnceCell<u32>>| {
        let (own, other, both) = (own.clone(), other.clone(), both.clone());
        spawn(name, async move {
            let made = async {
                both.wait().await;
                *other.get_or_init(|| async { 1 }).await
            };
            *own.get_or_init(|| made).await
        })
    };
    let tasks = [
        make("makes the configuration", &config, &logger),
        make("makes the logger", &logger, &config),
    ];
    for task in tasks {
        _ = task.await;
    }
}

/// A task waits for a value that is set after it has ended.
pub async fn cell_set_too_late() {
    let address = Arc::new(OnceCell::new().named("address"));
    let wanted = address.clone();
    _ = spawn("connects", async move { *wanted.wait().await }).await;
    _ = address.set(1);
}

/// A task collects permits, and wants one more than there are.
pub async fn permits_collected() {
    let limit = Arc::new(Semaphore::new(2).named("limit"));
    _ = spawn("collects", async move {
        let mut permits = Vec::new();
        for _ in 0..3 {
            permits.push(limit.acquire().await);
        }
    })
    .await;
}

/// Each of these tasks has one of as many permits, and wants another one. A fourth task has none, and waits behind them.
pub async fn one_permit_each() {
    let names = ["upload", "download", "index"];
    let limit = Arc::new(Semaphore::new(names.len()).named("limit"));
    let all = Arc::new(Barrier::new(names.len() + 1));
    let tasks = names.map(|name| {
        let (limit, all) = (limit.clone(), all.clone());
        spawn(name, async move {
            let first = limit.acquire().await;
            all.wait().await;
            let second = limit.acquire().await;
            drop((first, second));
        })
    });
    all.wait().await;
    let behind = spawn("late", async move { drop(limit.acquire().await) });
    for task in tasks {
        _ = task.await;
    }
    _ = behind.await;
}

/// Each of two accept loops has given its permit to a connection, and waits for another one, which is healthy.
pub async fn permits_are_given() {
    let limit = Arc::new(Semaphore::new(2).named("limit"));
    let both = Arc::new(Barrier::new(2));
    let loops = ["accepts", "accepts too"].map(|name| {
        let (limit, both) = (limit.clone(), both.clone());
        let (connections, mut accepted) = mpsc::channel(1);
        drop(spawn("connection", async move {
            while let Some(permit) = accepted.recv().await {
                time::sleep(Duration::from_secs(3600)).await;
                drop::<OwnedSemaphorePermit>(permit);
            }
        }));
        spawn(name, async move {
            loop {
                let permit = limit.clone().acquire_owned().await;
                _ = connections.send(permit.expect("it is open")).await;
                both.wait().await;
            }
        })
    });
    for accepts in loops {
        _ = accepts.await;
    }
}

/// Tasks that fail forget their permits, until none is left.
///
/// After <https://github.com/apache/solr/pull/4236>.
pub async fn permits_leaked_one_by_one() {
    // In a run that ends, one is left.
    let limit = Arc::new(Semaphore::new(if is_apart() { 4 } else { 3 }).named("limit"));
    for _ in 0..3 {
        let taken = limit.clone();
        let fails = async move { taken.acquire().await.map(|permit| permit.forget()) };
        _ = spawn("fails", fails).await;
    }
    _ = spawn("waits", async move { _ = limit.acquire().await }).await;
}

/// A future of a set has a lock and is not polled while its task handles another one, and wants the lock.
///
/// After <https://rfd.shared.oxide.computer/rfd/0609>.
pub async fn unordered_holds_lock() {
    let lock = Arc::new(Mutex::new(()).named("shared"));
    _ = spawn("handles", async move {
        let mut requests = FuturesUnordered::new();
        for holds in [true, false] {
            let lock = &lock;
            requests.push(async move {
                if holds {
                    let _guard = lock.lock().await;
                    task::yield_now().await;
                }
            });
        }
        _ = requests.next().await;
        let _second = lock.lock().await;
    })
    .await;
}

/// A task awaits itself.
pub async fn join_itself() {
    let (give, take) = oneshot::channel();
    let own = spawn("awaits itself", async move {
        let own: task::JoinHandle<()> = take.await.expect("it is sent");
        _ = own.await;
    });
    _ = give.send(own);
    std::future::pending().await
}

/// A task looks at the present value of a `watch` channel while it sends the next one.
pub async fn watch_borrow_kept() {
    let (state, seen) = watch::channel(0);
    let update = async move {
        let value = seen.borrow();
        _ = state.send(*value + 1);
    };
    _ = spawn("updates", update).await;
}

/// A loop whose first branch is always ready does not get to the others, nor does its worker to other tasks.
pub async fn biased_select_spins() {
    _ = spawn("selects", async move {
        let (stop, mut stops) = oneshot::channel::<()>();
        loop {
            blitz_io::select! {
                biased;
                () = std::future::poll_fn(|_| Poll::Ready(())) => {}
                _ = &mut stops => break,
            }
        }
        drop(stop);
    })
    .await;
}
