//! Models of the parker.

use crate::model;

use blitz_io_sync::thread::Parker;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use model::{model_in_order as model, soon};

fn unpark_once() {
    model(4, || {
        let parker = Parker::new();
        let unparker = parker.unparker().clone();
        let other = thread::spawn(move || unparker.unpark());
        parker.park();
        other.join().unwrap();
    });
}

/// Waits for a condition in the usual way: parks until it is true.
fn two_unparkers() {
    model(3, || {
        let parker = Parker::new();
        let done = Arc::new(AtomicUsize::new(0));
        let others = [(); 2].map(|()| {
            let unparker = parker.unparker().clone();
            let done = done.clone();
            thread::spawn(move || {
                // Relaxed: it is the token that makes it visible.
                done.fetch_add(1, Ordering::Relaxed);
                unparker.unpark();
            })
        });
        while done.load(Ordering::Relaxed) < 2 {
            parker.park();
        }
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

/// A token that comes at the last moment ends the next park.
fn time_passes() {
    model(3, || {
        let parker = Parker::new();
        let unparker = parker.unparker().clone();
        let other = thread::spawn(move || unparker.unpark());
        let clock = thread::spawn(blitz_io_futex::model::expire);
        if !parker.park_deadline(soon()) {
            parker.park();
        }
        other.join().unwrap();
        clock.join().unwrap();
    });
}

/// An unparker that is slow to wake must not end a later park.
fn a_late_wake() {
    model(2, || {
        let parker = Parker::new();
        let others = [(); 2].map(|()| {
            let unparker = parker.unparker().clone();
            thread::spawn(move || unparker.unpark())
        });
        let is_time = Arc::new(AtomicUsize::new(0));
        let clock = {
            let is_time = is_time.clone();
            thread::spawn(move || {
                others.into_iter().for_each(|other| other.join().unwrap());
                is_time.store(1, Ordering::SeqCst);
                blitz_io_futex::model::expire();
            })
        };
        parker.park();
        // The other token, or the time, but nothing else.
        assert!(parker.park_deadline(soon()) || is_time.load(Ordering::SeqCst) == 1);
        clock.join().unwrap();
    });
}

#[test]
fn only_a_token_ends_a_park() {
    a_late_wake();
}

#[test]
fn a_token_ends_a_park() {
    unpark_once();
}

#[test]
fn every_token_brings_its_news() {
    two_unparkers();
}

#[test]
fn a_late_token_is_kept() {
    time_passes();
}
