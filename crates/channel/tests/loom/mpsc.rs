//! Models of `mpsc`. Blocks have two slots here.

use crate::model;

use std::pin::pin;
use std::sync::Arc;

use blitz_io_channel::mpsc;
use blitz_io_channel::mpsc::error::TryRecvError;
use loom::future::block_on;
use loom::thread;
// Those in order are those in which no sender waits for room.
use model::{model, model_in_order, poll_idly};

/// Two senders, and a task that sleeps.
fn two_send_to_a_task() {
    model_in_order(1, || {
        let (tx, mut rx) = mpsc::unbounded_channel();
        let senders = [1, 10].map(|n| {
            let tx = tx.clone();
            thread::spawn(move || tx.send(n).unwrap())
        });
        drop(tx);
        let mut sum = 0;
        while let Some(message) = block_on(rx.recv()) {
            sum += message;
        }
        senders
            .into_iter()
            .for_each(|sender| sender.join().unwrap());
        assert_eq!(sum, 11);
    });
}

/// One sender sends to a thread that sleeps.
fn one_sends_to_a_thread() {
    model_in_order(2, || {
        let (tx, mut rx) = mpsc::unbounded_channel();
        let sender = thread::spawn(move || {
            tx.send(1).unwrap();
            tx.send(2).unwrap();
            tx.send(3).unwrap();
        });
        assert_eq!(rx.blocking_recv(), Some(1));
        assert_eq!(rx.blocking_recv(), Some(2));
        assert_eq!(rx.blocking_recv(), Some(3));
        assert_eq!(rx.blocking_recv(), None);
        sender.join().unwrap();
    });
}

/// Three claim slots of two blocks at the same time.
fn three_claim() {
    model_in_order(2, || {
        let (tx, mut rx) = mpsc::unbounded_channel();
        let senders = [1, 10].map(|n| {
            let tx = tx.clone();
            thread::spawn(move || {
                tx.send(n).unwrap();
                tx.send(n).unwrap();
            })
        });
        tx.send(100).unwrap();
        drop(tx);
        let mut sum = 0;
        senders
            .into_iter()
            .for_each(|sender| sender.join().unwrap());
        while let Ok(n) = rx.try_recv() {
            sum += n;
        }
        assert_eq!(sum, 122);
    });
}

/// Blocks are read and used again while others send.
fn blocks_come_back() {
    model_in_order(2, || {
        let (tx, mut rx) = mpsc::channel(8);
        let sender = thread::spawn({
            let tx = tx.clone();
            move || tx.try_send(10).unwrap()
        });
        let mut sum = 0;
        for n in 0..3 {
            tx.try_send(n).unwrap();
            sum += rx.try_recv().unwrap();
        }
        sender.join().unwrap();
        while let Ok(n) = rx.try_recv() {
            sum += n;
        }
        assert_eq!(sum, 13);
    });
}

