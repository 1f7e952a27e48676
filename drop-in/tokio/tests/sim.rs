//! A program that names Tokio runs its tasks in many orders.

#![cfg(all(feature = "sim", feature = "sync", feature = "time"))]

use std::sync::Arc;
use std::time::Duration;

use tokio::sim::{Builder, Cause};
use tokio::sync::{Mutex, mpsc};
use tokio::time::{sleep, timeout};

/// A connection that is lost if the task that waits for it gives up at the wrong moment: the value is received, and
/// dropped with the future that would have put it back.
async fn leaking_pool(puts_back_at_once: bool) {
    let (sender, receiver) = mpsc::channel::<u32>(1);
    let receiver = Arc::new(Mutex::new(receiver));
    sender.send(1).await.unwrap();
    let users: Vec<_> = (0..2)
        .map(|_| {
            let (sender, receiver) = (sender.clone(), receiver.clone());
            tokio::spawn(async move {
                let uses = async {
                    let connection = receiver.lock().await.recv().await.unwrap();
                    if puts_back_at_once {
                        sender.try_send(connection).unwrap();
                        sleep(Duration::from_secs(2)).await;
                    } else {
                        sleep(Duration::from_secs(2)).await;
                        sender.try_send(connection).unwrap();
                    }
                };
                _ = timeout(Duration::from_secs(1), uses).await;
            })
        })
        .collect();
    for user in users {
        user.await.unwrap();
    }
    assert_eq!(receiver.lock().await.try_recv(), Ok(1));
}

#[test]
fn a_lost_connection_is_found() {
    Builder::new().seeds(200).run(|| leaking_pool(true));
    let failure = Builder::new().check(|| leaking_pool(false)).unwrap_err();
    assert!(matches!(failure.cause(), Cause::Panic(_)), "{failure}");
}

/// With real workers, two tasks are between two points at once.
#[cfg(all(
    feature = "macros",
    feature = "sim-threads",
    target_os = "linux",
    target_arch = "x86_64",
    target_env = "gnu"
))]
mod threads {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use std::thread;

    async fn loses_an_update() {
        let count = Arc::new(AtomicU32::new(0));
        let tasks = [0; 2].map(|_| {
            let count = count.clone();
            tokio::spawn(async move {
                let before = count.load(Relaxed);
                // A call, and no point of a task.
                thread::yield_now();
                count.store(before + 1, Relaxed);
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(count.load(Relaxed), 2);
    }

    #[tokio::sim(seeds = 50)]
    async fn one_thread_loses_no_update() {
        loses_an_update().await;
    }

    #[tokio::sim(threads = "all")]
    #[should_panic(expected = "failed with status 1, in run ")]
    async fn two_workers_lose_an_update() {
        loses_an_update().await;
    }
}
