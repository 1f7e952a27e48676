//! Models of the biased flag: its owner, and threads that come from outside.

use crate::model;

use std::sync::Arc;

use crate::protocol::biased_flag::BiasedFlag;
use loom::thread;

use blitz_io_core::fences::model::with_late_barriers;
use model::{Counter, model, model_in_order};

type Flagged = Counter<BiasedFlag>;

fn shared() -> Arc<Flagged> {
    Counter::of(BiasedFlag::new())
}

/// Adds one, unless another call is inside. Returns how many it has added.
fn enter_and_add(counter: &Flagged) -> u32 {
    let Some(inside) = counter.lock.enter() else {
        return 0;
    };
    counter.add();
    counter.lock.leave(inside);
    1
}

fn spawn(counter: &Arc<Flagged>) -> thread::JoinHandle<u32> {
    let counter = counter.clone();
    thread::spawn(move || enter_and_add(&counter))
}

fn owner_and(remotes: usize) -> impl Fn() + Copy + Send + Sync + 'static {
    move || {
        let counter = shared();
        // The main thread is the owner.
        assert_eq!(enter_and_add(&counter), 1);
        let threads: Vec<_> = (0..remotes).map(|_| spawn(&counter)).collect();
        let mut added = 1 + enter_and_add(&counter) + enter_and_add(&counter);
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
        let counter = shared();
        let other = spawn(&counter);
        let added = enter_and_add(&counter) + other.join().unwrap();
        assert_eq!(counter.get(), added);
    });
}

/// The thing moves to another thread and back, one call after the other.
#[test]
fn calls_one_after_the_other_all_enter() {
    model(2, || {
        let counter = shared();
        assert_eq!(enter_and_add(&counter), 1);
        assert_eq!(spawn(&counter).join().unwrap(), 1);
        assert_eq!(enter_and_add(&counter), 1);
        assert_eq!(spawn(&counter).join().unwrap(), 1);
        assert_eq!(counter.get(), 4);
    });
}
