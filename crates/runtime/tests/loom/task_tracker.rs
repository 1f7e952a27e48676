//! Models of `TaskTracker`.

use crate::model;

use std::pin::pin;
use std::sync::Arc;
use std::task::Waker;

use blitz_io_runtime::kernel::task_tracker::TaskTracker;
use loom::cell::UnsafeCell;
use loom::thread;
use model::{End, block_on_parking, model_in_order, poll};

/// Written by the tasks, and read by the waiter.
struct Shared([UnsafeCell<u32>; 2]);

// SAFETY: the models check that the waiter reads only after the tasks have written.
unsafe impl Sync for Shared {}
// SAFETY: the models check that the waiter reads only after the tasks have written.
unsafe impl Send for Shared {}

fn model(test: impl Fn() + Sync + Send + 'static) {
    model_in_order(2, test);
}

/// Two tasks end while a thread waits, which then sees their writes.
fn two_tasks() {
    model(|| {
        let tracker = End::new(TaskTracker::new());
        let shared = Arc::new(Shared([(); 2].map(|()| UnsafeCell::new(0))));
        let tasks = [0, 1].map(|i| {
            let token = End::new(tracker.token());
            let shared = shared.clone();
            thread::spawn(move || {
                // SAFETY: the model checker finds out whether it is.
                shared.0[i].with_mut(|value| unsafe { *value = 1 });
                drop(token);
            })
        });
        tracker.close();
        block_on_parking(tracker.wait());
        for value in &shared.0 {
            // SAFETY: the model checker finds out whether it is.
            assert_eq!(value.with(|value| unsafe { *value }), 1);
        }
        for task in tasks {
            task.join().unwrap();
        }
    });
}

/// A tracker without tasks is closed, and opened again, while a thread waits.
fn closed_for_a_moment() {
    model(|| {
        let tracker = End::new(TaskTracker::new());
        let wait = tracker.wait();
        let other = thread::spawn({
            let tracker = tracker.clone();
            move || {
                tracker.close();
                tracker.reopen();
            }
        });
        block_on_parking(wait);
        other.join().unwrap();
    });
}

/// The wait is given up while the last task ends.
fn given_up() {
    model(|| {
        let tracker = End::new(TaskTracker::new());
        let token = End::new(tracker.token());
        tracker.close();
        let task = thread::spawn(move || drop(token));
        {
            let mut wait = pin!(tracker.wait());
            let _ = poll(wait.as_mut(), Waker::noop());
        }
        task.join().unwrap();
        assert!(poll(pin!(tracker.wait()), Waker::noop()).is_ready());
    });
}

#[test]
fn two_tasks_hold() {
    two_tasks();
}

#[test]
fn closed_for_a_moment_holds() {
    closed_for_a_moment();
}

#[test]
fn given_up_holds() {
    given_up();
}
