//! Hangs with locks.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use blitz_io::runtime::Handle;
use blitz_io::sync::{Barrier, Mutex, Notify, RwLock, Semaphore, mpsc, oneshot};
use blitz_io::{inspect::Named, select, thread, time};
use futures_util::stream::{FuturesUnordered, StreamExt};

use crate::{is_apart, meeting, spawn};

/// Two tasks take two mutexes in two orders.
///
/// After <https://github.com/versatica/mediasoup/pull/1605>.
pub async fn two_mutexes() {
    let accounts = Arc::new(Mutex::new(0).named("accounts"));
    let audit = Arc::new(Mutex::new(0).named("audit"));
    let both = Arc::new(Barrier::new(meeting(2)));
    let (a, b, c) = (accounts.clone(), audit.clone(), both.clone());
    let one = spawn("transfer", async move {
        let _first = a.lock().await;
        c.wait().await;
        let _second = b.lock().await;
    });
    let two = spawn("report", async move {
        let _first = audit.lock().await;
        both.wait().await;
        let _second = accounts.lock().await;
    });
    _ = (one.await, two.await);
}

/// Three tasks and three locks, in a circle: the dining philosophers.
pub async fn three_locks() {
    let forks: Vec<_> = (0..3)
        .map(|_| Arc::new(Mutex::new(()).named("fork")))
        .collect();
    let all = Arc::new(Barrier::new(meeting(3)));
    let tasks: Vec<_> = (0..3)
        .map(|i| {
            let (left, right, all) = (forks[i].clone(), forks[(i + 1) % 3].clone(), all.clone());
            spawn("philosopher", async move {
                let _left = left.lock().await;
                all.wait().await;
                let _right = right.lock().await;
            })
        })
        .collect();
    for task in tasks {
        _ = task.await;
    }
}

/// A task locks its own mutex a second time.
///
/// After <https://github.com/murmur-io/murmur/pull/680>.
pub async fn self_lock() {
    let cache = Arc::new(Mutex::new(()).named("cache"));
    _ = spawn("refresh", async move {
        let _guard = cache.lock().await;
        let _again = cache.lock().await;
    })
    .await;
}

/// The future of `block_on` locks its own mutex a second time.
pub async fn block_on_self_lock() {
    let cache = Mutex::new(()).named("cache");
    let _guard = cache.lock().await;
    let _again = cache.lock().await;
}

/// A read lock is taken twice, with a writer between.
///
/// After <https://github.com/tokio-rs/tokio/issues/2849>.
pub async fn read_twice() {
    let config = Arc::new(RwLock::new(()).named("config"));
    let (has_read, wants) = (Arc::new(Barrier::new(meeting(2))), config.clone());
    let both = has_read.clone();
    let reader = spawn("reader", async move {
        let _outer = config.read().await;
        both.wait().await;
        // Ends only with a writer in the queue.
        while !is_apart() && config.try_read().is_ok() {
            blitz_io::task::yield_now().await;
        }
        let _inner = config.read().await;
    });
    let writer = spawn("writer", async move {
        has_read.wait().await;
        let _guard = wants.write().await;
    });
    _ = (reader.await, writer.await);
}

/// A future that has been polled waits for a lock, gets it, and is never polled again, while its
/// task waits for the same lock.
///
/// After <https://rfd.shared.oxide.computer/rfd/0609> and <https://github.com/smol-rs/async-lock/issues/91>.
pub async fn futurelock_select() {
    let lock = Arc::new(Mutex::new(()).named("shared"));
    let background = lock.lock().await;
    let wanted = lock.clone();
    let (queued, is_queued) = oneshot::channel();
    let task = spawn(
        "futurelock",
        async move { lock_twice(&wanted, queued).await },
    );
    _ = is_queued.await;
    drop(background);
    _ = task.await;
}

/// Waits for the lock in a future that it does not poll again, and then in another one.
async fn lock_twice(wanted: &Mutex<()>, queued: oneshot::Sender<()>) {
    let mut first = pin!(wanted.lock());
    begin(first.as_mut(), queued).await;
    // The other branch of the `select!`.
    or_another(async { drop(wanted.lock().await) }).await;
}

