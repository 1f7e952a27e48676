//! Chapter 6: a token asks tasks to end, each at a place that it chooses.

use std::time::Duration;

use blitz_io::sync::{CancellationToken, mpsc};
use blitz_io::time::sleep;

// ANCHOR: worker
/// Handles requests until the token is cancelled; returns how many.
async fn worker(mut requests: mpsc::Receiver<u64>, stop: CancellationToken) -> u64 {
    let mut handled = 0;
    loop {
        blitz_io::select! {
            biased; // the branches are checked in this order
            () = stop.cancelled() => return handled,
            request = requests.recv() => match request {
                // Outside of `select!`, so a request that was received is handled.
                Some(request) => handled += handle(request).await,
                None => return handled,
            },
        }
    }
}
// ANCHOR_END: worker

async fn handle(request: u64) -> u64 {
    sleep(Duration::from_millis(request)).await;
    1
}

#[blitz_io::main]
async fn main() {
    let stop = CancellationToken::new();
    let (sender, requests) = mpsc::channel(16);
    // A child token ends with its parent, and can be cancelled alone.
    let one = blitz_io::spawn(worker(requests, stop.child_token()));
    for request in [1, 2, 3] {
        sender.send(request).await.unwrap();
    }
    // Wait until the worker has taken all three.
    while sender.capacity() < sender.max_capacity() {
        sleep(Duration::from_millis(1)).await;
    }
    stop.cancel();
    assert_eq!(one.await.unwrap(), 3);
    assert!(sender.send(4).await.is_err(), "the receiver is gone");
    println!("3 requests, then cancelled");
}
