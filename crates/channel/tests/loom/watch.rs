//! Models of the channel for a value that changes.

use crate::model;

use std::mem::ManuallyDrop;
use std::pin::pin;

use blitz_io_channel::watch;
use loom::thread;
use model::{SOON, block_on_parking as block_on, model_in_order as model, poll_idly};

/// A sender that is never dropped. Its drop would wake receivers as well, and hide a missing
/// wake.
fn keep_sender<T>(
    (tx, rx): (watch::Sender<T>, watch::Receiver<T>),
) -> (ManuallyDrop<watch::Sender<T>>, watch::Receiver<T>) {
    (ManuallyDrop::new(tx), rx)
}

fn a_task_waits_for_a_change() {
    model(4, || {
        let (tx, mut rx) = keep_sender(watch::channel(0));
        let receiver = thread::spawn(move || {
            block_on(rx.changed()).unwrap();
            assert_eq!(*rx.borrow(), 1);
        });
        tx.send_replace(1);
        receiver.join().unwrap();
    });
}

fn a_thread_waits_for_a_change() {
    model(4, || {
        let (tx, mut rx) = keep_sender(watch::channel(0));
        let receiver = thread::spawn(move || {
            rx.blocking_changed().unwrap();
            assert_eq!(*rx.borrow(), 1);
        });
        tx.send_replace(1);
        receiver.join().unwrap();
    });
}

/// The second need not announce itself, as the first has.
fn two_wait_for_a_change() {
    model(3, || {
        let (tx, rx) = keep_sender(watch::channel(0));
        let receivers = [(); 2].map(|()| {
            let mut rx = rx.clone();
            thread::spawn(move || rx.blocking_changed().unwrap())
        });
        tx.send_replace(1);
        receivers
            .into_iter()
            .for_each(|receiver| receiver.join().unwrap());
    });
}

/// The last value is seen, and then the end.
fn the_last_sender_leaves() {
    model(4, || {
        let (tx, mut rx) = watch::channel(0);
        let receiver = thread::spawn(move || {
            let mut last = 0;
            while block_on(rx.changed()).is_ok() {
                last = *rx.borrow_and_update();
            }
            assert_eq!(last, 1);
        });
        tx.send_replace(1);
        drop(tx);
        receiver.join().unwrap();
    });
}

fn two_senders_leave() {
    model(3, || {
        let (tx, mut rx) = watch::channel(0);
        let senders = [tx.clone(), tx].map(|tx| thread::spawn(move || drop(tx)));
        assert!(block_on(rx.changed()).is_err());
        senders
            .into_iter()
            .for_each(|sender| sender.join().unwrap());
    });
}

fn a_receiver_waits_for_a_value() {
    model(3, || {
        let (tx, mut rx) = keep_sender(watch::channel(0));
        let receiver = thread::spawn(move || {
            assert_eq!(*block_on(rx.wait_for(|&value| value == 2)).unwrap(), 2);
        });
        tx.send_replace(1);
        tx.send_replace(2);
        receiver.join().unwrap();
    });
}

fn the_sender_waits_for_the_end() {
    model(4, || {
        let (tx, rx) = keep_sender(watch::channel(()));
        let receivers = [rx.clone(), rx].map(|rx| thread::spawn(move || drop(rx)));
        block_on(tx.closed());
        assert_eq!(tx.receiver_count(), 0);
        receivers
            .into_iter()
            .for_each(|receiver| receiver.join().unwrap());
    });
}

/// Values and versions belong together, in whatever order the threads look.
fn versions_are_those_of_the_values() {
    model(3, || {
        let (tx, mut rx) = watch::channel(0);
        let sender = thread::spawn(move || {
            tx.send_modify(|value| *value += 1);
            tx.send_modify(|value| *value += 1);
            tx
        });
        for _ in 0..2 {
            let before = *rx.borrow();
            let now = rx.borrow_and_update();
            let (value, changed) = (*now, now.has_changed());
            assert!(value >= before && (changed || value == before));
        }
        let tx = sender.join().unwrap();
        let seen = rx.has_changed().unwrap();
        let last = *rx.borrow_and_update();
        assert_eq!(last, 2);
        assert!(!rx.has_changed().unwrap());
        drop((seen, tx));
    });
}

/// Gives up, or comes back with another waker, while the value changes.
fn a_wait_is_taken_up_again() {
    model(3, || {
        let (tx, mut rx) = keep_sender(watch::channel(0));
        let receiver = thread::spawn(move || {
            {
                let mut changed = pin!(rx.changed());
                if poll_idly(changed.as_mut()).is_ready() {
                    return;
                }
                if poll_idly(changed.as_mut()).is_ready() {
                    return;
                }
            }
            let mut changed = pin!(rx.changed());
            if poll_idly(changed.as_mut()).is_pending() {
                block_on(changed).unwrap();
            }
        });
        tx.send_replace(1);
        receiver.join().unwrap();
    });
}

fn a_thread_gives_up() {
    model(3, || {
        let (tx, mut rx) = keep_sender(watch::channel(0));
        let receiver = thread::spawn(move || match rx.blocking_changed_timeout(SOON) {
            Err(error) if error.is_timeout() => block_on(rx.changed()).unwrap(),
            changed => changed.unwrap(),
        });
        let clock = thread::spawn(blitz_io_futex::model::expire);
        tx.send_replace(1);
        receiver.join().unwrap();
        clock.join().unwrap();
    });
}

#[test]
fn a_change_reaches_a_task() {
    a_task_waits_for_a_change();
}

#[test]
fn a_change_reaches_a_thread() {
    a_thread_waits_for_a_change();
}

#[test]
fn a_change_reaches_everybody() {
    two_wait_for_a_change();
}

#[test]
fn the_last_value_is_seen_before_the_end() {
    the_last_sender_leaves();
}

#[test]
fn only_the_last_sender_closes() {
    two_senders_leave();
}

#[test]
fn a_value_that_is_waited_for_is_found() {
    a_receiver_waits_for_a_value();
}

#[test]
fn the_sender_learns_that_nobody_watches() {
    the_sender_waits_for_the_end();
}

#[test]
fn a_version_belongs_to_its_value() {
    versions_are_those_of_the_values();
}

#[test]
fn giving_up_loses_nothing() {
    a_wait_is_taken_up_again();
    a_thread_gives_up();
}
