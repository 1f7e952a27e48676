//! Models of `Once`, `OnceLock` and `LazyLock`.

use blitz_io_futex::model;
use blitz_io_sync::thread::{LazyLock, Once, OnceLock};
use loom::cell::UnsafeCell;
use loom::thread;
// loom's `Arc` can not be dropped after a deadlock was found.
use std::sync::Arc;
use std::time::Duration;

/// The value of a time-out means nothing in a model.
const SOME_TIME: Duration = Duration::from_secs(1);

/// A number that the model checker watches: reading it without being ordered
/// after its writing is a failure.
struct Guarded {
    once: Once,
    number: UnsafeCell<u32>,
}

// SAFETY: the models are about whether `once` orders the uses of the number.
unsafe impl Sync for Guarded {}
// SAFETY: it is a number.
unsafe impl Send for Guarded {}

impl Guarded {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            once: Once::new(),
            number: UnsafeCell::new(0),
        })
    }

    fn increment(&self) {
        // SAFETY: the model checker finds out whether it is.
        self.number.with_mut(|number| unsafe { *number += 1 });
    }

    fn read(&self) -> u32 {
        // SAFETY: the model checker finds out whether it is.
        self.number.with(|number| unsafe { *number })
    }
}

fn two_calls() {
    loom::model(|| {
        let guarded = Guarded::new();
        let other = thread::spawn({
            let guarded = guarded.clone();
            move || {
                guarded.once.call_once(|| guarded.increment());
                assert_eq!(guarded.read(), 1);
            }
        });
        guarded.once.call_once(|| guarded.increment());
        assert_eq!(guarded.read(), 1);
        other.join().unwrap();
    });
}

#[test]
fn of_two_calls_one_runs_and_both_see_it() {
    two_calls();
}

#[test]
fn three_calls() {
    loom::model(|| {
        let guarded = Guarded::new();
        let others: Vec<_> = (0..2)
            .map(|_| {
                let guarded = guarded.clone();
                thread::spawn(move || guarded.once.call_once(|| guarded.increment()))
            })
            .collect();
        guarded.once.call_once(|| guarded.increment());
        assert_eq!(guarded.read(), 1);
        for other in others {
            other.join().unwrap();
        }
    });
}

fn waiter_and_call() {
    loom::model(|| {
        let guarded = Guarded::new();
        let waiter = thread::spawn({
            let guarded = guarded.clone();
            move || {
                guarded.once.wait();
                assert_eq!(guarded.read(), 1);
            }
        });
        guarded.once.call_once(|| guarded.increment());
        waiter.join().unwrap();
    });
}

#[test]
fn a_waiter_is_released_wherever_it_falls_asleep() {
    waiter_and_call();
}

#[test]
fn two_waiters_are_released() {
    loom::model(|| {
        let guarded = Guarded::new();
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let guarded = guarded.clone();
                thread::spawn(move || {
                    guarded.once.wait_force();
                    assert_eq!(guarded.read(), 1);
                })
            })
            .collect();
        guarded.once.call_once(|| guarded.increment());
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

#[test]
fn a_waiter_whose_time_is_up_tells_the_truth() {
    loom::model(|| {
        let guarded = Guarded::new();
        let clock = thread::spawn(model::expire);
        let waiter = thread::spawn({
            let guarded = guarded.clone();
            move || {
                if guarded.once.wait_timeout(SOME_TIME) {
                    assert_eq!(guarded.read(), 1);
                }
            }
        });
        guarded.once.call_once(|| guarded.increment());
        waiter.join().unwrap();
        clock.join().unwrap();
    });
}

/// One initialiser fails. (By an error: a model can not switch between threads
/// while one of them unwinds, and `Once` poisons itself in the same way.)
fn failure_and_call() {
    loom::model(|| {
        let cell = Arc::new(OnceLock::new());
        let other = thread::spawn({
            let cell = cell.clone();
            move || assert_eq!(cell.get_or_init(|| 1), &1)
        });
        let tried = cell.get_or_try_init(|| Err(()));
        assert!(matches!(tried, Ok(1) | Err(())));
        other.join().unwrap();
        assert_eq!(cell.get(), Some(&1));
    });
}

#[test]
fn a_call_takes_over_from_one_that_failed() {
    failure_and_call();
}

#[test]
fn a_patient_waiter_sleeps_through_a_failure() {
    loom::model(|| {
        let cell = Arc::new(OnceLock::new());
        let waiter = thread::spawn({
            let cell = cell.clone();
            move || assert_eq!(cell.wait(), &1)
        });
        assert_eq!(cell.get_or_try_init(|| Err(())), Err(()));
        assert_eq!(cell.set(1), Ok(()));
        waiter.join().unwrap();
    });
}

#[test]
fn of_two_set_one_succeeds() {
    loom::model(|| {
        let cell = Arc::new(OnceLock::new());
        let other = thread::spawn({
            let cell = cell.clone();
            move || cell.set(1).is_ok()
        });
        let first = cell.set(2).is_ok();
        let seen = *cell.get().unwrap();
        let second = other.join().unwrap();
        assert!(first != second);
        assert_eq!(seen, if first { 2 } else { 1 });
    });
}

#[test]
fn a_timed_wait_for_a_cell() {
    loom::model(|| {
        let cell = Arc::new(OnceLock::new());
        let clock = thread::spawn(model::expire);
        let waiter = thread::spawn({
            let cell = cell.clone();
            move || assert!(matches!(cell.wait_timeout(SOME_TIME), None | Some(7)))
        });
        cell.set(7).unwrap();
        waiter.join().unwrap();
        clock.join().unwrap();
    });
}

#[test]
fn a_lazy_value_is_made_once() {
    loom::model(|| {
        let guarded = Guarded::new();
        let lazy = Arc::new(LazyLock::new({
            let guarded = guarded.clone();
            move || {
                guarded.increment();
                guarded.read()
            }
        }));
        let other = thread::spawn({
            let (lazy, guarded) = (lazy.clone(), guarded.clone());
            move || assert_eq!((**lazy, guarded.read()), (1, 1))
        });
        assert_eq!((**lazy, guarded.read()), (1, 1));
        other.join().unwrap();
    });
}
