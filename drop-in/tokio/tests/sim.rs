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
