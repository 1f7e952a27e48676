//! Models of a map with a count: what suspended tasks leave with the recorder of `blitz lint`.

use std::sync::Arc;

use blitz_io_observe::CountedMap;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

use crate::model::model_in_order;

const TASK: u64 = 1;
const OTHER: u64 = 2;
const MOST: usize = 2;

/// A task goes from one thread to another one, while a third one polls another task.
#[test]
fn the_next_poll_finds_the_entry() {
    model_in_order(3, || {
        let map = Arc::new(CountedMap::default());
        assert!(map.add(OTHER, 7, MOST).is_ok());
        // The state of the task.
        let is_idle = Arc::new(AtomicBool::new(false));
        let other = {
            let map = map.clone();
            thread::spawn(move || assert_eq!(map.take(OTHER), Some(7), "the other's entry"))
        };
        let suspends = {
            let (map, is_idle) = (map.clone(), is_idle.clone());
            thread::spawn(move || {
                assert!(map.add(TASK, 8, MOST).is_ok());
                is_idle.store(true, Ordering::Release);
            })
        };
        if is_idle.load(Ordering::Acquire) {
            assert_eq!(map.take(TASK), Some(8), "the entry is missed");
        }
        suspends.join().unwrap();
        other.join().unwrap();
    });
}

/// Two tasks are suspended at once, and there is room for one.
#[test]
fn there_are_no_more_entries_than_may_be() {
    model_in_order(3, || {
        let map = Arc::new(CountedMap::default());
        let other = {
            let map = map.clone();
            thread::spawn(move || map.add(OTHER, 7, 1).is_ok())
        };
        let is_in = map.add(TASK, 8, 1).is_ok();
        let other_is_in = other.join().unwrap();
        assert!(is_in != other_is_in, "one has room");
        assert_eq!(map.take(TASK).is_some(), is_in);
        assert_eq!(map.take(OTHER).is_some(), other_is_in);
        assert!(map.is_empty());
    });
}
