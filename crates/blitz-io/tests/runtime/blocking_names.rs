//! The methods of ours that block a thread: they have Tokio's prefix, or crossbeam's names with a time
//! limit, and panic in a task as Tokio's do.

use std::panic::catch_unwind;
use std::time::{Duration, Instant};

use blitz_io::sync::mpsc::error::RecvTimeoutError;
use blitz_io::sync::{broadcast, mpmc, mpsc, oneshot, watch};

const SOON: Duration = Duration::from_millis(1);

/// Each would return at once: a task learns of its mistake before the channel happens to be full.
fn all() -> [fn(); 14] {
    [
        || {
            let (sender, _receiver) = mpmc::bounded(1);
            sender.blocking_send(()).unwrap();
        },
        || {
            let (sender, _receiver) = mpmc::bounded(1);
            sender.send_timeout((), SOON).unwrap();
        },
        || {
            let (sender, _receiver) = mpmc::bounded(1);
            sender.send_deadline((), Instant::now()).unwrap();
        },
        || {
            let (sender, _) = mpmc::bounded::<()>(1);
            sender.blocking_closed();
        },
        || {
            let (_, receiver) = mpmc::bounded::<()>(1);
            assert!(receiver.blocking_recv().is_err());
        },
        || {
            let (_sender, receiver) = mpmc::bounded::<()>(1);
            assert!(receiver.recv_timeout(SOON).unwrap_err().is_timeout());
        },
        || {
            let (_sender, receiver) = mpmc::bounded::<()>(1);
            let received = receiver.recv_deadline(Instant::now());
            assert!(received.unwrap_err().is_timeout());
        },
        || {
            let (_, receiver) = mpmc::bounded::<()>(1);
            assert_eq!(receiver.iter().count(), 0);
        },
        || {
            let (sender, _receiver) = mpsc::channel(1);
            sender.blocking_send_timeout((), SOON).unwrap();
        },
        || {
            let (_, mut receiver) = mpsc::channel::<()>(1);
            let received = receiver.blocking_recv_timeout(SOON);
            assert_eq!(received, Err(RecvTimeoutError::Closed));
        },
        || {
            let (_sender, mut receiver) = oneshot::channel::<()>();
            let received = receiver.blocking_recv_timeout(SOON);
            assert_eq!(received, Err(RecvTimeoutError::Timeout));
        },
        || {
            let (_, mut receiver) = broadcast::channel::<()>(1);
            assert!(receiver.blocking_recv_timeout(SOON).is_err());
        },
        || {
            let (_sender, mut receiver) = watch::channel(());
            let changed = receiver.blocking_changed_timeout(SOON);
            assert_eq!(changed, Err(RecvTimeoutError::Timeout));
        },
        || {
            let (_sender, mut receiver) = watch::channel(1);
            assert_eq!(
                *receiver
                    .blocking_wait_for_timeout(|&n| n == 1, SOON)
                    .unwrap(),
                1
            );
        },
    ]
}

fn refused(operation: fn()) -> bool {
    let panicked = catch_unwind(operation).unwrap_err();
    let text = panicked.downcast_ref::<&str>().map(|text| text.to_string());
    let text = text.or_else(|| panicked.downcast_ref::<String>().cloned());
    text.unwrap()
        .starts_with("Cannot block the current thread from within a runtime.")
}

#[blitz_io::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_task_must_not_block_in_any_channel() {
    for (number, operation) in all().into_iter().enumerate() {
        assert!(refused(operation), "operation {number}");
    }
    let task =
        blitz_io::task::spawn_blocking(|| all().into_iter().for_each(|operation| operation()));
    task.await.unwrap();
}

/// Code with the former names compiles, with a hint at the new one.
#[test]
#[allow(deprecated)]
fn the_former_names_still_work() {
    let (sender, receiver) = mpmc::bounded(1);
    sender.send_blocking(1).unwrap();
    assert_eq!(receiver.recv_blocking(), Ok(1));
    drop(receiver);
    sender.closed_blocking();
    assert_eq!(RecvTimeoutError::Disconnected, RecvTimeoutError::Closed);
    let semaphore = blitz_io::thread::Semaphore::new(1);
    assert!(semaphore.try_acquire_for(SOON).is_ok());
    assert!(semaphore.try_acquire_until(Instant::now()).is_ok());
    assert!(blitz_io::thread::Latch::new(0).wait_until(Instant::now()));
    let word = blitz_io::futex::atomic::AtomicU32::new(0);
    let result = blitz_io::futex::wait_until(&word, 1, None);
    assert_eq!(result, blitz_io::futex::WaitResult::ValueChanged);
}
