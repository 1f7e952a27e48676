//! Models of parked threads. The keys 0 and 1 have buckets of their own.

use std::sync::Arc;

use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_futex::model;
use blitz_io_futex::parking::{self, *};
use loom::cell::UnsafeCell;
use loom::thread;

use super::deadline;

fn park_until_unparked_or(timed: bool, key: usize) -> ParkResult {
    let deadline = if timed { deadline() } else { None };
    // SAFETY: only the model parks, and the closures do nothing.
    unsafe { parking::park(key, || true, || {}, |_, _| {}, DEFAULT_PARK_TOKEN, deadline) }
}

fn unpark(key: usize) -> usize {
    // SAFETY: only the model parks, and the closure does not panic.
    unsafe { unpark_one(key, |_| UnparkToken(7)).unparked_threads }
}

struct Flag {
    is_set: AtomicU32,
    value: UnsafeCell<u32>,
}

// SAFETY: `value` is written before the unpark and read after it.
unsafe impl Sync for Flag {}

#[test]
fn an_unpark_after_a_change_is_not_lost() {
    loom::model(|| {
        let flag = Arc::new(AtomicU32::new(0));
        let other = thread::spawn({
            let flag = flag.clone();
            move || {
                flag.store(1, Ordering::Relaxed);
                unpark(0);
            }
        });
        let is_unset = || flag.load(Ordering::Relaxed) == 0;
        // SAFETY: only the model parks, and the closures do not panic.
        unsafe { parking::park(0, is_unset, || {}, |_, _| {}, DEFAULT_PARK_TOKEN, None) };
        assert_eq!(flag.load(Ordering::Relaxed), 1);
        other.join().unwrap();
    });
}

#[test]
fn an_unpark_orders_memory_and_brings_its_token() {
    loom::model(|| {
        let flag = Arc::new(Flag {
            is_set: AtomicU32::new(0),
            value: UnsafeCell::new(0),
        });
        let other = thread::spawn({
            let flag = flag.clone();
            move || {
                while flag.is_set.load(Ordering::Relaxed) == 0 {
                    thread::yield_now();
                }
                // SAFETY: the other thread reads after the unpark.
                flag.value.with_mut(|value| unsafe { *value = 1 });
                assert_eq!(unpark(0), 1);
            }
        });
        let announce = || flag.is_set.store(1, Ordering::Relaxed);
        // SAFETY: only the model parks, and the closures do not panic.
        let result =
            unsafe { parking::park(0, || true, announce, |_, _| {}, DEFAULT_PARK_TOKEN, None) };
        assert_eq!(result, ParkResult::Unparked(UnparkToken(7)));
        // SAFETY: the other thread wrote before the unpark.
        flag.value.with(|value| assert_eq!(unsafe { *value }, 1));
        other.join().unwrap();
    });
}

#[test]
fn a_timeout_and_an_unpark_do_not_both_count() {
    loom::model(|| {
        let sleeper = thread::spawn(|| park_until_unparked_or(true, 0));
        let clock = thread::spawn(model::expire);
        let unparked = unpark(0);
        clock.join().unwrap();
        assert_eq!(sleeper.join().unwrap().is_unparked(), unparked == 1);
    });
}

#[test]
fn a_thread_that_is_moved_and_times_out_leaves_its_new_queue() {
    loom::model(|| {
        let sleeper = thread::spawn(|| park_until_unparked_or(true, 0));
        let clock = thread::spawn(model::expire);
        let all = || RequeueOp::RequeueAll;
        // SAFETY: only the model parks, and the closures do not panic.
        unsafe { unpark_requeue(0, 1, all, |_, _| DEFAULT_UNPARK_TOKEN) };
        let unparked = unpark(1);
        clock.join().unwrap();
        assert_eq!(sleeper.join().unwrap().is_unparked(), unparked == 1);
        assert_eq!(unpark(0) + unpark(1), 0);
    });
}

#[test]
fn threads_that_move_others_both_ways_do_not_wait_for_each_other() {
    loom::model(|| {
        let move_all = |from, to| {
            let all = || RequeueOp::RequeueAll;
            // SAFETY: only the model parks, and the closures do not panic.
            unsafe { unpark_requeue(from, to, all, |_, _| DEFAULT_UNPARK_TOKEN) };
        };
        let other = thread::spawn(move || move_all(0, 1));
        move_all(1, 0);
        other.join().unwrap();
    });
}