/// Awaits the future, or in a run that ends, something else, for as long as it takes until the lock is handed over and
/// the task is polled.
async fn or_another(future: impl Future<Output = ()>) {
    if !is_apart() {
        return future.await;
    }
    // The task is woken when the lock is handed over, and by the timer.
    time::sleep(Duration::from_millis(50)).await;
}

/// Polls a future once, which then waits.
async fn begin(mut future: Pin<&mut impl Future>, queued: oneshot::Sender<()>) {
    let mut queued = Some(queued);
    std::future::poll_fn(|cx| {
        assert!(future.as_mut().poll(cx).is_pending());
        _ = queued.take().map(|queued| queued.send(()));
        Poll::Ready(())
    })
    .await;
}

/// The same with the permit of a semaphore.
///
/// After <https://rfd.shared.oxide.computer/rfd/0609>.
pub async fn futurelock_semaphore() {
    let limit = Arc::new(Semaphore::new(1).named("limit"));
    let background = limit.acquire().await;
    let wanted = limit.clone();
    let (queued, is_queued) = oneshot::channel();
    let task = spawn("futurelock", async move {
        let mut first = pin!(wanted.acquire());
        begin(first.as_mut(), queued).await;
        or_another(async { _ = wanted.acquire().await }).await;
    });
    _ = is_queued.await;
    drop(background);
    _ = task.await;
}

/// The same with a lock for reading, which keeps a writer out.
pub async fn futurelock_rwlock() {
    let table = Arc::new(RwLock::new(()).named("table"));
    let background = table.write().await;
    let wanted = table.clone();
    let (queued, is_queued) = oneshot::channel();
    let task = spawn("futurelock", async move {
        let mut first = pin!(wanted.read());
        begin(first.as_mut(), queued).await;
        or_another(async { drop(wanted.write().await) }).await;
    });
    _ = is_queued.await;
    drop(background);
    _ = task.await;
}

/// The same with the notification of a `Notify`.
pub async fn futurelock_notify() {
    let changed = Arc::new(Notify::new().named("changed"));
    let wanted = changed.clone();
    let (queued, is_queued) = oneshot::channel();
    let task = spawn("futurelock", async move {
        let mut first = pin!(wanted.notified());
        begin(first.as_mut(), queued).await;
        or_another(wanted.notified()).await;
    });
    _ = is_queued.await;
    changed.notify_one();
    _ = task.await;
}

/// The same with a place in a channel.
pub async fn futurelock_reserve() {
    let (sender, mut receiver) = mpsc::channel(1);
    _ = sender.send(1).await;
    let (queued, is_queued) = oneshot::channel();
    let task = spawn("futurelock", async move {
        let mut first = pin!(sender.reserve());
        begin(first.as_mut(), queued).await;
        or_another(async { _ = sender.send(2).await }).await;
    });
    _ = is_queued.await;
    _ = receiver.recv().await;
    _ = task.await;
    drop(receiver);
}

/// The same in the task of a connection, which also waits for its client.
///
/// After <https://rfd.shared.oxide.computer/rfd/0609>.
pub async fn futurelock_of_connection() {
    let lock = Arc::new(Mutex::new(()).named("shared"));
    let background = lock.lock().await;
    let wanted = lock.clone();
    let (queued, is_queued) = oneshot::channel();
    let (client, left) = oneshot::channel::<()>();
    let task = spawn("connection", async move {
        select! {
            () = lock_twice(&wanted, queued) => {}
            _ = left => {}
        }
    });
    _ = is_queued.await;
    drop(background);
    _ = task.await;
    drop(client);
}

/// The same with a set of futures, of which the task handles one that is ready.
///
/// After <https://rfd.shared.oxide.computer/rfd/0609>.
pub async fn futurelock_unordered() {
    let lock = Arc::new(Mutex::new(()).named("shared"));
    let background = lock.lock().await;
    let wanted = lock.clone();
    let (queued, is_queued) = oneshot::channel();
    let task = spawn("futurelock", async move {
        let mut requests = FuturesUnordered::new();
        for needs_lock in [true, false] {
            let wanted = &wanted;
            requests.push(async move {
                if needs_lock {
                    drop(wanted.lock().await);
                }
            });
        }
        _ = requests.next().await;
        _ = queued.send(());
        let _second = wanted.lock().await;
    });
    _ = is_queued.await;
    drop(background);
    _ = task.await;
}

