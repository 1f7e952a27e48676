//! Models of `mpsc`: a thread that waits for room hands its value over, and the thread that makes
//! room sends it. The waiting thread's next value comes later.

use crate::model;

use blitz_io_channel::mpsc;
use loom::thread;
use model::model_in_order as model;

/// The receiver makes room for two.
fn the_receiver_serves() {
    model(2, || {
        let (tx, mut rx) = mpsc::channel(2);
        tx.try_send(-2).unwrap();
        tx.try_send(-1).unwrap();
        let receiver = thread::spawn(move || {
            let mut got = Vec::new();
            while rx.blocking_recv_many(&mut got, 2) != 0 {}
            got
        });
        tx.blocking_send(1).unwrap();
        let both = tx.try_send(2).is_ok();
        drop(tx);
        let got = receiver.join().unwrap();
        assert_eq!(got, [-2, -1, 1, 2][..if both { 4 } else { 3 }]);
    });
}

/// Permits come back.
fn a_permit_serves() {
    model(2, || {
        let (tx, mut rx) = mpsc::channel(2);
        let permits = [(); 2].map(|()| tx.clone().try_reserve_owned().unwrap());
        let other = thread::spawn(move || drop(permits));
        tx.blocking_send(1).unwrap();
        let both = tx.try_send(2).is_ok();
        // After a sender's wait has ended, its value can be received.
        assert_eq!(rx.try_recv(), Ok(1));
        assert_eq!(rx.try_recv().is_ok(), both);
        other.join().unwrap();
        assert_eq!(tx.capacity(), 2);
    });
}

#[test]
fn what_is_sent_next_comes_later() {
    the_receiver_serves();
}

#[test]
fn what_was_sent_is_there() {
    a_permit_serves();
}
