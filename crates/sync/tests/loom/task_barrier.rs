//! Models of the task family's `Barrier`.

use crate::model;

use std::sync::Arc;
use std::task::Waker;

use blitz_io_sync::task::Barrier;
use loom::cell::UnsafeCell;
use loom::thread;
use model::{block_on, model_in_order as model, poll};

/// A barrier of two, and the number that each of two writes before it.
struct Shared {
    barrier: Barrier,
    written: [UnsafeCell<u32>; 2],
}

// SAFETY: the models are about whether the barrier orders the uses of the
// numbers.
unsafe impl Sync for Shared {}
// SAFETY: they are numbers.
unsafe impl Send for Shared {}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            barrier: Barrier::new(2),
            written: [UnsafeCell::new(0), UnsafeCell::new(0)],
        })
    }

    /// Writes, waits for the other, and reads the other's number.
    fn round(&self, me: usize, wait: fn(&Barrier) -> bool) -> bool {
        // SAFETY: the model checker finds out whether it is.
        self.written[me].with_mut(|number| unsafe { *number += 1 });
        let leads = wait(&self.barrier);
        // SAFETY: the other task wrote it before the barrier.
        self.written[1 - me].with(|number| assert_eq!(unsafe { *number }, 1));
        leads
    }
}

fn as_task(barrier: &Barrier) -> bool {
    block_on(barrier.wait()).is_leader()
}

fn as_thread(barrier: &Barrier) -> bool {
    barrier.blocking_wait().is_leader()
}

fn two_meet(wait: fn(&Barrier) -> bool) {
    model(3, move || {
        let shared = Shared::new();
        let other = {
            let shared = shared.clone();
            thread::spawn(move || shared.round(1, wait))
        };
        let here = shared.round(0, as_task);
        assert!(here != other.join().unwrap());
    });
}

/// Two go through two rounds: the faster is in the second before the slower has
/// left the first.
fn two_meet_twice() {
    model(3, || {
        let barrier = Arc::new(Barrier::new(2));
        let run = |barrier: &Barrier| [(); 2].map(|()| as_task(barrier));
        let other = {
            let barrier = barrier.clone();
            thread::spawn(move || run(&barrier))
        };
        let here = run(&barrier);
        let there = other.join().unwrap();
        for (here, there) in here.into_iter().zip(there) {
            assert!(here != there);
        }
    });
}

/// Four tasks, in any pairs, make two rounds of two.
fn four_take_turns() {
    model(1, || {
        let barrier = Arc::new(Barrier::new(2));
        let others = [(); 3].map(|()| {
            let barrier = barrier.clone();
            thread::spawn(move || as_task(&barrier))
        });
        let mut leaders = usize::from(as_task(&barrier));
        for other in others {
            leaders += usize::from(other.join().unwrap());
        }
        assert_eq!(leaders, 2);
    });
}

/// A task that arrives and leaves has arrived.
fn one_is_dropped() {
    model(3, || {
        let barrier = Arc::new(Barrier::new(2));
        let other = {
            let barrier = barrier.clone();
            thread::spawn(move || as_task(&barrier))
        };
        let mut future = Box::pin(barrier.wait());
        let arrived_last = poll(future.as_mut(), Waker::noop()).is_ready();
        drop(future);
        assert!(other.join().unwrap() != arrived_last);
    });
}

#[test]
fn tasks_meet() {
    two_meet(as_task);
}

#[test]
fn a_thread_and_a_task_meet() {
    two_meet(as_thread);
}

#[test]
fn one_may_lap_the_other() {
    two_meet_twice();
}

#[test]
fn more_than_the_number_take_turns() {
    four_take_turns();
}

#[test]
fn an_arrival_counts_when_its_future_is_dropped() {
    one_is_dropped();
}
