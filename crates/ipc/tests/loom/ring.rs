//! Models of the ring, with participants that are killed during a step.

use blitz_io_ipc::kernel::model::{Known, Model};
// loom's `Arc` cannot be dropped after a deadlock was found.
use loom::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use crate::spawn;

/// Returns the message, both of whose words must be equal.
fn whole([first, second]: [u64; 2]) -> u64 {
    assert_eq!(first, second, "a torn message");
    first
}

/// A sender with more messages than places, and a receiver; both sleep.
#[test]
fn a_message_is_whole_and_its_receiver_wakes_up() {
    loom::model(|| {
        let model = Arc::new(Model::broadcast(1, 2));
        let mut cursor = model.join(1);
        let sender = spawn(&model, |model| {
            let mut limit = 0;
            model.send(0, &mut limit, 1);
            model.send(0, &mut limit, 2);
        });
        assert_eq!(whole(model.recv(1, &mut cursor)), 1);
        assert_eq!(whole(model.recv(1, &mut cursor)), 2);
        sender.join().unwrap();
    });
}

/// Two receivers sleep on the same event count.
#[test]
fn every_receiver_wakes_up() {
    loom::model(|| {
        let model = Arc::new(Model::broadcast(1, 3));
        let mut cursor = model.join(1);
        let mut other = model.join(2);
        let second = spawn(&model, move |model| whole(model.recv(2, &mut other)));
        let sender = spawn(&model, |model| model.send(0, &mut 0, 7));
        assert_eq!(whole(model.recv(1, &mut cursor)), 7);
        assert_eq!(second.join().unwrap(), 7);
        sender.join().unwrap();
    });
}

/// Two senders; one is killed right after its claim, before or after the tail was advanced.
#[test]
fn a_dead_sender_leaves_no_message_and_stops_nobody() {
    loom::model(|| {
        let model = Arc::new(Model::broadcast(2, 3));
        let mut cursor = model.join(2);
        let dead = spawn(&model, |model| {
            let position = model.claim(0, &mut 0).expect("there is room");
            model.write(position, 6);
        });
        let sender = spawn(&model, |model| model.send(1, &mut 0, 7));
        let reaper = spawn(&model, move |model| {
            dead.join().unwrap();
            model.reap(0);
        });
        assert_eq!(whole(model.recv(2, &mut cursor)), 7);
        sender.join().unwrap();
        reaper.join().unwrap();
        assert_eq!(model.try_recv(2, &mut cursor), None);
    });
}

/// A receiver is killed; the sender that waits for it continues.
#[test]
fn a_dead_receiver_holds_nobody_up() {
    loom::model(|| {
        let model = Arc::new(Model::broadcast(1, 2));
        _ = model.join(1);
        let sender = spawn(&model, |model| {
            let mut limit = 0;
            model.send(0, &mut limit, 1);
            model.send(0, &mut limit, 2);
        });
        model.reap(1);
        sender.join().unwrap();
    });
}

/// A receiver joins while a sender fills the ring: the message at which it begins is not
/// overwritten.
#[test]
fn a_late_receiver_misses_nothing_after_its_first() {
    loom::model(|| {
        let model = Arc::new(Model::broadcast(1, 2));
        let sender = spawn(&model, |model| {
            let mut limit = 0;
            // Each value is one more than the last one that was sent.
            let mut value = 1;
            for _ in 0..3 {
                value += u64::from(model.try_send(0, &mut limit, value));
            }
        });
        let mut cursor = model.join(1);
        let first = model.try_recv(1, &mut cursor).map(whole);
        let second = model.try_recv(1, &mut cursor).map(whole);
        if let (Some(first), Some(second)) = (first, second) {
            assert_eq!(first + 1, second);
        }
        sender.join().unwrap();
    });
}

/// A receiver copies while a sender overwrites.
#[test]
fn a_copy_is_whole() {
    loom::model(|| {
        let model = Arc::new(Model::dropping(1, 2));
        model.send(0, &mut 0, 1);
        let sender = spawn(&model, |model| model.send(0, &mut 0, 2));
        if let Some(copy) = model.copy(0) {
            assert_eq!(whole(copy), 1);
        }
        sender.join().unwrap();
    });
}

