//! Models of selections: a thread that waits in several channels.

use crate::model;

use blitz_io_channel::mpmc::{self, Select};
use loom::thread;
use model::{End, model_in_order as model, soon};

type Sender = End<mpmc::Sender<u32>>;
type Receiver = End<mpmc::Receiver<u32>>;

fn channel(capacity: usize) -> (Sender, Receiver) {
    let (sender, receiver) = mpmc::bounded(capacity);
    (End::new(sender), End::new(receiver))
}

/// Receives from the first of these that has something.
fn receive(receivers: [&Receiver; 2]) -> u32 {
    let mut select = Select::new();
    for receiver in receivers {
        select.recv(receiver);
    }
    let operation = select.select();
    let receiver = receivers[operation.index()];
    operation.recv(receiver).unwrap()
}

/// Two channels get a value each, both at the same time.
fn both_become_ready(capacity: usize) {
    model(1 + capacity, move || {
        let (one, first) = channel(capacity);
        let (two, second) = channel(capacity);
        let senders = [(one.clone(), 1), (two.clone(), 2)]
            .map(|(sender, n)| thread::spawn(move || sender.blocking_send(n).unwrap()));
        let sum = receive([&first, &second]) + receive([&first, &second]);
        assert_eq!(sum, 3);
        assert!(first.is_empty() && second.is_empty());
        for sender in senders {
            sender.join().unwrap();
        }
        drop((one, two));
    });
}

/// One waits in two channels, another in one of them. Each gets one value.
fn beside_another(capacity: usize) {
    model(2, move || {
        let (one, first) = channel(capacity);
        let (_two, second) = channel(capacity);
        let other = thread::spawn({
            let first = first.clone();
            move || first.blocking_recv().unwrap()
        });
        let sender = thread::spawn(move || {
            one.blocking_send(1).unwrap();
            one.blocking_send(2).unwrap();
        });
        assert_eq!(receive([&first, &second]) + other.join().unwrap(), 3);
        sender.join().unwrap();
    });
}

/// Both sides of a channel without a buffer are selections.
fn selections_meet() {
    model(2, || {
        let (one, first) = channel(0);
        let (_two, second) = channel(0);
        let sender = thread::spawn(move || {
            let mut select = Select::new();
            select.send(&one);
            select.select().send(&one, 7).unwrap();
        });
        assert_eq!(receive([&first, &second]), 7);
        sender.join().unwrap();
    });
}

/// A thread that just receives, from a selection whose value comes later.
fn a_receiver_meets_a_selection() {
    model(2, || {
        let (one, first) = channel(0);
        let receiver = thread::spawn(move || first.blocking_recv().unwrap());
        let (two, _second) = channel(0);
        let mut select = Select::new();
        let sends = select.send(&one);
        select.send(&two);
        let operation = select.select();
        assert_eq!(operation.index(), sends);
        operation.send(&one, 7).unwrap();
        assert_eq!(receiver.join().unwrap(), 7);
    });
}

/// A selection times out while a sender may choose it. No value is lost.
fn a_selection_times_out() {
    model(2, || {
        let (sender, receiver) = channel(1);
        let thread = thread::spawn({
            let receiver = receiver.clone();
            move || {
                let mut select = Select::new();
                select.recv(&receiver);
                match select.select_deadline(soon()) {
                    Ok(operation) => operation.recv(&receiver).unwrap(),
                    Err(_) => 0,
                }
            }
        });
        blitz_io_futex::model::expire();
        sender.blocking_send(7).unwrap();
        let got = thread.join().unwrap();
        assert_eq!(got + receiver.try_recv().unwrap_or(0), 7);
    });
}

/// A receiver times out while a selection has promised it a value. The selection gives
/// up, or sends after all.
fn a_promise_is_broken(sends: bool) {
    model(2, move || {
        let (sender, receiver) = channel(0);
        let thread = thread::spawn({
            let receiver = receiver.clone();
            move || receiver.blocking_recv_deadline(soon())
        });
        let mut select = Select::new();
        select.send(&sender);
        let selected = select.try_select();
        blitz_io_futex::model::expire();
        let sent = match selected {
            Ok(operation) if sends => operation.send(&sender, 7).is_ok(),
            Ok(operation) => {
                let dropped = std::panic::AssertUnwindSafe(|| drop(operation));
                assert!(std::panic::catch_unwind(dropped).is_err());
                false
            }
            Err(_) => false,
        };
        assert_eq!(thread.join().unwrap().is_ok(), sent);
    });
}

/// The end of a channel is an event like any other.
fn a_channel_is_closed() {
    model(2, || {
        let (one, first) = channel(1);
        let (_two, second) = channel(1);
        let closer = thread::spawn(move || drop(one));
        let mut select = Select::new();
        let ends = select.recv(&first);
        select.recv(&second);
        let operation = select.select();
        assert_eq!(operation.index(), ends);
        assert!(operation.recv(&first).is_err());
        closer.join().unwrap();
    });
}

/// A selection that only observes.
fn readiness(capacity: usize) {
    model(2, move || {
        let (one, first) = channel(capacity);
        let (_two, second) = channel(capacity);
        let sender = thread::spawn(move || one.blocking_send(7).unwrap());
        let mut select = Select::new();
        let has = select.recv(&first);
        select.recv(&second);
        assert_eq!(select.ready(), has);
        assert_eq!(first.try_recv(), Ok(7));
        sender.join().unwrap();
    });
}

#[test]
fn one_of_two_that_become_ready() {
    both_become_ready(0);
    both_become_ready(1);
}

#[test]
fn a_selection_beside_a_receiver() {
    beside_another(1);
}

#[test]
fn two_selections_meet() {
    selections_meet();
}

#[test]
fn a_receiver_waits_for_a_selection() {
    a_receiver_meets_a_selection();
}

#[test]
fn a_time_out_loses_nothing() {
    a_selection_times_out();
}

#[test]
fn a_promise_outlasts_a_time_out() {
    a_promise_is_broken(true);
    a_promise_is_broken(false);
}

#[test]
fn the_end_is_an_event() {
    a_channel_is_closed();
}

#[test]
fn who_observes_is_told() {
    readiness(0);
    readiness(1);
}

/// A value is in the second channel until one is in the first.
fn a_value_moves_to_a_channel_looked_at_before() {
    model(2, || {
        let (one, first) = channel(1);
        let (two, second) = channel(1);
        two.try_send(2).unwrap();
        let mover = thread::spawn({
            let second = second.clone();
            move || {
                one.try_send(1).unwrap();
                let _ = second.try_recv();
            }
        });
        let mut select = Select::new();
        select.recv(&first);
        select.recv(&second);
        let operation = select.try_select().expect("a value is there all the time");
        match operation.index() {
            0 => assert_eq!(operation.recv(&first), Ok(1)),
            _ => assert_eq!(operation.recv(&second), Ok(2)),
        }
        mover.join().unwrap();
        drop(two);
    });
}

#[test]
fn an_attempt_finds_what_is_there_all_the_time() {
    a_value_moves_to_a_channel_looked_at_before();
}
