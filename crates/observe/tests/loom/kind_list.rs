//! Models of the values of an object by kind: threads that insert, the end of an object, and a reader.

use std::sync::Arc;

use blitz_io_observe::{KindList, KindNode};
use loom::sync::Mutex;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use crate::model::model_in_order;

struct Shared {
    lists: [KindList<AtomicU32>; 2],
    free: Mutex<Vec<&'static KindNode<AtomicU32>>>,
}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            lists: [KindList::new(), KindList::new()],
            free: Mutex::new(Vec::new()),
        })
    }

    fn count(&self, list: usize, kind: usize) {
        let list = &self.lists[list];
        let count = match list.find(kind) {
            Some(count) => count,
            None => list.insert(kind, &mut self.free.lock().unwrap()),
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// The counts of a list, whose reader makes no more than two steps.
    fn sum(&self, list: usize) -> u32 {
        let counts = self.lists[list].iter().take(2);
        counts.map(|(_, count)| count.load(Ordering::Relaxed)).sum()
    }
}

#[test]
fn threads_that_insert_a_kind_share_its_value() {
    model_in_order(2, || {
        let shared = Shared::new();
        let other = {
            let shared = shared.clone();
            thread::spawn(move || shared.count(0, 1))
        };
        shared.count(0, 1);
        other.join().unwrap();
        let found = shared.lists[0].find(1).unwrap();
        assert_eq!(found.load(Ordering::Relaxed), 2);
        assert_eq!(shared.lists[0].iter().count(), 1);
    });
}

// The owner is the thread that loom runs first: see `inspect_poll.rs`.

/// While a reader walks the list of an object, the object is dropped, and another one gets its value.
#[test]
fn a_reader_follows_a_value_that_moves() {
    model_in_order(2, || {
        let shared = Shared::new();
        shared.count(0, 1);
        let reader = {
            let shared = shared.clone();
            thread::spawn(move || assert!(shared.sum(0) <= 2))
        };
        shared.count(1, 2);
        let reset = |_, count: &AtomicU32| count.store(0, Ordering::Relaxed);
        shared.lists[0].retire(&mut shared.free.lock().unwrap(), reset);
        shared.count(1, 3);
        reader.join().unwrap();
        assert!(shared.lists[0].is_empty());
        assert_eq!(shared.sum(1), 2);
    });
}

#[test]
fn a_reader_sees_a_value_that_is_made() {
    model_in_order(2, || {
        let shared = Shared::new();
        let reader = {
            let shared = shared.clone();
            thread::spawn(move || assert!(shared.sum(0) <= 1))
        };
        shared.count(0, 1);
        reader.join().unwrap();
        assert_eq!(shared.sum(0), 1);
    });
}
