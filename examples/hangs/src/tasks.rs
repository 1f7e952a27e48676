//! Hangs of tasks.

use std::sync::Arc;

use blitz_io::inspect::Named;
use blitz_io::sync::{Mutex, oneshot};
use blitz_io::thread;

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
