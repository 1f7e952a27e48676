//! Models of the exclusive core, which is all of `Mutex`.

use crate::model;

use std::sync::Arc;

use blitz_io_core::exclusive::{Exclusive, HELD};

use blitz_io_core::fences::model::with_late_barriers;
use loom::thread;
use model::{Counter, model, model_in_order, soon};

type Locked = Counter<Exclusive>;

fn locked() -> Arc<Locked> {
    Counter::of(Exclusive::new())
}

fn lock_and_add(counter: &Locked) {
    counter.lock.lock(HELD);
    counter.add();
    counter.lock.unlock();
}

fn lock_and_get(counter: &Locked) -> u32 {
    counter.lock.lock(HELD);
    let value = counter.get();
    counter.lock.unlock();
    value
}

/// Two threads beside the main one, which also takes the lock.
fn three_threads() {
    let counter = locked();
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || lock_and_add(&counter))
        })
        .collect();
    lock_and_add(&counter);
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(lock_and_get(&counter), 3);
}

fn two_threads_twice() {
    model(3, || {
        let counter = locked();
        let other = counter.clone();
        let thread = thread::spawn(move || {
            lock_and_add(&other);
            lock_and_add(&other);
        });
        lock_and_add(&counter);
        lock_and_add(&counter);
        thread.join().unwrap();
        assert_eq!(lock_and_get(&counter), 4);
    });
}

/// One waiter may run out of time at any moment, while another has none.
fn a_waiter_gives_up() {
    model(1, || {
        let counter = locked();
        counter.lock.lock(HELD);
        let hasty = {
            let counter = counter.clone();
            thread::spawn(move || {
                let locked = counter.lock.lock_until(HELD, Some(soon()));
                if locked {
                    counter.add();
                    counter.lock.unlock();
                }
                u32::from(locked)
            })
        };
        let patient = {
            let counter = counter.clone();
            thread::spawn(move || lock_and_add(&counter))
        };
        blitz_io_futex::model::expire();
        counter.lock.unlock();
        let added = hasty.join().unwrap() + 1;
        patient.join().unwrap();
        assert_eq!(lock_and_get(&counter), added);
    });
}

/// Time passes at any moment, so sleepers begin to starve.
fn starving() {
    model(1, || {
        let counter = locked();
        counter.lock.lock(HELD);
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let counter = counter.clone();
                thread::spawn(move || lock_and_add(&counter))
            })
            .collect();
        blitz_io_futex::model::expire();
        counter.lock.unlock();
        lock_and_add(&counter);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(lock_and_get(&counter), 3);
        assert!(!counter.lock.is_held());
    });
}

/// A release makes an offer to a starving thread that is awake. Until it has done
/// so that thread may have fallen asleep or left, and another one sleeps. (All
/// orders would take hours. The mistake that this is about shows in the first
/// thousands.)
fn a_hand_off_finds_a_thread() {
    let mut some_orders = loom::model::Builder::new();
    some_orders.preemption_bound = Some(3);
    some_orders.max_permutations = Some(100_000);
    some_orders.check(|| {
        let lock = Arc::new(<Exclusive>::new());
        lock.lock(HELD);
        blitz_io_futex::model::expire();
        let threads = [Some(soon()), None].map(|deadline| {
            let lock = lock.clone();
            thread::spawn(move || {
                if lock.lock_until(HELD, deadline) {
                    lock.unlock();
                }
            })
        });
        lock.unlock();
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(!lock.is_held());
    });
}

fn fair_release() {
    model(2, || {
        let counter = locked();
        counter.lock.lock(HELD);
        let other = counter.clone();
        let thread = thread::spawn(move || {
            other.lock.lock(HELD);
            other.add();
            other.lock.unlock_fair();
        });
        counter.lock.unlock_fair();
        lock_and_add(&counter);
        thread.join().unwrap();
        assert_eq!(lock_and_get(&counter), 2);
        assert!(counter.lock.try_lock(HELD));
    });
}

#[test]
fn three_threads_take_turns() {
    model(2, three_threads);
}

#[test]
fn three_threads_take_turns_while_the_process_gives_up_light_fences() {
    with_late_barriers(|| model_in_order(2, three_threads));
}

#[test]
fn two_threads_take_two_turns() {
    two_threads_twice();
}

#[test]
fn giving_up_strands_nobody() {
    a_waiter_gives_up();
}

#[test]
fn the_starving_are_served() {
    starving();
}

#[test]
fn a_hand_off_is_not_left_to_one_that_has_gone() {
    a_hand_off_finds_a_thread();
}

#[test]
fn fair_releases_strand_nobody() {
    fair_release();
}
