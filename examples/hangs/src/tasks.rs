//! Hangs of tasks.

use std::sync::Arc;

use blitz_io::inspect::Named;
use blitz_io::runtime::Handle;
use blitz_io::sync::{Barrier, Mutex, oneshot};
use blitz_io::{task, thread};

use crate::spawn;

/// Two tasks await each other.
pub async fn join_each_other() {
    let (give, take) = oneshot::channel();
    let one = spawn("one", async move {
        let two: blitz_io::task::JoinHandle<()> = take.await.expect("it is sent");
        _ = two.await;
    });
    let two = spawn("two", async move { _ = one.await });
    _ = give.send(two);
    std::future::pending().await
}

/// A task awaits another one, which waits for its lock.
///
/// After <https://github.com/rustdesk/rustdesk/pull/622>.
pub async fn join_holds_lock() {
    let lock = Arc::new(Mutex::new(()).named("state"));
    let wants = lock.clone();
    _ = spawn("parent", async move {
        let _guard = lock.lock().await;
        _ = spawn("child", async move { drop(wants.lock().await) }).await;
    })
    .await;
}

/// A task blocks its worker with a lock of threads that a thread never releases.
///
/// After <https://github.com/mvniekerk/tokio-cron-scheduler/issues/110>.
pub async fn blocked_worker() {
    let lock = Arc::new(thread::Mutex::new(()));
    let held = lock.clone();
    let (locked, is_locked) = oneshot::channel();
    std::thread::spawn(move || {
        let _guard = held.lock();
        _ = locked.send(());
        loop {
            std::thread::park();
        }
    });
    _ = is_locked.await;
    _ = spawn("blocks", async move { drop(lock.lock()) }).await;
}

/// A barrier for three, of which one never comes.
///
/// After <https://github.com/h2oai/datatable/pull/2521>.
pub async fn missing_party() {
    let ready = Arc::new(Barrier::new(3).named("ready"));
    let tasks = ["one", "two"].map(|name| {
        let ready = ready.clone();
        spawn(name, async move { _ = ready.wait().await })
    });
    for task in tasks {
        _ = task.await;
    }
}

/// The same with threads.
///
/// After <https://github.com/jonhoo/bustle/pull/11>.
pub fn thread_missing_party() {
    let ready = Barrier::new(3).named("ready");
    std::thread::scope(|scope| {
        scope.spawn(|| ready.blocking_wait());
        ready.blocking_wait();
    });
}

/// A task blocks its worker until a task has ended that waits for it.
///
/// After <https://github.com/tokio-rs/tokio/issues/2376>.
pub async fn block_on_in_worker() {
    let lock = Arc::new(Mutex::new(()).named("state"));
    let wants = lock.clone();
    _ = spawn("outer", async move {
        let _guard = lock.lock().await;
        let inner = spawn("inner", async move { drop(wants.lock().await) });
        task::block_in_place(|| Handle::current().block_on(inner)).expect("it does not panic");
    })
    .await;
}
