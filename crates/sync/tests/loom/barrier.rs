//! Models of the barriers.

use crate::model;

use std::sync::Arc;

use blitz_io_sync::thread::{Barrier, SpinBarrier};
use loom::cell::UnsafeCell;
use loom::thread;
use model::{model_in_order as model, soon};

fn two_threads() {
    model(4, || {
        let barrier = Arc::new(Barrier::new(2));
        let other = {
            let barrier = barrier.clone();
            thread::spawn(move || barrier.wait().is_leader())
        };
        let leads = barrier.wait().is_leader();
        assert!(leads != other.join().unwrap());
    });
}

/// Writes before the barrier are visible after it.
fn the_barrier_publishes() {
    struct Cells([UnsafeCell<u32>; 2]);
    // SAFETY: each cell is written by one thread before the barrier and read
    // after it, which loom checks.
    unsafe impl Sync for Cells {}
    // SAFETY: numbers may go anywhere.
    unsafe impl Send for Cells {}

    model(3, || {
        let shared = Arc::new((
            Barrier::new(2),
            Cells([UnsafeCell::new(0), UnsafeCell::new(0)]),
        ));
        let visit = |me: usize, shared: &(Barrier, Cells)| {
            let (barrier, Cells(cells)) = shared;
            // SAFETY: the other thread reads it only after the barrier.
            cells[me].with_mut(|cell| unsafe { *cell = 1 });
            barrier.wait();
            // SAFETY: its only write came before the barrier.
            cells[1 - me].with(|cell| unsafe { assert_eq!(*cell, 1) });
        };
        let other = {
            let shared = shared.clone();
            thread::spawn(move || visit(1, &shared))
        };
        visit(0, &shared);
        other.join().unwrap();
    });
}

/// One thread may be in the second round before the other has left the first.
fn two_rounds() {
    model(3, || {
        let barrier = Arc::new(Barrier::new(2));
        let run = |barrier: &Barrier| {
            usize::from(barrier.wait().is_leader()) + usize::from(barrier.wait().is_leader())
        };
        let other = {
            let barrier = barrier.clone();
            thread::spawn(move || run(&barrier))
        };
        let led = run(&barrier);
        assert_eq!(led + other.join().unwrap(), 2);
    });
}

/// Four threads at a barrier for two: any two of them make a round.
fn more_threads_than_it_is_for() {
    model(1, || {
        let barrier = Arc::new(Barrier::new(2));
        let others = [(); 3].map(|()| {
            let barrier = barrier.clone();
            thread::spawn(move || barrier.wait().is_leader())
        });
        let mut leaders = usize::from(barrier.wait().is_leader());
        for other in others {
            leaders += usize::from(other.join().unwrap());
        }
        assert_eq!(leaders, 2);
    });
}

/// A thread that runs out of time has not arrived; a thread that passes has.
fn a_thread_gives_up() {
    model(3, || {
        let barrier = Arc::new(Barrier::new(2));
        let hasty = {
            let barrier = barrier.clone();
            thread::spawn(move || barrier.wait_deadline(soon()).is_ok())
        };
        blitz_io_futex::model::expire();
        let met = barrier.wait_deadline(soon()).is_ok();
        assert_eq!(met, hasty.join().unwrap());
    });
}

#[test]
fn the_last_one_leads() {
    two_threads();
}

#[test]
fn writes_are_seen_behind_it() {
    the_barrier_publishes();
}

#[test]
fn rounds_follow_each_other() {
    two_rounds();
}

#[test]
fn threads_take_turns() {
    more_threads_than_it_is_for();
}

#[test]
fn giving_up_is_not_arriving() {
    a_thread_gives_up();
}

#[test]
fn spinning_threads_meet() {
    model(3, || {
        let barrier = Arc::new(SpinBarrier::new(2));
        let other = {
            let barrier = barrier.clone();
            thread::spawn(move || barrier.wait().is_leader())
        };
        let leads = barrier.wait().is_leader();
        assert!(leads != other.join().unwrap());
    });
}
