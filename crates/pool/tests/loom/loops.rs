//! Models of the loop in progress: which workers enter and leave, and the caller's wait.

use std::cell::Cell;
use std::sync::Arc;

use blitz_io_pool::model::LoopSlot;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use crate::model;

/// Work that is alive only while the loop runs: `alive` is cleared when the caller returns.
fn one_loop(slot: &LoopSlot) {
    let (alive, ran) = (Arc::new(AtomicUsize::new(1)), Arc::new(AtomicUsize::new(0)));
    let reserved = slot.reserve().expect("nobody else has a loop");
    let (seen, runs) = (alive.clone(), ran.clone());
    // With a mistake, a worker would run this after it is freed. So it is leaked, and
    // asserts.
    let work = Box::leak(Box::new(move |_| {
        assert_eq!(seen.load(Ordering::Relaxed), 1, "the loop is over");
        runs.fetch_add(1, Ordering::Relaxed);
        assert_eq!(seen.load(Ordering::Relaxed), 1, "the loop is over");
    }));
    reserved.run(work, || {});
    alive.store(0, Ordering::Relaxed);
    assert!(ran.load(Ordering::Relaxed) >= 1);
}

fn two_loops_and_a_worker() {
    let slot = Arc::new(LoopSlot::new(3));
    let worker = {
        let slot = slot.clone();
        thread::spawn(move || {
            let last = Cell::new(0);
            slot.take_part(&last);
            slot.take_part(&last);
        })
    };
    one_loop(&slot);
    one_loop(&slot);
    worker.join().unwrap();
}

fn one_loop_and_two_workers() {
    let slot = Arc::new(LoopSlot::new(3));
    let workers: Vec<_> = (0..2)
        .map(|_| {
            let slot = slot.clone();
            thread::spawn(move || slot.take_part(&Cell::new(0)))
        })
        .collect();
    one_loop(&slot);
    for worker in workers {
        worker.join().unwrap();
    }
}

#[test]
fn a_worker_sees_each_loop_only_while_it_runs() {
    model(two_loops_and_a_worker);
}

#[test]
fn the_caller_waits_for_both_workers_and_is_woken() {
    model(one_loop_and_two_workers);
}
