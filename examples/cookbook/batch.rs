//! Batches of up to so many items, or of those that came within a time.

use std::time::Duration;

use blitz_io::sync::mpsc;
use blitz_io::time::{Instant, sleep, timeout_at};

/// Returns the next batch: empty only at the end.
async fn batch<T>(items: &mut mpsc::Receiver<T>, most: usize, wait: Duration) -> Vec<T> {
    let mut batch = Vec::new();
    // Without an item there is no batch, and no deadline.
    if items.recv_many(&mut batch, most).await == 0 {
        return batch;
    }
    let deadline = Instant::now() + wait;
    while batch.len() < most {
        let room = most - batch.len();
        match timeout_at(deadline, items.recv_many(&mut batch, room)).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
    }
    batch
}

#[blitz_io::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    let (sender, mut items) = mpsc::channel(100);
    blitz_io::spawn(async move {
        for item in 0..25 {
            sender.send(item).await.unwrap();
        }
        sleep(Duration::from_secs(1)).await;
        sender.send(25).await.unwrap();
    });
    let mut sizes = Vec::new();
    loop {
        let batch = batch(&mut items, 10, Duration::from_millis(50)).await;
        if batch.is_empty() {
            break;
        }
        sizes.push(batch.len());
    }
    println!("batches of {sizes:?}");
    assert_eq!(sizes, [10, 10, 5, 1]);
}
