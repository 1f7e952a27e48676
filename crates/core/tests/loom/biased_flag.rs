//! Models of the biased flag: its owner, and threads that come from outside.
#![cfg(loom)]

use crate::model;

use std::sync::Arc;

use blitz_io_core::BiasedFlag;
use loom::cell::UnsafeCell;
use loom::thread;

use blitz_io_core::fences::model::with_late_barriers;
use model::{model, model_in_order};

struct Counter {
    flag: BiasedFlag,
    /// loom watches it for unsynchronised access.
    value: UnsafeCell<u32>,
}

// SAFETY: the value is used by calls that have entered only, which loom checks.
unsafe impl Sync for Counter {}
// SAFETY: a number may go anywhere.
unsafe impl Send for Counter {}

impl Counter {
    fn shared() -> Arc<Self> {
        Arc::new(Self {
            flag: BiasedFlag::new(),
            value: UnsafeCell::new(0),
        })
    }

    /// Adds one, unless another call is inside. Returns how many it has added.
    fn add(&self) -> u32 {
        let Some(inside) = self.flag.enter() else {
            return 0;
        };
        // SAFETY: the call is inside.
        self.value.with_mut(|value| unsafe { *value += 1 });
        self.flag.leave(inside);
        1
    }

    /// For the main thread, when the others have ended.
    fn assert_is(&self, count: u32) {
        // SAFETY: no other thread uses it any more, which loom checks.
        self.value
            .with(|value| assert_eq!(unsafe { *value }, count));
    }
}

fn spawn(counter: &Arc<Counter>) -> thread::JoinHandle<u32> {
    let counter = counter.clone();
    thread::spawn(move || counter.add())
}

fn owner_and(remotes: usize) -> impl Fn() + Copy + Send + Sync + 'static {
    move || {
        let counter = Counter::shared();
        // The main thread is the owner.
        assert_eq!(counter.add(), 1);
        let threads: Vec<_> = (0..remotes).map(|_| spawn(&counter)).collect();
        let mut added = 1 + counter.add() + counter.add();
        added += threads.into_iter().map(|t| t.join().unwrap()).sum::<u32>();
        counter.assert_is(added);
    }
}

#[test]
fn the_owner_and_a_remote_thread_are_never_inside_together() {
    model(3, owner_and(1));
}

#[test]
fn two_remote_threads_are_never_inside_together() {
    model(2, owner_and(2));
}

#[test]
fn they_are_not_while_the_process_gives_up_light_fences() {
    with_late_barriers(|| model_in_order(2, owner_and(2)));
}

#[test]
fn two_threads_that_come_first_are_never_inside_together() {
    model(3, || {
        let counter = Counter::shared();
        let other = spawn(&counter);
        let added = counter.add() + other.join().unwrap();
        counter.assert_is(added);
    });
}

/// The thing moves to another thread and back, one call after the other.
#[test]
fn calls_one_after_the_other_all_enter() {
    model(2, || {
        let counter = Counter::shared();
        assert_eq!(counter.add(), 1);
        assert_eq!(spawn(&counter).join().unwrap(), 1);
        assert_eq!(counter.add(), 1);
        assert_eq!(spawn(&counter).join().unwrap(), 1);
        counter.assert_is(4);
    });
}
