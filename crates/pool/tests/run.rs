//! Parallel work that a task awaits.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};

use crate::join::pool;

#[test]
fn a_task_gets_the_result() {
    let two = pool(2);
    let sum =
        pollster::block_on(two.run(|| blitz_pool::map_reduce(0..101, 1, |n| n, |a, b| a + b)));
    assert_eq!(sum, Some(5050));
}

#[test]
fn a_panic_goes_on_in_the_task() {
    let two = pool(2);
    let result = panic::catch_unwind(AssertUnwindSafe(|| {
        pollster::block_on(two.run(|| panic!("in the pool")));
    }));
    assert!(result.is_err());
    assert_eq!(pollster::block_on(two.run(|| 1)), 1);
}

#[test]
fn what_is_cancelled_before_it_begins_never_runs() {
    let one = pool(1);
    let (busy, ran) = (Arc::new(Barrier::new(2)), Arc::new(AtomicUsize::new(0)));
    let gate = busy.clone();
    one.spawn(move || {
        gate.wait();
    });
    let counter = ran.clone();
    drop(one.run(move || counter.fetch_add(1, Ordering::Relaxed)));
    busy.wait();
    assert_eq!(pollster::block_on(one.run(|| 2)), 2);
    assert_eq!(ran.load(Ordering::Relaxed), 0);
}

#[test]
fn a_scope_is_awaited_with_all_of_its_jobs() {
    let (sender, receiver) = mpsc::channel();
    pollster::block_on(pool(2).scope_async(move |scope| {
        for n in 0..10 {
            let sender = sender.clone();
            scope.spawn(move |_| sender.send(n).unwrap());
        }
    }));
    assert_eq!(receiver.into_iter().count(), 10);
}