/// The same, but the task blocks its worker for the second lock.
///
/// After <https://github.com/tokio-rs/tokio/issues/7892>.
pub async fn futurelock_block_on() {
    let lock = Arc::new(Mutex::new(()).named("shared"));
    let background = lock.lock().await;
    let wanted = lock.clone();
    let (queued, is_queued) = oneshot::channel();
    let task = spawn("futurelock", async move {
        let mut first = pin!(wanted.lock());
        std::future::poll_fn(|cx| {
            assert!(first.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        blitz_io::task::block_in_place(|| {
            let second = Handle::current().block_on(async {
                _ = queued.send(());
                wanted.lock().await
            });
            drop(second);
        });
    });
    _ = is_queued.await;
    drop(background);
    _ = task.await;
}

/// A guard is kept over an await that never ends.
///
/// After <https://github.com/BaranziniLab/biorouter/issues/157>.
pub async fn guard_over_await() {
    let sessions = Arc::new(Mutex::new(()).named("sessions"));
    let guarded = sessions.clone();
    let (locked, is_locked) = oneshot::channel();
    let holder = spawn("holder", async move {
        let _guard = guarded.lock().await;
        _ = locked.send(());
        if is_apart() {
            return time::sleep(Duration::from_millis(1_200)).await;
        }
        std::future::pending().await
    });
    _ = is_locked.await;
    _ = spawn("wants", async move { drop(sessions.lock().await) }).await;
    _ = holder.await;
}

/// The permits of which one is forgotten. In a run that ends, one is left.
fn permits() -> usize {
    if is_apart() { 2 } else { 1 }
}

/// A task forgets its permit and ends.
///
/// After <https://github.com/apache/solr/pull/4236>.
pub async fn leaked_permit() {
    let limit = Arc::new(Semaphore::new(permits()).named("limit"));
    let taken = limit.clone();
    _ = spawn(
        "leaks",
        async move { taken.acquire().await.unwrap().forget() },
    )
    .await;
    _ = spawn("waits", async move { _ = limit.acquire().await }).await;
}

/// A thread forgets its permit and goes on.
pub fn thread_leaked_permit() {
    let limit = thread::Semaphore::new(permits()).named("limit");
    let taken = limit.acquire();
    taken.expect("it is open").forget();
    _ = limit.acquire();
}

/// Two threads take permits of two semaphores in two orders.
pub fn two_thread_semaphores() {
    let files = thread::Semaphore::new(1).named("files");
    let sockets = thread::Semaphore::new(1).named("sockets");
    let both = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _file = files.acquire();
            both.wait();
            _ = sockets.acquire();
        });
        let _socket = sockets.acquire();
        both.wait();
        _ = files.acquire();
    });
}

/// Two threads take two mutexes in two orders.
///
/// After <https://github.com/1jehuang/jcode/issues/875>.
pub fn two_thread_mutexes() {
    let (one, two) = (thread::Mutex::new(()), thread::Mutex::new(()));
    let both = std::sync::Barrier::new(meeting(2));
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let _first = one.lock();
            both.wait();
            let _second = two.lock();
        });
        if is_apart() {
            other.join().expect("it meets no other thread");
        }
        let _first = two.lock();
        both.wait();
        let _second = one.lock();
    });
}

/// Each of two values is made from the other one.
pub fn values_need_each_other() {
    let config = thread::OnceLock::new().named("config");
    let logger = thread::OnceLock::new().named("logger");
    let both = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            config.get_or_init(|| {
                both.wait();
                *logger.get_or_init(|| 0)
            })
        });
        logger.get_or_init(|| {
            both.wait();
            *config.get_or_init(|| 0)
        });
    });
}

