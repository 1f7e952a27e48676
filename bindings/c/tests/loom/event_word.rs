//! Models of an event on a word.

use std::sync::Arc;

use crate::protocol::event_word::{auto, manual, try_take};
use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicU32;
use loom::thread;

use crate::model::model_in_order;

struct Shared {
    word: UnsafeCell<AtomicU32>,
    number: UnsafeCell<u32>,
}

// SAFETY: the models are about whether the word orders the uses of the number and of the word itself.
unsafe impl Sync for Shared {}
// SAFETY: they are numbers.
unsafe impl Send for Shared {}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            word: UnsafeCell::new(AtomicU32::new(0)),
            number: UnsafeCell::new(0),
        })
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: it lives as long as the model; `free` is the only other use.
        self.word.with(|word| unsafe { &*word })
    }

    fn work(&self) {
        // SAFETY: the model checker finds out whether it is.
        self.number.with_mut(|number| unsafe { *number += 1 });
    }

    fn expect(&self, expected: u32) {
        // SAFETY: the model checker finds out whether it is.
        assert_eq!(self.number.with(|number| unsafe { *number }), expected);
    }

    fn set_manual(&self) {
        self.work();
        manual::set(self.word(), wake_all);
    }

    fn set_auto(&self) {
        auto::set(self.word(), wake_one);
    }

    fn wait_manual(&self) {
        manual::wait(self.word(), sleep).unwrap();
        self.expect(1);
    }

    fn wait_auto(&self) {
        auto::wait(self.word(), sleep).unwrap();
    }

    /// Uses the word for something else: the model fails if another thread uses it later, or at the
    /// same time.
    fn free(&self) {
        // SAFETY: the model checker finds out whether it is.
        (self.word).with_mut(|word| unsafe { (*word).with_mut(|word| *word = u32::MAX) });
    }
}

fn sleep(word: &AtomicU32, state: u32) -> Result<(), ()> {
    blitz_io_futex::wait(word, state);
    Ok(())
}

fn wake_all(word: *const AtomicU32) {
    blitz_io_futex::wake_all(word);
}

fn wake_one(word: *const AtomicU32) {
    blitz_io_futex::wake_one(word);
}

fn spawn<R: 'static>(
    shared: &Arc<Shared>,
    run: impl FnOnce(&Shared) -> R + 'static,
) -> thread::JoinHandle<R> {
    let shared = shared.clone();
    thread::spawn(move || run(&shared))
}

#[test]
fn a_manual_event_may_be_freed_by_the_released_waiter() {
    model_in_order(2, || {
        let shared = Shared::new();
        let setter = spawn(&shared, Shared::set_manual);
        shared.wait_manual();
        shared.free();
        setter.join().unwrap();
    });
}

#[test]
fn an_auto_event_may_be_freed_by_the_released_waiter() {
    model_in_order(2, || {
        let shared = Shared::new();
        let setter = spawn(&shared, |shared| {
            shared.work();
            shared.set_auto();
        });
        shared.wait_auto();
        shared.expect(1);
        shared.free();
        setter.join().unwrap();
    });
}

#[test]
fn a_manual_event_releases_all() {
    model_in_order(2, || {
        let shared = Shared::new();
        let waiters = [(); 2].map(|()| spawn(&shared, Shared::wait_manual));
        shared.set_manual();
        waiters
            .into_iter()
            .for_each(|waiter| waiter.join().unwrap());
    });
}

/// A waiter is released by a set during its sleep, though the event is reset at once.
#[test]
fn a_reset_at_once_does_not_hold_a_waiter_back() {
    model_in_order(2, || {
        let shared = Shared::new();
        let sleep = |word: &AtomicU32, _| {
            manual::set(word, wake_all);
            manual::reset(word);
            Ok::<_, ()>(())
        };
        manual::wait(shared.word(), sleep).unwrap();
        assert!(!try_take(shared.word(), false));
    });
}

/// Each of two waiters proceeds with a set, and then sets for the other.
#[test]
fn an_auto_event_goes_from_waiter_to_waiter() {
    model_in_order(2, || {
        let shared = Shared::new();
        let take_turn = |shared: &Shared| {
            shared.wait_auto();
            shared.work();
            shared.set_auto();
        };
        let waiters = [(); 2].map(|()| spawn(&shared, take_turn));
        shared.set_auto();
        waiters
            .into_iter()
            .for_each(|waiter| waiter.join().unwrap());
        assert!(try_take(shared.word(), true));
        shared.expect(2);
    });
}

/// A waiter that gives up after its sleep takes the event that is set: its wake is for no other.
#[test]
fn a_waiter_that_gives_up_takes_the_event_of_its_wake() {
    model_in_order(2, || {
        let shared = Shared::new();
        let gives_up = spawn(&shared, |shared| {
            let waited = auto::wait(shared.word(), |word, state| {
                blitz_io_futex::wait(word, state);
                Err(())
            });
            if waited.is_ok() {
                shared.set_auto();
            }
        });
        let waiter = spawn(&shared, |shared| {
            shared.wait_auto();
            shared.set_auto();
        });
        shared.set_auto();
        waiter.join().unwrap();
        gives_up.join().unwrap();
    });
}
