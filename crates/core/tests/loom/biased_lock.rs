//! Models of the biased lock: its owner, and threads that come from outside.

use crate::model;

use std::sync::Arc;

use blitz_io_core::BiasedLock;
use loom::thread;

use blitz_io_core::fences::model::with_late_barriers;
use model::{Counter, model, model_in_order};

type Locked = Counter<BiasedLock>;

fn shared() -> Arc<Locked> {
    Counter::of(BiasedLock::new())
}

fn own(counter: &Locked) {
    // SAFETY: the main thread is the only owner, and not inside.
    unsafe { counter.lock.lock(|| counter.add()) }
}

fn remote(counter: &Locked) -> u32 {
    let entered = counter.lock.try_lock_remote(|| counter.add());
    u32::from(entered.is_some())
}

fn owner_and(remotes: usize) -> impl Fn() + Copy + Send + Sync + 'static {
    move || {
        let counter = shared();
        let threads: Vec<_> = (0..remotes)
            .map(|_| {
                let counter = counter.clone();
                thread::spawn(move || remote(&counter))
            })
            .collect();
        own(&counter);
        own(&counter);
        let entered: u32 = threads.into_iter().map(|t| t.join().unwrap()).sum();
        assert_eq!(counter.get(), 2 + entered);
    }
}

#[test]
fn the_owner_and_a_remote_thread_are_never_inside_together() {
    model(3, owner_and(1));
}

#[test]
fn they_are_not_while_the_process_gives_up_light_fences() {
    with_late_barriers(|| model_in_order(2, owner_and(2)));
}

/// The second time, the first one's answer is still on its way.
fn owner_and_a_thread_that_comes_twice() {
    let counter = shared();
    let remote = {
        let counter = counter.clone();
        thread::spawn(move || remote(&counter) + remote(&counter))
    };
    own(&counter);
    own(&counter);
    let entered = remote.join().unwrap();
    assert_eq!(counter.get(), 2 + entered);
}

#[test]
fn an_answer_to_one_is_none_to_the_next() {
    model(3, owner_and_a_thread_that_comes_twice);
}

#[test]
fn two_remote_threads_are_never_inside_together() {
    model(2, owner_and(2));
}

/// A revoker that waits for the owner.
fn owner_and_a_revoker_that_waits() {
    let counter = shared();
    let revoker = {
        let counter = counter.clone();
        thread::spawn(move || {
            let locks = std::iter::once((&counter.lock, ()));
            // SAFETY: this thread owns no lock, and it is the only revoker.
            unsafe { BiasedLock::lock_remote(locks, &mut |()| counter.add()) };
        })
    };
    own(&counter);
    own(&counter);
    revoker.join().unwrap();
    assert_eq!(counter.get(), 3);
}

#[test]
fn a_revoker_that_waits_is_woken() {
    model(2, owner_and_a_revoker_that_waits);
}
