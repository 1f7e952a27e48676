//! A program that works, for `blitz top`: a contended lock, and channels with values.

use std::sync::Arc;
use std::time::Duration;

use blitz_io::inspect::Named;
use blitz_io::sync::{Mutex, broadcast, mpmc, mpsc};
use blitz_io::time::sleep;

use crate::spawn;

/// Two tasks take one lock in turn, and a third one waits for room in a channel. Two other channels have
/// one value each.
pub async fn contended() {
    let sessions = Arc::new(Mutex::new(0_u64).named("sessions"));
    let users = ["login", "logout"].map(|name| {
        let sessions = sessions.clone();
        spawn(name, async move {
            loop {
                let mut sessions = sessions.lock().await;
                *sessions += 1;
                sleep(Duration::from_millis(2)).await;
            }
        })
    });
    let (results, _queue) = mpmc::bounded(3);
    let results = results.named("results");
    _ = results.try_send(0_u64);
    let (events, _subscriber) = broadcast::channel(2);
    let events = events.named("events");
    _ = events.send(0_u64);
    let (sender, _receiver) = mpsc::channel(4);
    let sender = sender.named("orders");
    let producer = spawn("producer", async move {
        while sender.send(0_u64).await.is_ok() {}
    });
    for user in users {
        _ = user.await;
    }
    _ = producer.await;
}
