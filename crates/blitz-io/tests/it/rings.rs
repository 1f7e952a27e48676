//! Rings in shared memory between tasks of a simulation, on hosts that crash.

use std::time::Duration;

use blitz_io::ipc::{RecvError, Route};
use blitz_io::sim::{self, Builder};
use blitz_io::time::{Instant, sleep, timeout};

/// The sender waits for room and the receiver for messages, and no wait takes time.
#[test]
fn ends_wait_for_each_other() {
    let report = Builder::new().seeds(60).run(|| async {
        let place = tempfile::tempdir().unwrap();
        let ring = Route::builder().directory(place.path()).capacity(2);
        let mut receiver = ring.receiver("ring").unwrap();
        let mut sender = ring.sender("ring").unwrap();
        let began = Instant::now();
        let sends = blitz_io::spawn(async move {
            for number in 0..8 {
                let has_room = sender.try_send(&[number]).is_ok();
                sim::sometimes("it has room", has_room);
                sim::sometimes("it is full", !has_room);
                if !has_room {
                    sender.send_async(&[number]).await.unwrap();
                }
                blitz_io::task::consume_budget().await;
            }
        });
        for number in 0..8 {
            assert_eq!(*receiver.recv_async().await.unwrap(), [number]);
        }
        sends.await.unwrap();
        let end = receiver.recv_async().await.map(|_| ());
        assert_eq!(end, Err(RecvError::Disconnected));
        assert_eq!(began.elapsed(), Duration::ZERO);
    });
    assert!(report.never().is_empty(), "{report:?}");
}

/// A wait that is dropped leaves nothing, and the next one is woken.
#[test]
fn a_wait_may_be_dropped() {
    Builder::new().seeds(60).run(|| async {
        let place = tempfile::tempdir().unwrap();
        let ring = Route::builder().directory(place.path());
        let mut receiver = ring.receiver("ring").unwrap();
        let mut sender = ring.sender("ring").unwrap();
        let sends = blitz_io::spawn(async move {
            sleep(Duration::from_secs(2)).await;
            sender.send_async(b"late").await.unwrap();
            sender
        });
        let early = timeout(Duration::from_secs(1), receiver.recv_async());
        assert!(early.await.is_err());
        assert_eq!(*receiver.recv_async().await.unwrap(), *b"late");
        drop(sends.await.unwrap());
    });
}
