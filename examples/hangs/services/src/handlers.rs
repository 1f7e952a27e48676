//! Handlers that hang, one for each finding of `blitz why`.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use blitz_io::inspect::Named;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{Barrier, Mutex, Notify, Semaphore, oneshot};
use tokio::{task, time};

use crate::peers;

/// The state that the handlers share.
pub struct State {
    accounts: Mutex<u64>,
    audit: Mutex<u64>,
    both: Barrier,
    /// Ends the service.
    pub ends: Notify,
}

impl Default for State {
    fn default() -> Self {
        Self {
            accounts: Mutex::new(0).named("accounts"),
            audit: Mutex::new(0).named("audit"),
            both: Barrier::new(2),
            ends: Notify::new(),
        }
    }
}

/// Runs the handler with this name. Returns `false` if there is none.
pub async fn handle(state: &State, name: &str) -> bool {
    match name {
        "healthy" => *state.accounts.lock().await += 1,
        "transfer" => in_order(state, &state.accounts, &state.audit).await,
        "report" => in_order(state, &state.audit, &state.accounts).await,
        "transfer-alone" => alone(&state.accounts, &state.audit).await,
        "report-alone" => alone(&state.audit, &state.accounts).await,
        "exit" => std::process::exit(0),
        "self-wait" => own_lock(state).await,
        "self-wait-task" => own_lock_in_a_task().await,
        "futurelock" => futurelock().await,
        "pool-starvation" => pool_starvation().await,
        "lost-holder" => lost_holder().await,
        "all-asleep" => state.ends.notify_one(),
        "stopped-peer" => _ = task::spawn_blocking(peers::receive).await,
        "long-poll" => long_poll(),
        "not-polled" => not_polled().await,
        "not-driven" => not_driven().await,
        "never-woken" => never_woken(state).await,
        "long-wait" => long_wait().await,
        _ => return false,
    }
    true
}

/// Two handlers take two locks, each in its own order.
async fn in_order(state: &State, first: &Mutex<u64>, second: &Mutex<u64>) {
    let mut first = first.lock().await;
    state.both.wait().await;
    let second = second.lock().await;
    *first += *second;
}

/// A handler takes two locks, and nobody else wants them.
async fn alone(first: &Mutex<u64>, second: &Mutex<u64>) {
    let mut first = first.lock().await;
    time::sleep(Duration::from_millis(1)).await;
    *first += *second.lock().await;
}

/// A handler locks what it has locked already.
async fn own_lock(state: &State) {
    let mut total = state.accounts.lock().await;
    *total += *state.accounts.lock().await;
}

/// The same in a task that the handler awaits.
async fn own_lock_in_a_task() {
    let cache = Arc::new(Mutex::new(0));
    let refresh = task::spawn(async move {
        let _guard = cache.lock().await;
        let _again = cache.lock().await;
    });
    _ = refresh.await;
}

/// A task polls a future, which then waits for a lock and gets it, and waits for the lock in another one.
async fn futurelock() {
    let lock = Arc::new(Mutex::new(()));
    let background = lock.lock().await;
    let wanted = lock.clone();
    let (queued, is_queued) = oneshot::channel();
    let handles = task::spawn(async move {
        let mut first = pin!(wanted.lock());
        std::future::poll_fn(|cx| {
            assert!(first.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        _ = queued.send(());
        let _second = wanted.lock().await;
    });
    _ = is_queued.await;
    drop(background);
    _ = handles.await;
}

/// Closures for blocking work wait for others, which have no threads as they keep all.
async fn pool_starvation() {
    let both = Arc::new(std::sync::Barrier::new(crate::BLOCKING_THREADS));
    let jobs: Vec<_> = (0..crate::BLOCKING_THREADS)
        .map(|_| {
            let both = both.clone();
            task::spawn_blocking(move || {
                both.wait();
                _ = Handle::current().block_on(task::spawn_blocking(|| {}));
            })
        })
        .collect();
    for job in jobs {
        _ = job.await;
    }
}

/// A task forgets its permit and ends.
async fn lost_holder() {
    let limit = Arc::new(Semaphore::new(1));
    let taken = limit.clone();
    let fails = task::spawn(async move { taken.acquire().await.map(|permit| permit.forget()) });
    _ = fails.await;
    _ = limit.acquire().await;
}

/// A handler waits for a lock of threads, whose holder never releases it.
fn long_poll() {
    let lock = Arc::new(std::sync::Mutex::new(()));
    let held = lock.clone();
    let (locked, is_locked) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let _guard = held.lock();
        _ = locked.send(());
        loop {
            std::thread::park();
        }
    });
    _ = is_locked.recv();
    drop(lock.lock());
}

/// Spawns a future into a runtime of its own, which a thread drives for one turn.
async fn drive_once(future: impl Future + Send + 'static) {
    let (driven, is_driven) = oneshot::channel();
    std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_time().build();
        let runtime = runtime.expect("the system has threads");
        runtime.block_on(async {
            drop(task::spawn(async { _ = future.await }));
            task::yield_now().await;
        });
        _ = driven.send(());
        loop {
            std::thread::park();
        }
    });
    _ = is_driven.await;
}

/// A task is woken after the thread has stopped to drive its runtime.
async fn not_polled() {
    let (give, take) = oneshot::channel::<()>();
    drive_once(take).await;
    _ = give.send(());
    std::future::pending().await
}

/// A task sleeps in a runtime that no thread drives.
async fn not_driven() {
    // The timer is that of the runtime in which it begins. It is long enough that the thread has stopped before.
    drive_once(async { time::sleep(Duration::from_secs(1)).await }).await;
    std::future::pending().await
}

/// A task with a lock waits for something that never wakes it.
async fn never_woken(state: &State) {
    let lock = Arc::new(Mutex::new(()));
    let held = lock.clone();
    let (locked, is_locked) = oneshot::channel();
    drop(task::spawn(async move {
        let _guard = held.lock().await;
        _ = locked.send(());
        std::future::pending::<()>().await;
    }));
    _ = is_locked.await;
    let _guard = lock.lock().await;
    *state.accounts.lock().await += 1;
}

/// Two tasks take turns with a lock, until one of them keeps it.
async fn long_wait() {
    let lock = Arc::new(Mutex::new(()));
    let other = lock.clone();
    drop(task::spawn(async move {
        loop {
            let _guard = other.lock().await;
            task::yield_now().await;
        }
    }));
    for _ in 0..4_000 {
        let _guard = lock.lock().await;
        task::yield_now().await;
    }
    let _guard = lock.lock().await;
    time::sleep(Duration::from_secs(3600)).await;
}

/// Two threads take two locks in two orders, when the service has ended.
pub fn after_the_end() {
    let one = std::sync::Mutex::new(());
    let two = std::sync::Mutex::new(());
    let both = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _one = one.lock();
            both.wait();
            let _two = two.lock();
        });
        let _two = two.lock();
        both.wait();
        let _one = one.lock();
    });
}
