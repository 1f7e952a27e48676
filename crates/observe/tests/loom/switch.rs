//! Models of the switches of the recorders: threads that ask, start and stop at the same time.

use std::sync::Arc;

use blitz_io_observe::Switch;
use loom::thread;

use crate::model::model_in_order;

const ONE: u8 = 2;
const OTHER: u8 = 4;

/// Runs `with` in two threads, and returns both results.
fn both(switch: &Arc<Switch>, with: impl Fn(&Switch) -> bool + Copy + Send + 'static) -> [bool; 2] {
    let shared = switch.clone();
    let other = thread::spawn(move || with(&shared));
    [with(switch), other.join().unwrap()]
}

#[test]
fn one_thread_looks_into_the_environment() {
    model_in_order(3, || {
        let switch = Arc::new(Switch::new());
        let asks = both(&switch, Switch::begin_to_ask);
        assert!(asks[0] != asks[1], "{asks:?} look");
        assert!(!switch.is_unknown() && !switch.may_any_be_on());
    });
}

#[test]
fn one_thread_starts_a_recorder() {
    model_in_order(3, || {
        let switch = Arc::new(Switch::new());
        let starts = both(&switch, |switch| switch.start(ONE));
        assert!(starts[0] != starts[1], "{starts:?} start it");
        assert!(switch.is_on(ONE) && !switch.is_on(OTHER));
    });
}

/// One thread reads the environment while a recorder is started and another one is stopped.
#[test]
fn recorders_do_not_change_each_other() {
    model_in_order(3, || {
        let switch = Arc::new(Switch::new());
        assert!(switch.start(OTHER));
        let stops = {
            let switch = switch.clone();
            thread::spawn(move || switch.stop(OTHER))
        };
        let asks = {
            let switch = switch.clone();
            thread::spawn(move || assert!(switch.begin_to_ask(), "no other thread asks"))
        };
        assert!(switch.start(ONE));
        stops.join().unwrap();
        asks.join().unwrap();
        assert!(switch.is_on(ONE), "a start is lost");
        assert!(!switch.is_on(OTHER), "a stop is lost");
        assert!(!switch.is_unknown(), "the environment is asked again");
    });
}