/// The last sender leaves while the receiver goes to sleep.
fn the_last_sender_leaves() {
    model_in_order(3, || {
        let (tx, mut rx) = mpsc::unbounded_channel::<u8>();
        let others = [tx.clone(), tx].map(|tx| thread::spawn(move || drop(tx)));
        assert_eq!(block_on(rx.recv()), None);
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

/// It sends something before.
fn the_last_sender_sends_and_leaves() {
    model_in_order(3, || {
        let (tx, mut rx) = mpsc::unbounded_channel();
        let other = thread::spawn(move || tx.send(7).unwrap());
        assert_eq!(block_on(rx.recv()), Some(7));
        assert_eq!(block_on(rx.recv()), None);
        assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
        other.join().unwrap();
    });
}

/// The receiver goes while others send.
fn the_receiver_leaves() {
    model_in_order(2, || {
        let (tx, mut rx) = mpsc::channel(8);
        let value = Arc::new(());
        let senders = [(); 2].map(|()| {
            let (tx, value) = (tx.clone(), value.clone());
            thread::spawn(move || {
                let _ = tx.try_send(value);
            })
        });
        drop(tx);
        let _ = rx.try_recv();
        drop(rx);
        senders
            .into_iter()
            .for_each(|sender| sender.join().unwrap());
        assert_eq!(Arc::strong_count(&value), 1);
    });
}

/// A sender waits for room, as a task.
fn a_task_waits_for_room() {
    model(2, || {
        let (tx, mut rx) = mpsc::channel(1);
        tx.try_send(1).unwrap();
        let sender = thread::spawn(move || block_on(tx.send(2)).unwrap());
        assert_eq!(block_on(rx.recv()), Some(1));
        assert_eq!(block_on(rx.recv()), Some(2));
        assert_eq!(block_on(rx.recv()), None);
        sender.join().unwrap();
    });
}

/// A thread waits for room, and there is only one receive.
fn a_thread_waits_for_room() {
    model(3, || {
        let (tx, mut rx) = mpsc::channel(1);
        tx.try_send(1).unwrap();
        let sender = thread::spawn(move || tx.blocking_send(2).unwrap());
        assert_eq!(rx.try_recv(), Ok(1));
        sender.join().unwrap();
        assert_eq!(rx.try_recv(), Ok(2));
    });
}

/// A sender has waited before, so the receiver passes a fence.
fn a_sender_comes_in_contended_mode() {
    model(2, || {
        let (tx, mut rx) = mpsc::channel(1);
        tx.try_send(1).unwrap();
        enter_contended_mode(&tx);
        let sender = thread::spawn({
            let tx = tx.clone();
            move || tx.blocking_send(2).unwrap()
        });
        assert_eq!(rx.try_recv(), Ok(1));
        sender.join().unwrap();
        assert_eq!(rx.try_recv(), Ok(2));
    });
}

/// The second receive without a waiting sender ends contended mode here.
fn a_sender_comes_when_contended_mode_ends() {
    model(1, || {
        let (tx, mut rx) = mpsc::channel(1);
        tx.try_send(0).unwrap();
        enter_contended_mode(&tx);
        assert_eq!(rx.try_recv(), Ok(0));
        tx.try_send(1).unwrap();
        let sender = thread::spawn({
            let tx = tx.clone();
            move || {
                tx.blocking_send(2).unwrap();
                tx.blocking_send(3).unwrap();
            }
        });
        assert_eq!(rx.try_recv(), Ok(1));
        assert_eq!(rx.blocking_recv(), Some(2));
        sender.join().unwrap();
        assert_eq!(rx.try_recv(), Ok(3));
    });
}

/// A sender waits for room for a moment.
fn enter_contended_mode(tx: &mpsc::Sender<i32>) {
    let mut send = pin!(tx.send(7));
    assert!(poll_idly(send.as_mut()).is_pending());
}

/// A message wakes the receiver, also when the sender stays.
fn a_message_wakes() {
    model_in_order(3, || {
        let (tx, mut rx) = mpsc::unbounded_channel();
        let receiver = thread::spawn(move || rx.blocking_recv());
        tx.send(7).unwrap();
        assert_eq!(receiver.join().unwrap(), Some(7));
        drop(tx);
    });
}

/// Two messages are being sent when the receiver goes to sleep.
fn two_send_and_stay() {
    model_in_order(1, || {
        let (tx, mut rx) = mpsc::unbounded_channel();
        let sender = thread::spawn({
            let tx = tx.clone();
            move || tx.send(1).unwrap()
        });
        let receiver = thread::spawn(move || {
            let first = block_on(rx.recv()).unwrap();
            first + block_on(rx.recv()).unwrap()
        });
        tx.send(10).unwrap();
        assert_eq!(receiver.join().unwrap(), 11);
        sender.join().unwrap();
    });
}

/// A permit comes back while a sender waits for it.
fn a_permit_comes_back() {
    model_in_order(2, || {
        let (tx, rx) = mpsc::channel::<u8>(1);
        let permit = tx.clone().try_reserve_owned().unwrap();
        let other = thread::spawn(move || drop(permit));
        drop(block_on(tx.reserve()).unwrap());
        other.join().unwrap();
        assert_eq!(tx.capacity(), 1);
        drop(rx);
    });
}

/// A permit comes back to a closed channel.
fn a_permit_comes_back_late() {
    model_in_order(2, || {
        let (tx, mut rx) = mpsc::channel::<u8>(2);
        let permits = [(); 2].map(|()| tx.clone().try_reserve_owned().unwrap());
        let others = permits.map(|permit| thread::spawn(move || drop(permit.release())));
        rx.close();
        assert_eq!(block_on(rx.recv()), None);
        others.into_iter().for_each(|other| other.join().unwrap());
        drop(tx);
    });
}

/// A permit comes back to a closed channel while a thread receives.
fn a_permit_comes_back_to_a_thread() {
    model_in_order(2, || {
        let (tx, mut rx) = mpsc::channel::<u8>(2);
        let permit = tx.clone().try_reserve_owned().unwrap();
        let other = thread::spawn(move || drop(permit.release()));
        rx.close();
        assert_eq!(rx.blocking_recv(), None);
        other.join().unwrap();
        drop(tx);
    });
}

/// A sender claims a slot before another one links the next block.
fn a_block_is_linked_behind_a_claim() {
    model_in_order(3, || {
        let (tx, rx) = mpsc::unbounded_channel();
        let others = [1, 2].map(|n| {
            let tx = tx.clone();
            thread::spawn(move || tx.send(n).unwrap())
        });
        others.into_iter().for_each(|other| other.join().unwrap());
        drop((tx, rx));
    });
}

/// A permit is used after the close.
fn a_permit_is_used_late() {
    model_in_order(2, || {
        let (tx, mut rx) = mpsc::channel(1);
        let permit = tx.clone().try_reserve_owned().unwrap();
        let other = thread::spawn(move || drop(permit.send(7)));
        rx.close();
        assert_eq!(block_on(rx.recv()), Some(7));
        assert_eq!(block_on(rx.recv()), None);
        other.join().unwrap();
        drop(tx);
    });
}

/// A waiter gives up while it is chosen; another one waits behind it.
fn a_chosen_waiter_gives_up() {
    model_in_order(2, || {
        let (tx, mut rx) = mpsc::channel(1);
        tx.try_send(1).unwrap();
        let mut hasty = Box::pin(tx.reserve());
        assert!(poll_idly(hasty.as_mut()).is_pending());
        let patient = thread::spawn({
            let tx = tx.clone();
            move || block_on(tx.send(2)).unwrap()
        });
        let receiver = thread::spawn(move || {
            assert_eq!(rx.try_recv(), Ok(1));
            rx
        });
        drop(hasty);
        patient.join().unwrap();
        let mut rx = receiver.join().unwrap();
        assert_eq!(rx.try_recv(), Ok(2));
        assert_eq!(tx.capacity(), 1);
    });
}

/// A large request is given up; a small one waits behind it.
fn a_large_request_gives_up() {
    model(2, || {
        let (tx, mut rx) = mpsc::channel(2);
        tx.try_send(1).unwrap();
        tx.try_send(2).unwrap();
        let mut much = Box::pin(tx.reserve_many(2));
        assert!(poll_idly(much.as_mut()).is_pending());
        let patient = thread::spawn({
            let tx = tx.clone();
            move || block_on(tx.send(3)).unwrap()
        });
        assert_eq!(rx.try_recv(), Ok(1));
        drop(much);
        patient.join().unwrap();
        assert_eq!(rx.try_recv(), Ok(2));
        assert_eq!(rx.try_recv(), Ok(3));
        assert_eq!(tx.capacity(), 2);
    });
}

/// The channel is closed while senders wait.
fn closing() {
    model(2, || {
        let (tx, mut rx) = mpsc::channel(1);
        tx.try_send(1).unwrap();
        let sender = thread::spawn({
            let tx = tx.clone();
            move || block_on(tx.send(2)).is_err()
        });
        let watcher = thread::spawn({
            let tx = tx.clone();
            move || block_on(tx.closed())
        });
        rx.close();
        assert!(sender.join().unwrap());
        watcher.join().unwrap();
        drop(tx);
        assert_eq!(block_on(rx.recv()), Some(1));
        assert_eq!(block_on(rx.recv()), None);
    });
}

/// A thread gives up waiting for room, or for a message.
fn time_is_up() {
    model(2, || {
        let (tx, mut rx) = mpsc::channel(1);
        tx.try_send(1).unwrap();
        let hour = std::time::Duration::from_secs(3600);
        let sender = thread::spawn(move || tx.blocking_send_timeout(2, hour).is_ok());
        blitz_io_futex::model::expire();
        assert_eq!(rx.try_recv(), Ok(1));
        let second = rx.blocking_recv_timeout(hour);
        if sender.join().unwrap() {
            assert!(second.is_ok() || rx.try_recv() == Ok(2));
        } else {
            assert!(second.is_err());
            assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
        }
    });
}

/// A sender has claimed a slot and not filled it yet; no other thread sends.
fn a_value_is_being_written() {
    model(3, || {
        let (tx, mut rx) = mpsc::unbounded_channel();
        let sender = thread::spawn({
            let tx = tx.clone();
            move || tx.send(7).unwrap()
        });
        let receiver = thread::spawn(move || match rx.try_recv() {
            Ok(n) => n,
            Err(_) => rx.blocking_recv().unwrap(),
        });
        assert_eq!(receiver.join().unwrap(), 7);
        sender.join().unwrap();
        drop(tx);
    });
}

/// A task polls beside a slot that a sender has claimed and not filled yet. No other thread sends, and
/// the last sender stays: only the task itself can wake it.
fn a_value_is_being_written_for_a_task() {
    model(3, || {
        let (tx, mut rx) = mpsc::unbounded_channel();
        let sender = thread::spawn({
            let tx = tx.clone();
            move || tx.send(7).unwrap()
        });
        assert_eq!(model::block_on(rx.recv()), Some(7));
        sender.join().unwrap();
        drop(tx);
    });
}

/// Two senders have claimed slots and not filled them yet; a thread receives twice.
fn two_values_are_being_written() {
    model(1, || {
        let (tx, mut rx) = mpsc::unbounded_channel();
        let senders = [1, 10].map(|n| {
            let tx = tx.clone();
            thread::spawn(move || tx.send(n).unwrap())
        });
        let sum = rx.blocking_recv().unwrap() + rx.blocking_recv().unwrap();
        assert_eq!(sum, 11);
        senders
            .into_iter()
            .for_each(|sender| sender.join().unwrap());
        drop(tx);
    });
}

#[test]
fn messages_arrive_in_order_and_the_receiver_sleeps() {
    a_message_wakes();
    two_send_and_stay();
    two_send_to_a_task();
}

#[test]
fn a_thread_that_receives_sleeps_and_is_woken() {
    one_sends_to_a_thread();
}

#[test]
fn a_receiver_sleeps_beside_a_claim() {
    a_value_is_being_written();
    two_values_are_being_written();
}

#[test]
fn a_task_wakes_itself_beside_a_claim() {
    a_value_is_being_written_for_a_task();
}

#[test]
fn the_end_of_a_block_is_claimed_by_one() {
    three_claim();
    a_block_is_linked_behind_a_claim();
}

#[test]
fn blocks_are_used_again() {
    blocks_come_back();
}

#[test]
fn the_end_is_not_missed() {
    the_last_sender_leaves();
    the_last_sender_sends_and_leaves();
}

#[test]
fn every_message_is_dropped_once() {
    the_receiver_leaves();
}

#[test]
fn a_task_that_sends_sleeps_and_is_woken() {
    a_task_waits_for_room();
}

#[test]
fn a_thread_that_sends_sleeps_and_is_woken() {
    a_thread_waits_for_room();
}

#[test]
fn no_waiter_is_lost_in_contended_mode_and_after_it() {
    a_sender_comes_in_contended_mode();
    a_sender_comes_when_contended_mode_ends();
}

#[test]
fn permits_come_back() {
    a_permit_comes_back();
    a_permit_comes_back_late();
    a_permit_comes_back_to_a_thread();
    a_permit_is_used_late();
}

#[test]
fn a_chosen_waiter_that_gives_up_passes_its_permit_on() {
    a_chosen_waiter_gives_up();
}

#[test]
fn a_waiter_that_gives_up_lets_others_pass() {
    a_large_request_gives_up();
}

#[test]
fn closing_tells_everybody() {
    closing();
}

#[test]
fn time_runs_out() {
    time_is_up();
}
