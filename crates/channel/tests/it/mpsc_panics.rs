//! `mpsc`: a waker that panics keeps no other waiter from its value, permit or wake.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::thread;

use blitz_io_channel::mpsc;
use blitz_io_testing::{Wakings, ms, poll_once, shouting_waker};

fn panics(run: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(run)).is_err()
}

#[test]
fn all_are_served() {
    let (tx, mut rx) = mpsc::channel(3);
    let permits = tx.try_reserve_many(3).unwrap();
    let mut first = Box::pin(tx.send(1));
    assert!(poll_once(first.as_mut(), &shouting_waker()).is_pending());
    thread::scope(|scope| {
        // Its value is sent for it, and the others are served afterwards.
        let second = scope.spawn(|| tx.blocking_send(2));
        thread::sleep(ms(50));
        let (wakings, waker) = Wakings::new();
        let mut third = Box::pin(tx.send(3));
        assert!(poll_once(third.as_mut(), &waker).is_pending());
        assert!(panics(|| drop(permits)));
        assert_eq!(wakings.count(), 1);
        assert_eq!(second.join().unwrap(), Ok(()));
        assert_eq!(poll_once(third.as_mut(), &waker), Poll::Ready(Ok(())));
    });
    let (_, waker) = Wakings::new();
    assert_eq!(poll_once(first.as_mut(), &waker), Poll::Ready(Ok(())));
    let mut got = [(); 3].map(|()| rx.try_recv().unwrap());
    got.sort_unstable();
    assert_eq!(got, [1, 2, 3]);
}

/// The thread that drops the permits sends the value of a waiting thread. It tries again if the
/// waiting thread was too late for that.
#[test]
fn a_receiver_whose_waker_panics_keeps_nobody_waiting() {
    let served = |patience| {
        let (tx, mut rx) = mpsc::channel(2);
        let permits = tx.try_reserve_many(2).unwrap();
        assert!(poll_once(pin!(rx.recv()), &shouting_waker()).is_pending());
        thread::scope(|scope| {
            let first = scope.spawn(|| catch_unwind(AssertUnwindSafe(|| tx.blocking_send(1))));
            thread::sleep(patience);
            let (wakings, waker) = Wakings::new();
            let mut second = Box::pin(tx.send(2));
            assert!(poll_once(second.as_mut(), &waker).is_pending());
            if !panics(|| drop(permits)) {
                return false;
            }
            assert_eq!(wakings.count(), 1);
            assert_eq!(first.join().unwrap().unwrap(), Ok(()));
            assert_eq!(poll_once(second.as_mut(), &waker), Poll::Ready(Ok(())));
            assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(1), Ok(2)));
            true
        })
    };
    assert!((0..10).any(|attempt| served(ms(50 << attempt))));
}

#[test]
fn who_waits_for_the_end_is_told() {
    let (tx, mut rx) = mpsc::channel(1);
    tx.try_send(1).unwrap();
    let (wakings, waker) = Wakings::new();
    let mut sender = Box::pin(tx.send(2));
    let mut watcher = Box::pin(tx.closed());
    assert!(poll_once(sender.as_mut(), &shouting_waker()).is_pending());
    assert!(poll_once(watcher.as_mut(), &waker).is_pending());
    assert!(panics(|| rx.close()));
    assert_eq!(wakings.count(), 1);
    assert!(poll_once(watcher.as_mut(), &waker).is_ready());
}

/// Both wakers panic when the receiver is dropped.
#[test]
fn two_panics_are_one() {
    let (tx, rx) = mpsc::channel(1);
    tx.try_send(1).unwrap();
    let mut sender = Box::pin(tx.send(2));
    let mut watcher = Box::pin(tx.closed());
    assert!(poll_once(sender.as_mut(), &shouting_waker()).is_pending());
    assert!(poll_once(watcher.as_mut(), &shouting_waker()).is_pending());
    assert!(panics(|| drop(rx)));
    let (_, waker) = Wakings::new();
    assert!(poll_once(watcher.as_mut(), &waker).is_ready());
}
