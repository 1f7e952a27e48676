//! Models of the parker.

use crate::model;

use std::time::Instant;

use blitz_io_core::Parker;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use model::{model_in_order as model, soon};

/// A parker, and a value that is written before each unpark.
struct Shared {
    parker: Parker,
    value: UnsafeCell<u32>,
}

// SAFETY: the models order the uses of the value, which loom checks.
unsafe impl Sync for Shared {}
// SAFETY: a number may go anywhere.
unsafe impl Send for Shared {}

fn unparked_once(park: impl Fn(&Parker) -> bool + Send + Sync + 'static) {
    model(4, move || {
        let shared = Arc::new(Shared {
            parker: Parker::new(),
            value: UnsafeCell::new(0),
        });
        let other = {
            let shared = shared.clone();
            thread::spawn(move || {
                // SAFETY: the other thread uses it after the unpark.
                shared.value.with_mut(|value| unsafe { *value = 1 });
                shared.parker.unpark();
            })
        };
        assert!(park(&shared.parker));
        // SAFETY: the unpark came before.
        shared.value.with(|value| assert_eq!(unsafe { *value }, 1));
        other.join().unwrap();
    });
}

#[test]
fn a_token_ends_a_park() {
    unparked_once(|parker| parker.park(None));
}

#[test]
fn a_token_ends_a_wait_and_stays() {
    unparked_once(|parker| parker.wait(None) && parker.is_notified() && parker.take());
}

/// Two unparks may leave one token, which then stands for both.
#[test]
fn each_unpark_is_seen() {
    model(3, || {
        let parker = Arc::new(Parker::new());
        let done = Arc::new(AtomicUsize::new(0));
        let others = [(); 2].map(|()| {
            let (parker, done) = (parker.clone(), done.clone());
            thread::spawn(move || {
                // Relaxed: the token makes it visible.
                done.fetch_add(1, Ordering::Relaxed);
                parker.unpark();
            })
        });
        while done.load(Ordering::Relaxed) < 2 {
            parker.park(None);
        }
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

/// A token that comes at the last moment ends this park or the next.
#[test]
fn a_late_token_is_kept() {
    model(3, || {
        let parker = Arc::new(Parker::new());
        let other = {
            let parker = parker.clone();
            thread::spawn(move || parker.unpark())
        };
        let clock = thread::spawn(blitz_io_futex::model::expire);
        let deadline: Instant = soon();
        if !parker.park(Some(deadline)) {
            assert!(parker.park(None));
        }
        other.join().unwrap();
        clock.join().unwrap();
    });
}