/// A receiver with history copies while a sender that did not see it overwrites: no plain
/// write races with a copy, and each copy is whole.
#[test]
fn no_plain_write_races_with_a_copy() {
    loom::model(|| {
        let model = Arc::new(Model::broadcast(2, 2));
        let (mut limit, mut known) = (0, Known::new());
        // The third makes the sender look at the cursors, so it may send a fourth.
        for value in [1, 2, 3] {
            assert!(model.overwrite(0, &mut limit, &mut known, value));
        }
        let sender = spawn(&model, move |model| {
            for value in [4, 5] {
                model.overwrite(0, &mut limit, &mut known, value);
            }
        });
        let copied = model.join_and_copy(1);
        let copied: Vec<_> = copied.into_iter().map(whole).collect();
        assert!(copied.is_sorted(), "{copied:?}");
        sender.join().unwrap();
    });
}

/// Two senders race for the places.
#[test]
fn two_senders_share_a_ring() {
    loom::model(|| {
        let model = Arc::new(Model::broadcast(2, 3));
        let mut cursor = model.join(2);
        let senders =
            [0, 1].map(|me| spawn(&model, move |model| model.send(me, &mut 0, me as u64 + 1)));
        let sum = whole(model.recv(2, &mut cursor)) + whole(model.recv(2, &mut cursor));
        assert_eq!(sum, 3);
        for sender in senders {
            sender.join().unwrap();
        }
    });
}

/// Two receivers of a queue race for two messages.
#[test]
fn each_message_of_a_queue_has_one_receiver() {
    loom::model(|| {
        let model = Arc::new(Model::queue(2, 3));
        let receivers =
            [1, 2].map(|me| spawn(&model, move |model| whole(model.recv_one(me, &mut 0))));
        let mut limit = 0;
        model.send(0, &mut limit, 1);
        model.send(0, &mut limit, 2);
        let sum: u64 = receivers
            .map(|receiver| receiver.join().unwrap())
            .iter()
            .sum();
        assert_eq!(sum, 3);
    });
}

/// A receiver is killed with a message; another one gets it, even if it was asleep.
#[test]
fn what_a_dead_receiver_had_taken_is_received() {
    loom::model(|| {
        let model = Arc::new(Model::queue(2, 3));
        assert!(model.try_send(0, &mut 0, 5));
        assert!(model.take(1, &mut 0).is_some());
        let receiver = spawn(&model, |model| whole(model.recv_one(2, &mut 0)));
        model.reap(1);
        assert_eq!(receiver.join().unwrap(), 5);
    });
}

/// A receiver puts the only message back; another one gets it, even if it was asleep.
#[test]
fn what_a_receiver_puts_back_is_received() {
    loom::model(|| {
        let model = Arc::new(Model::queue(2, 3));
        assert!(model.try_send(0, &mut 0, 5));
        let (position, _) = model.take(1, &mut 0).expect("it was sent");
        let receiver = spawn(&model, |model| whole(model.recv_one(2, &mut 0)));
        model.put_back(1, position);
        assert_eq!(receiver.join().unwrap(), 5);
    });
}

/// A receiver puts the only message back after the sender has left.
#[test]
fn what_a_receiver_puts_back_is_received_without_a_sender() {
    loom::model(|| {
        let model = Arc::new(Model::queue(1, 3));
        model.join_sender();
        assert!(model.try_send(0, &mut 0, 5));
        let (position, _) = model.take(1, &mut 0).expect("it was sent");
        let receiver = spawn(&model, |model| {
            let (position, message) = model.take_or_end(2, &mut 0).expect("it comes back");
            assert_eq!(whole(message), 5);
            model.consume(2, position);
        });
        model.leave_sender();
        model.put_back(1, position);
        receiver.join().unwrap();
    });
}

/// A receiver has the only message; the sender leaves. Another receiver waits until the
/// message is consumed, and only then for no more.
#[test]
fn a_queue_ends_when_its_last_message_is_consumed() {
    loom::model(|| {
        let model = Arc::new(Model::queue(1, 3));
        model.join_sender();
        assert!(model.try_send(0, &mut 0, 5));
        let (position, _) = model.take(1, &mut 0).expect("it was sent");
        let consumed = Arc::new(AtomicBool::new(false));
        let has_consumed = consumed.clone();
        let receiver = spawn(&model, move |model| {
            assert!(model.take_or_end(2, &mut 0).is_none());
            assert!(consumed.load(Ordering::SeqCst), "ended too early");
        });
        let sender = spawn(&model, |model| model.leave_sender());
        has_consumed.store(true, Ordering::SeqCst);
        model.consume(1, position);
        sender.join().unwrap();
        receiver.join().unwrap();
    });
}

