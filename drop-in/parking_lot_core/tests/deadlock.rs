//! Checks the content of a reported deadlock. `.ci/dropin` runs parking_lot's own tests.

#![cfg(feature = "deadlock_detection")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};

use parking_lot_core::deadlock::{
    DeadlockedThread, acquire_resource, check_deadlock, release_resource,
};
use parking_lot_core::{
    DEFAULT_PARK_TOKEN, DEFAULT_UNPARK_TOKEN, FilterOp, ParkToken, RequeueOp, park, unpark_all,
    unpark_filter, unpark_requeue,
};

/// The addresses of objects that the tests own.
static PLACES: [u64; 10] = [0; 10];

fn key(index: usize) -> usize {
    (&raw const PLACES[index]).addr()
}

#[inline(never)]
fn waits_for(index: usize) {
    // SAFETY: the key is the test's own, and the closures do not panic.
    unsafe {
        park(
            key(index),
            || true,
            || {},
            |_, _| {},
            DEFAULT_PARK_TOKEN,
            None,
        )
    };
}

/// Starts a thread that has a resource and parks for another.
fn start(has: usize, wants: usize) -> ThreadId {
    let thread = thread::spawn(move || {
        // SAFETY: no other thread has it.
        unsafe { acquire_resource(key(has)) };
        waits_for(wants);
    });
    thread.thread().id()
}

fn parked(index: usize) -> usize {
    let mut count = 0;
    let skip = |_| {
        count += 1;
        FilterOp::Skip
    };
    // SAFETY: the key is the test's own, and the closures do not panic.
    unsafe { unpark_filter(key(index), skip, |_| DEFAULT_UNPARK_TOKEN) };
    count
}

fn wait_for_parked(index: usize, count: usize) {
    while parked(index) != count {
        thread::yield_now();
    }
}

/// Returns the cycles that must come: a thread is in the queue a moment before it counts as asleep.
fn found() -> Vec<Vec<DeadlockedThread>> {
    loop {
        let cycles = check_deadlock();
        if !cycles.is_empty() {
            return cycles;
        }
        thread::yield_now();
    }
}

/// One test: a call finds the deadlocks of the whole process.
#[test]
fn a_cycle_is_reported_once_with_its_threads_and_their_stacks() {
    let pair = [start(0, 1), start(1, 0)];
    // This one waits for the cycle and is not in it.
    start(2, 0);
    wait_for_parked(1, 1);
    wait_for_parked(0, 2);
    let cycles = found();
    assert_eq!(cycles.len(), 1, "{cycles:?}");
    let ids: Vec<_> = cycles[0].iter().map(DeadlockedThread::thread_id).collect();
    assert!(
        ids.len() == 2 && pair.iter().all(|id| ids.contains(id)),
        "{ids:?}"
    );
    for thread in &cycles[0] {
        let stack = format!("{:?}", thread.backtrace());
        assert!(stack.contains("waits_for"), "{stack}");
    }
    assert!(check_deadlock().is_empty());

    // A thread that is moved waits for what it was moved to.
    start(4, 5);
    let moved = start(3, 6);
    wait_for_parked(5, 1);
    wait_for_parked(6, 1);
    assert!(check_deadlock().is_empty());
    let all = || RequeueOp::RequeueAll;
    // SAFETY: the keys are the test's own, and the closures do not panic.
    unsafe {
        unpark_requeue(key(6), key(3), all, |_, _| DEFAULT_UNPARK_TOKEN);
    }
    let cycles = found();
    assert_eq!(cycles.len(), 1, "{cycles:?}");
    assert_eq!(cycles[0].len(), 1);
    assert_eq!(cycles[0][0].thread_id(), moved);

    // A thread that releases a resource before it sleeps, as in a condition variable, does not hold it.
    let thread = thread::spawn(|| {
        let (condition, mutex) = (key(8), key(9));
        // SAFETY: the keys are the test's own, and the closures do not panic.
        unsafe {
            acquire_resource(mutex);
            let release = || release_resource(mutex);
            park(
                condition,
                || true,
                release,
                |_, _| {},
                DEFAULT_PARK_TOKEN,
                None,
            )
        }
    });
    wait_for_parked(8, 1);
    // SAFETY: the keys are the test's own, and the closures do not panic.
    unsafe {
        unpark_requeue(key(8), key(9), all, |_, _| DEFAULT_UNPARK_TOKEN);
    }
    for _ in 0..100 {
        assert!(check_deadlock().is_empty());
        thread::yield_now();
    }
    // SAFETY: the key is the test's own.
    assert_eq!(unsafe { unpark_all(key(9), DEFAULT_UNPARK_TOKEN) }, 1);
    assert!(thread.join().unwrap().is_unparked());

    // The filter gets the user's token, and a thread that is in no cycle continues.
    let seen = Arc::new(AtomicUsize::new(0));
    let thread = thread::spawn(|| {
        // SAFETY: the key is the test's own, and the closures do not panic.
        unsafe { park(key(7), || true, || {}, |_, _| {}, ParkToken(42), None) }
    });
    wait_for_parked(7, 1);
    let note = |token: ParkToken| {
        seen.store(token.0, Ordering::Relaxed);
        FilterOp::Skip
    };
    // SAFETY: the key is the test's own, and the closures do not panic.
    unsafe {
        unpark_filter(key(7), note, |_| DEFAULT_UNPARK_TOKEN);
        unpark_all(key(7), DEFAULT_UNPARK_TOKEN);
    }
    assert!(thread.join().unwrap().is_unparked());
    assert_eq!(seen.load(Ordering::Relaxed), 42);
}
