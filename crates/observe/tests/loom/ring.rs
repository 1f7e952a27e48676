//! Models of the ring of a thread's events: its owners, and a reader.

use std::sync::Arc;

use blitz_io_observe::{Ring, WORDS, Words};
use loom::sync::Mutex;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use crate::model::model_in_order;

const CAPACITY: usize = 2;

/// All words of event `n` are `n + 1`.
fn push(ring: &Ring, number: u64) {
    ring.push([number + 1; WORDS]);
}

/// Reads the ring, and checks that the events are whole, and follow each other after those that are lost.
fn read(ring: &Ring) -> u64 {
    let mut events: Vec<Words> = Vec::new();
    let lost = ring.read(&mut events);
    for (at, words) in (lost..).zip(&events) {
        assert_eq!(*words, [at + 1; WORDS], "another event's words");
    }
    lost + events.len() as u64
}

/// The owner goes round the ring while the reader copies it.
#[test]
fn a_reader_keeps_whole_events_only() {
    model_in_order(2, || {
        let ring = Arc::new(Ring::new(CAPACITY));
        push(&ring, 0);
        let reader = {
            let ring = ring.clone();
            thread::spawn(move || _ = read(&ring))
        };
        push(&ring, 1);
        push(&ring, 2);
        push(&ring, 3);
        reader.join().unwrap();
        assert_eq!(read(&ring), 4);
    });
}

/// A reader that knows of an event finds it.
#[test]
fn a_reader_finds_each_event_that_it_knows_of() {
    model_in_order(2, || {
        let ring = Arc::new(Ring::new(CAPACITY));
        let pushed = Arc::new(AtomicU32::new(0));
        let reader = {
            let (ring, pushed) = (ring.clone(), pushed.clone());
            thread::spawn(move || {
                let known = pushed.load(Ordering::Acquire);
                assert!(read(&ring) >= known.into(), "an event is missing");
            })
        };
        for number in 0..2 {
            push(&ring, number.into());
            pushed.store(number + 1, Ordering::Release);
        }
        reader.join().unwrap();
    });
}

/// Two threads own the ring in turn, by a lock, while a third one reads.
#[test]
fn owners_in_turn_continue_the_numbers() {
    model_in_order(2, || {
        let ring = Arc::new(Ring::new(CAPACITY));
        let next = Arc::new(Mutex::new(0));
        let own = |ring: &Ring, next: &Mutex<u64>| {
            let mut next = next.lock().unwrap();
            push(ring, *next);
            *next += 1;
        };
        let other = {
            let (ring, next) = (ring.clone(), next.clone());
            thread::spawn(move || own(&ring, &next))
        };
        let reader = {
            let ring = ring.clone();
            thread::spawn(move || _ = read(&ring))
        };
        own(&ring, &next);
        other.join().unwrap();
        reader.join().unwrap();
        assert_eq!(read(&ring), 2);
    });
}
