//! Models of the channel for one value.

use crate::model;

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use blitz_io_channel::oneshot::error::{RecvTimeoutError, TryRecvError};
use blitz_io_channel::oneshot::{self, Slot};
use loom::thread;
use model::{SOON, block_on_parking as block_on, model_in_order as model, poll_idly};

/// The value: it can be counted how many of them are left.
fn value() -> (Arc<()>, Arc<()>) {
    let value = Arc::new(());
    (value.clone(), value)
}

fn a_task_receives() {
    model(5, || {
        let (value, witness) = value();
        let (tx, rx) = oneshot::channel();
        let sender = thread::spawn(move || tx.send(value).unwrap());
        drop(block_on(rx).unwrap());
        sender.join().unwrap();
        assert_eq!(Arc::strong_count(&witness), 1);
    });
}

fn the_sender_is_dropped() {
    model(5, || {
        let (tx, rx) = oneshot::channel::<()>();
        let sender = thread::spawn(move || drop(tx));
        assert!(block_on(rx).is_err());
        sender.join().unwrap();
    });
}

/// The receiver has left a waker, which is of no use, when it leaves.
fn a_waiting_receiver_is_dropped() {
    model(5, || {
        let (value, witness) = value();
        let (tx, mut rx) = oneshot::channel();
        assert!(poll_idly(pin!(&mut rx)).is_pending());
        let sender = thread::spawn(move || drop(tx.send(value)));
        drop(rx);
        sender.join().unwrap();
        assert_eq!(Arc::strong_count(&witness), 1);
    });
}

fn the_receiver_closes() {
    model(5, || {
        let (value, witness) = value();
        let (tx, mut rx) = oneshot::channel();
        assert!(poll_idly(pin!(&mut rx)).is_pending());
        let sender = thread::spawn(move || tx.send(value).is_ok());
        rx.close();
        let received = rx.try_recv();
        assert_ne!(received, Err(TryRecvError::Empty));
        let received = received.map(drop).is_ok();
        assert_eq!(sender.join().unwrap(), received);
        assert_eq!(Arc::strong_count(&witness), 1);
    });
}

fn the_receiver_tries() {
    model(5, || {
        let (tx, mut rx) = oneshot::channel();
        let sender = thread::spawn(move || tx.send(5).unwrap());
        while let Err(error) = rx.try_recv().map(|value| assert_eq!(value, 5)) {
            assert_eq!(error, TryRecvError::Empty);
            thread::yield_now();
        }
        sender.join().unwrap();
    });
}

/// Each poll comes with another waker.
fn the_waker_changes() {
    model(5, || {
        let (tx, mut rx) = oneshot::channel();
        let sender = thread::spawn(move || tx.send(5).unwrap());
        let value = match poll_idly(pin!(&mut rx)) {
            Poll::Ready(value) => value,
            Poll::Pending => block_on(rx),
        };
        assert_eq!(value, Ok(5));
        sender.join().unwrap();
    });
}

fn the_sender_waits_for_the_end() {
    model(5, || {
        let (mut tx, rx) = oneshot::channel();
        let receiver = thread::spawn(move || drop(rx));
        if poll_idly(pin!(tx.closed())).is_pending() {
            block_on(tx.closed());
        }
        assert_eq!(tx.send(1), Err(1));
        receiver.join().unwrap();
    });
}

/// Both have left wakers.
fn both_have_waited() {
    model(5, || {
        let (value, witness) = value();
        let (mut tx, mut rx) = oneshot::channel();
        assert!(poll_idly(pin!(tx.closed())).is_pending());
        assert!(poll_idly(pin!(&mut rx)).is_pending());
        let sender = thread::spawn(move || drop(tx.send(value)));
        let last = poll_idly(pin!(&mut rx));
        drop(rx);
        drop(last);
        sender.join().unwrap();
        assert_eq!(Arc::strong_count(&witness), 1);
    });
}

fn a_thread_receives() {
    model(5, || {
        let (tx, rx) = oneshot::channel();
        let sender = thread::spawn(move || tx.send(5).unwrap());
        assert_eq!(rx.blocking_recv(), Ok(5));
        sender.join().unwrap();
    });
}

fn a_thread_learns_of_the_end() {
    model(5, || {
        let (mut tx, mut rx) = oneshot::channel::<()>();
        let receiver = thread::spawn(move || {
            rx.close();
            rx
        });
        tx.blocking_closed();
        drop(receiver.join().unwrap());
    });
}

/// The sender asks for the end while the receiver's thread goes to sleep: both
/// write the word on which it sleeps.
fn a_thread_receives_beside_other_changes() {
    model(5, || {
        let (mut tx, rx) = oneshot::channel();
        let sender = thread::spawn(move || {
            assert!(poll_idly(pin!(tx.closed())).is_pending());
            tx.send(5).unwrap();
        });
        assert_eq!(rx.blocking_recv(), Ok(5));
        sender.join().unwrap();
    });
}

fn a_thread_gives_up() {
    model(5, || {
        let (tx, mut rx) = oneshot::channel();
        let sender = thread::spawn(move || tx.send(5).unwrap());
        let clock = thread::spawn(blitz_io_futex::model::expire);
        match rx.blocking_recv_timeout(SOON) {
            Ok(value) => assert_eq!(value, 5),
            Err(error) => {
                assert_eq!(error, RecvTimeoutError::Timeout);
                assert_eq!(block_on(rx), Ok(5));
            }
        }
        sender.join().unwrap();
        clock.join().unwrap();
    });
}

#[test]
fn a_value_reaches_a_task() {
    a_task_receives();
}

#[test]
fn dropping_the_sender_ends_the_wait() {
    the_sender_is_dropped();
}

#[test]
fn dropping_the_receiver_drops_the_value_once() {
    a_waiting_receiver_is_dropped();
}

#[test]
fn closing_and_sending_agree_who_was_first() {
    the_receiver_closes();
}

#[test]
fn what_was_sent_can_be_taken_without_waiting() {
    the_receiver_tries();
}

#[test]
fn the_last_waker_is_woken() {
    the_waker_changes();
}

#[test]
fn the_sender_learns_of_the_end() {
    the_sender_waits_for_the_end();
}

#[test]
fn wakers_of_both_ends_are_dropped_once() {
    both_have_waited();
}

#[test]
fn a_value_reaches_a_thread() {
    a_thread_receives();
    a_thread_receives_beside_other_changes();
}

#[test]
fn a_thread_waits_for_the_end() {
    a_thread_learns_of_the_end();
}

#[test]
fn a_thread_that_gives_up_loses_nothing() {
    a_thread_gives_up();
}

#[test]
fn a_slot_can_be_used_again() {
    model(5, || {
        let (value, witness) = value();
        let slot = Box::into_raw(Box::new(Slot::new()));
        for _ in 0..2 {
            let value = value.clone();
            // SAFETY: the ends of the last round have been dropped: the thread was joined.
            let (tx, mut rx) = unsafe { &mut *slot }.channel();
            assert!(poll_idly(pin!(&mut rx)).is_pending());
            let sender = thread::spawn(move || drop(tx.send(value)));
            if let Poll::Ready(value) = poll_idly(pin!(&mut rx)) {
                drop(value.unwrap());
            } else {
                drop(rx);
            }
            sender.join().unwrap();
            assert_eq!(Arc::strong_count(&witness), 2);
        }
        // SAFETY: it comes from a box, and all its ends have been dropped.
        drop(unsafe { Box::from_raw(slot) });
    });
}
