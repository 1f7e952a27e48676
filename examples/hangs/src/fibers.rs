//! Hangs of fibers, and of polls that sleep.

use std::sync::Arc;
use std::time::Duration;

use blitz_io::fiber;
use blitz_io::sync::oneshot;
use blitz_io::{thread, time};

use crate::spawn;

const LONG: Duration = Duration::from_secs(3600);

/// A fiber suspends with a lock of threads. Another task of its thread waits for the lock, and so the thread resumes the fiber
/// no more.
pub async fn fiber_holds_lock() {
    let lock = Arc::new(thread::Mutex::new(()));
    let both = spawn("both", async move {
        let wants = lock.clone();
        let (locked, is_locked) = oneshot::channel();
        let holds = fiber::Builder::new().name("holds").spawn(move || {
            let _guard = lock.lock();
            _ = locked.send(std::thread::current().id());
            fiber::block_on(time::sleep(LONG));
        });
        let home = is_locked.await.expect("it is sent");
        // Fibers begin on any worker. One that began on the other thread ends again.
        loop {
            let wants = wants.clone();
            let wants = fiber::spawn(move || {
                if std::thread::current().id() == home {
                    drop(wants.lock());
                }
            });
            _ = wants.await;
            blitz_io::task::yield_now().await;
            if holds.is_err() {
                return;
            }
        }
    });
    _ = both.await;
}

/// A task sleeps as a thread does, so its worker runs no other task.
pub async fn poll_sleeps() {
    _ = spawn("resolves", async { resolve() }).await;
}

#[inline(never)]
fn resolve() {
    std::thread::sleep(LONG);
}