/// The receiver with the only message is killed after the sender has left.
#[test]
fn what_a_dead_receiver_had_taken_is_received_without_a_sender() {
    loom::model(|| {
        let model = Arc::new(Model::queue(1, 3));
        model.join_sender();
        assert!(model.try_send(0, &mut 0, 5));
        assert!(model.take(1, &mut 0).is_some());
        let receiver = spawn(&model, |model| {
            let (position, message) = model.take_or_end(2, &mut 0).expect("it comes back");
            assert_eq!(whole(message), 5);
            model.consume(2, position);
        });
        model.leave_sender();
        model.reap(1);
        receiver.join().unwrap();
    });
}

/// A sender joins while a receiver waits for the message of another one.
#[test]
fn a_receiver_that_waits_for_others_sees_a_new_sender() {
    loom::model(|| {
        let model = Arc::new(Model::queue(2, 3));
        model.join_sender();
        assert!(model.try_send(0, &mut 0, 5));
        model.leave_sender();
        assert!(model.take(1, &mut 0).is_some());
        let receiver = spawn(&model, |model| {
            let taken = model
                .take_or_end(2, &mut 0)
                .expect("the first is not consumed");
            assert_eq!(whole(taken.1), 6);
        });
        model.join_sender();
        assert!(model.try_send(0, &mut 0, 6));
        receiver.join().unwrap();
    });
}

/// A receiver joins while the last sender leaves, or after it. It ends when it has consumed what
/// is left.
#[test]
fn a_receiver_that_joins_after_the_last_sender_ends() {
    loom::model(|| {
        let model = Arc::new(Model::queue(1, 2));
        model.join_sender();
        assert!(model.try_send(0, &mut 0, 5));
        let receiver = spawn(&model, |model| {
            let mut searched = 0;
            let (position, message) = model.take_or_end(1, &mut searched).expect("it was sent");
            assert_eq!(whole(message), 5);
            model.consume(1, position);
            assert!(model.take_or_end(1, &mut searched).is_none());
        });
        model.leave_sender();
        receiver.join().unwrap();
    });
}

/// A receiver that joins first waits until the first sender has joined.
#[test]
fn a_receiver_waits_for_the_first_sender() {
    loom::model(|| {
        let model = Arc::new(Model::queue(1, 2));
        let receiver = spawn(&model, |model| {
            let (_, message) = model.take_or_end(1, &mut 0).expect("it will be sent");
            assert_eq!(whole(message), 5);
        });
        model.join_sender();
        assert!(model.try_send(0, &mut 0, 5));
        model.leave_sender();
        receiver.join().unwrap();
    });
}

/// A sender finds that the segment was overwritten, and leaves. Its receiver does not take that for an end in order.
#[test]
fn who_is_left_sees_that_the_segment_was_overwritten() {
    loom::model(|| {
        let model = Arc::new(Model::queue(1, 2));
        let receiver = spawn(&model, |model| {
            assert!(model.take_or_end(1, &mut 0).is_none());
            assert!(model.is_marked_corrupt(), "an end in order");
        });
        model.join_sender();
        model.mark_corrupt();
        model.leave_sender();
        receiver.join().unwrap();
    });
}

/// A sender waits until its message is consumed, also by another receiver than the first.
#[test]
fn a_sender_waits_until_its_message_is_consumed() {
    loom::model(|| {
        let model = Arc::new(Model::queue(2, 3));
        assert!(model.try_send(0, &mut 0, 5));
        let consumed = Arc::new(AtomicBool::new(false));
        let has_consumed = consumed.clone();
        let sender = spawn(&model, move |model| {
            model.drain();
            assert!(consumed.load(Ordering::SeqCst), "drained too early");
        });
        let (position, _) = model.take(1, &mut 0).expect("it was sent");
        model.put_back(1, position);
        let (position, _) = model.take(2, &mut 0).expect("it was put back");
        has_consumed.store(true, Ordering::SeqCst);
        model.consume(2, position);
        sender.join().unwrap();
    });
}
