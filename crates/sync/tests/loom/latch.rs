//! Models of `Latch`.

use blitz_io_futex::model;
use blitz_io_sync::thread::Latch;
use loom::cell::UnsafeCell;
use loom::thread::{self, JoinHandle};
// loom's `Arc` can not be dropped after a deadlock was found.
use std::sync::Arc;
use std::time::Duration;

/// The value of a time-out means nothing in a model.
const SOME_TIME: Duration = Duration::from_secs(1);

/// A latch of two, and the work of the two threads before they count down.
struct Shared {
    latch: Latch,
    done: [UnsafeCell<bool>; 2],
}

// SAFETY: the models are about whether the latch orders the uses of the cells.
unsafe impl Sync for Shared {}
// SAFETY: they are plain values.
unsafe impl Send for Shared {}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            latch: Latch::new(2),
            done: [UnsafeCell::new(false), UnsafeCell::new(false)],
        })
    }

    fn work(&self, i: usize) {
        // SAFETY: the model checker finds out whether it is.
        self.done[i].with_mut(|done| unsafe { *done = true });
    }

    fn all_done(&self) -> bool {
        // SAFETY: the model checker finds out whether it is.
        self.done
            .iter()
            .all(|done| done.with(|done| unsafe { *done }))
    }
}

fn spawn_with<R: 'static>(
    shared: &Arc<Shared>,
    f: impl FnOnce(&Shared) -> R + 'static,
) -> JoinHandle<R> {
    let shared = shared.clone();
    thread::spawn(move || f(&shared))
}

fn two_workers() {
    loom::model(|| {
        let shared = Shared::new();
        let workers = [0, 1].map(|i| {
            spawn_with(&shared, move |shared| {
                shared.work(i);
                shared.latch.count_down();
            })
        });
        shared.latch.wait();
        assert!(shared.all_done());
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

#[test]
fn a_waiter_sees_what_all_have_done() {
    two_workers();
}

#[test]
fn those_who_arrive_may_wait() {
    loom::model(|| {
        let shared = Shared::new();
        let other = spawn_with(&shared, |shared| {
            shared.work(0);
            shared.latch.arrive_and_wait();
            assert!(shared.all_done());
        });
        shared.work(1);
        shared.latch.arrive_and_wait();
        assert!(shared.all_done());
        other.join().unwrap();
    });
}

#[test]
fn two_waiters_are_released() {
    loom::model(|| {
        let shared = Shared::new();
        let waiters = [0, 1].map(|_| spawn_with(&shared, |shared| shared.latch.wait()));
        shared.latch.count_down_n(2);
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

#[test]
fn a_waiter_whose_time_is_up_tells_the_truth() {
    loom::model(|| {
        let shared = Shared::new();
        let clock = thread::spawn(model::expire);
        let waiter = spawn_with(&shared, |shared| {
            if shared.latch.wait_timeout(SOME_TIME) {
                assert!(shared.all_done());
            }
        });
        for i in 0..2 {
            shared.work(i);
            shared.latch.count_down();
        }
        waiter.join().unwrap();
        clock.join().unwrap();
        assert!(shared.latch.is_released());
    });
}

#[test]
fn of_two_that_count_down_too_far_one_is_refused() {
    loom::model(|| {
        let shared = Shared::new();
        let other = spawn_with(&shared, |shared| shared.latch.try_count_down_n(2).is_ok());
        let mine = shared.latch.try_count_down_n(1).is_ok();
        let other = other.join().unwrap();
        assert!(mine != other);
        assert_eq!(shared.latch.count(), if mine { 1 } else { 0 });
    });
}
