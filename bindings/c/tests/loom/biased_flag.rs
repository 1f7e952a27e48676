//! Models of the biased flag: its owner, and threads that come from outside.

use crate::model;

use std::sync::Arc;

use crate::protocol::biased_flag::BiasedFlag;
use loom::thread;

use blitz_io_core::fences::model::with_late_barriers;
use model::{Counter, model, model_in_order};

type Flagged = Counter<BiasedFlag>;

impl Flagged {
    fn shared() -> Arc<Self> {
        Self::of(BiasedFlag::new())
    }

    /// Adds one, unless another call is inside. Returns how many it has added.
    fn enter_and_add(&self) -> u32 {
        let Some(inside) = self.lock.enter() else {
            return 0;
        };
        self.add();
        self.lock.leave(inside);
        1
    }
}

fn spawn(counter: &Arc<Flagged>) -> thread::JoinHandle<u32> {
    let counter = counter.clone();
    thread::spawn(move || counter.enter_and_add())
}

fn owner_and(remotes: usize) -> impl Fn() + Copy + Send + Sync + 'static {
    move || {
        let counter = Flagged::shared();
        // The main thread is the owner.
        assert_eq!(counter.enter_and_add(), 1);
        let threads: Vec<_> = (0..remotes).map(|_| spawn(&counter)).collect();
        let mut added = 1 + counter.enter_and_add() + counter.enter_and_add();
        added += threads.into_iter().map(|t| t.join().unwrap()).sum::<u32>();
        assert_eq!(counter.get(), added);
    }
}

#[test]
fn the_owner_and_a_remote_thread_are_never_inside_together() {
    model(3, owner_and(1));
}

#[test]
fn two_remote_threads_are_never_inside_together() {
    model(2, owner_and(2));
}

#[test]
fn they_are_not_while_the_process_gives_up_light_fences() {
    with_late_barriers(|| model_in_order(2, owner_and(2)));
}

#[test]
fn two_threads_that_come_first_are_never_inside_together() {
    model(3, || {
        let counter = Flagged::shared();
        let other = spawn(&counter);
        let added = counter.enter_and_add() + other.join().unwrap();
        assert_eq!(counter.get(), added);
    });
}

/// The thing moves to another thread and back, one call after the other.
#[test]
fn calls_one_after_the_other_all_enter() {
    model(2, || {
        let counter = Flagged::shared();
        assert_eq!(counter.enter_and_add(), 1);
        assert_eq!(spawn(&counter).join().unwrap(), 1);
        assert_eq!(counter.enter_and_add(), 1);
        assert_eq!(spawn(&counter).join().unwrap(), 1);
        assert_eq!(counter.get(), 4);
    });
}
