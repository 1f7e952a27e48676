//! `mpsc`: the values of a thread arrive in the order in which it sent them, also where another
//! thread sends one for it.

use std::sync::Barrier;
use std::thread;

use blitz_io_channel::mpsc;
use blitz_io_channel::mpsc::error::TrySendError;

const EACH: usize = if cfg!(miri) { 50 } else { 20_000 };

/// Each sender waits for room, then tries to send without waiting, in turns.
fn in_turns(senders: usize, capacity: usize, at_once: usize) {
    let (tx, rx) = mpsc::channel(capacity);
    let start = Barrier::new(senders);
    thread::scope(|scope| {
        for id in 0..senders {
            let (tx, start) = (tx.clone(), &start);
            scope.spawn(move || {
                start.wait();
                let mut n = 0;
                while n < EACH {
                    tx.blocking_send((id, n)).unwrap();
                    n += 1;
                    match tx.try_send((id, n)) {
                        Ok(()) => n += 1,
                        Err(TrySendError::Full(_)) => {}
                        Err(TrySendError::Closed(_)) => panic!("the receiver is here"),
                    }
                }
            });
        }
        drop(tx);
        // Dropped when a check fails, so that no sender waits forever.
        let mut rx = rx;
        let mut next = vec![0; senders];
        let mut buffer = Vec::new();
        while rx.blocking_recv_many(&mut buffer, at_once) != 0 {
            for (id, n) in buffer.drain(..) {
                assert_eq!(n, next[id], "from sender {id}");
                next[id] += 1;
            }
        }
        assert!(next.iter().all(|&n| n >= EACH));
    });
}

/// Runs [`in_turns`] with one sender, which looks whether it has been chosen while the
/// receiver chooses it, and with several.
fn all_in_turns(capacity: usize, at_once: usize) {
    for senders in [1, 2, 4] {
        in_turns(senders, capacity, at_once);
    }
}

#[test]
fn through_room_for_one() {
    all_in_turns(1, 1);
}

#[test]
fn through_room_for_two() {
    all_in_turns(2, 2);
    all_in_turns(2, 1);
}

#[test]
fn through_room_for_three() {
    all_in_turns(3, 3);
    all_in_turns(3, 2);
}

#[test]
fn through_much_room() {
    all_in_turns(16, 16);
    all_in_turns(16, 5);
}
