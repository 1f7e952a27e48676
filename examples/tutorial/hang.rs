//! Chapter 10: two services that hang, and how the runtime shows why.

use std::sync::Arc;
use std::sync::mpsc as reports;
use std::time::Duration;

use blitz_io::runtime::Builder;
use blitz_io::sync::{Mutex, oneshot};
use blitz_io::time::timeout;

// ANCHOR: stall
/// A task blocks its worker. The runtime reports which one, and where it was spawned.
fn a_task_that_blocks() {
    let (report, stalls) = reports::channel();
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .on_worker_stalled(Duration::from_millis(20), move |stalled| {
            _ = report.send(format!("{stalled:?}"));
        })
        .build()
        .unwrap();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let blocked = runtime.spawn(async move {
        // The mistake: `std`'s `recv` blocks the thread. Our channels have `recv().await`.
        _ = released.recv();
    });
    let stall = stalls.recv().unwrap();
    println!("stalled: {stall}");
    release.send(()).unwrap();
    runtime.block_on(blocked).unwrap();
}
// ANCHOR_END: stall

// ANCHOR: cycle
/// Two tasks take two locks in opposite orders. No worker is stalled: both tasks wait.
async fn two_locks() {
    let (left, right) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    let (has_left, left_taken) = oneshot::channel();
    let (has_right, right_taken) = oneshot::channel();
    let (l, r) = (left.clone(), right.clone());
    let one = blitz_io::spawn(async move {
        let _left = l.lock().await;
        has_left.send(()).unwrap();
        right_taken.await.unwrap();
        // A limit at each wait for a lock makes an error of a hang, and names the place.
        timeout(Duration::from_millis(20), r.lock()).await.is_err()
    });
    let two = blitz_io::spawn(async move {
        let _right = right.lock().await;
        has_right.send(()).unwrap();
        left_taken.await.unwrap();
        let _left = left.lock().await; // continues when `one` has given up
    });
    assert!(one.await.unwrap(), "the cycle is found");
    two.await.unwrap();
    println!("one task gave up, so the other went on");
}
// ANCHOR_END: cycle

fn main() {
    a_task_that_blocks();
    let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(two_locks());
}