/// A thread locks its own mutex a second time.
pub fn thread_self_lock() {
    let lock = thread::Mutex::new(());
    let _guard = lock.lock();
    let _again = lock.lock();
}

/// A thread takes a read lock twice, with a writer between.
///
/// After <https://github.com/Amanieu/parking_lot/issues/212>.
pub fn thread_read_twice() {
    let lock = thread::RwLock::new(());
    std::thread::scope(|scope| {
        if is_apart() {
            let writer = scope.spawn(|| drop(lock.write()));
            writer.join().expect("it meets no reader");
        }
        let _outer = lock.read();
        if !is_apart() {
            scope.spawn(|| drop(lock.write()));
            while lock.try_read().is_some() {
                std::thread::yield_now();
            }
        }
        let _inner = lock.read();
    });
}

/// A thread upgrades its read lock, and a reader wants to be the upgradable one before it leaves.
pub fn thread_upgrade_beside_reader() {
    let table = thread::RwLock::new(0);
    let both = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _seen = table.read();
            both.wait();
            drop(table.upgradable_read());
        });
        let upgradable = table.upgradable_read();
        both.wait();
        *thread::RwLockUpgradableReadGuard::upgrade(upgradable) += 1;
    });
}

/// A thread that may become the writer of a table wants the log, whose owner writes to the table.
pub fn thread_write_beside_upgradable() {
    let (table, log) = (thread::RwLock::new(0), thread::Mutex::new(()));
    let both = std::sync::Barrier::new(meeting(2));
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let _log = log.lock();
            both.wait();
            *table.write() += 1;
        });
        if is_apart() {
            other.join().expect("it meets no other thread");
        }
        let _upgradable = table.upgradable_read();
        both.wait();
        drop(log.lock());
    });
}

/// A thread reads what it writes, in the way that is right within a read lock.
pub fn thread_read_in_write() {
    let table = thread::RwLock::new(0);
    let _writes = table.write();
    drop(table.read_recursive());
}

/// A thread and a task hold each other's lock.
pub fn thread_and_task() {
    let ours = Arc::new(thread::Mutex::new(()));
    let theirs = Arc::new(Mutex::new(()).named("theirs"));
    let has_ours = (!is_apart()).then(|| ours.lock());
    let (locked, is_locked) = std::sync::mpsc::channel();
    let (a, b) = (ours.clone(), theirs.clone());
    let runtime = blitz_io::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build();
    let runtime = runtime.expect("the system has threads");
    let task = runtime.spawn(async move {
        let guard = b.lock().await;
        locked.send(()).expect("the thread waits for it");
        drop(a.lock());
        drop(guard);
    });
    is_locked.recv().expect("the task sends it");
    let has_ours = has_ours.unwrap_or_else(|| {
        runtime.block_on(task).expect("it meets no other thread");
        ours.lock()
    });
    drop(theirs.blocking_lock());
    drop(has_ours);
}

/// Two tasks read, and both want to write while they do.
///
/// After <https://github.com/Amanieu/parking_lot/issues/200>.
pub async fn two_readers_upgrade() {
    let table = Arc::new(RwLock::new(0).named("table"));
    let both = Arc::new(Barrier::new(2));
    let tasks = ["first", "second"].map(|name| {
        let (table, both) = (table.clone(), both.clone());
        spawn(name, async move {
            let seen = table.read().await;
            both.wait().await;
            *table.write().await = *seen + 1;
        })
    });
    for task in tasks {
        _ = task.await;
    }
}

/// Two tasks take permits of two semaphores in two orders.
pub async fn two_semaphores() {
    let files = Arc::new(Semaphore::new(1).named("files"));
    let sockets = Arc::new(Semaphore::new(1).named("sockets"));
    let both = Arc::new(Barrier::new(2));
    let (f, s, other) = (files.clone(), sockets.clone(), both.clone());
    let one = spawn("upload", async move {
        let _file = f.acquire().await;
        other.wait().await;
        _ = s.acquire().await;
    });
    let two = spawn("download", async move {
        let _socket = sockets.acquire().await;
        both.wait().await;
        _ = files.acquire().await;
    });
    _ = (one.await, two.await);
}
