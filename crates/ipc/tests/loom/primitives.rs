//! Models of events, semaphores and barriers, with participants that are killed.

use std::sync::Arc;

use blitz_io_ipc::kernel::model::{Met, Model};
use loom::sync::atomic::{AtomicBool, Ordering};

use crate::spawn;

/// Two notifiers of the same id, of which one also notifies another id; the listener
/// sleeps.
#[test]
fn every_notification_is_counted() {
    loom::model(|| {
        let model = Arc::new(Model::broadcast(1, 3));
        let mut listen = model.listen();
        let other = spawn(&model, |model| model.notify(0));
        let both = spawn(&model, |model| {
            model.notify(0);
            model.notify(1);
        });
        let mut counts = [0, 0];
        while counts != [2, 1] {
            let (id, count) = model.listened(&mut listen);
            counts[id] += count;
        }
        other.join().unwrap();
        both.join().unwrap();
    });
}

/// A listener and a notifier, for the order of announcement and look.
#[test]
fn a_listener_wakes_up() {
    loom::model(|| {
        let model = Arc::new(Model::broadcast(1, 2));
        let mut listen = model.listen();
        let notifier = spawn(&model, |model| model.notify(1));
        assert_eq!(model.listened(&mut listen), (1, 1));
        notifier.join().unwrap();
    });
}

/// A task has armed its doorbell; a thread listens to two notifiers.
#[test]
fn a_thread_wakes_up_beside_a_task() {
    loom::model(|| {
        let model = Arc::new(Model::broadcast(1, 3));
        let mut listen = model.listen();
        model.arm();
        let notifiers = [0, 1].map(|id| spawn(&model, move |model| model.notify(id)));
        let mut found = [model.listened(&mut listen), model.listened(&mut listen)];
        found.sort_unstable();
        assert_eq!(found, [(0, 1), (1, 1)]);
        for notifier in notifiers {
            notifier.join().unwrap();
        }
    });
}

/// Two participants share one permit.
#[test]
fn a_permit_has_one_owner() {
    loom::model(|| {
        let model = Arc::new(Model::broadcast(1, 4));
        let inside = Arc::new(AtomicBool::new(false));
        let enter = |me: usize| {
            let inside = inside.clone();
            move |model: &Model| {
                model.acquire(me);
                assert!(!inside.swap(true, Ordering::Relaxed), "two owners");
                inside.store(false, Ordering::Relaxed);
                model.release(me);
            }
        };
        let other = spawn(&model, enter(1));
        enter(2)(&model);
        other.join().unwrap();
    });
}

/// The owner of the permit is killed while another one waits.
#[test]
fn the_permit_of_a_dead_owner_comes_back() {
    loom::model(|| {
        let model = Arc::new(Model::broadcast(1, 4));
        model.acquire(1);
        let waiter = spawn(&model, |model| model.acquire(2));
        model.reap_permits(1);
        waiter.join().unwrap();
    });
}

#[test]
fn two_parties_meet_twice() {
    loom::model(|| {
        let model = Arc::new(Model::broadcast(1, 2));
        let other = spawn(&model, |model| [model.meet(2), model.meet(2)]);
        let here = [model.meet(2), model.meet(2)];
        let there = other.join().unwrap();
        for (here, there) in here.into_iter().zip(there) {
            assert_ne!(here, Met::Broken);
            assert!((here == Met::Leader) != (there == Met::Leader), "{here:?}");
        }
    });
}

/// One party waits, and the other is found dead.
#[test]
fn a_dead_party_breaks_the_barrier() {
    loom::model(|| {
        let model = Arc::new(Model::broadcast(1, 2));
        let waiter = spawn(&model, |model| model.meet(2));
        model.break_up(2);
        assert_eq!(waiter.join().unwrap(), Met::Broken);
    });
}

/// Both parties give up at once: either both have met, or neither has.
#[test]
fn an_arrival_that_is_taken_back_does_not_count() {
    fn try_to_meet(model: &Model) -> bool {
        match model.arrive(2) {
            Ok(met) => met == Met::Leader,
            Err(generation) => model.withdraw(2, generation),
        }
    }
    loom::model(|| {
        let model = Arc::new(Model::broadcast(1, 2));
        let other = spawn(&model, try_to_meet);
        let here = try_to_meet(&model);
        assert_eq!(here, other.join().unwrap());
    });
}

/// A party was slow to give up: the others are already in the next generation.
#[test]
fn an_arrival_is_not_taken_back_from_a_later_generation() {
    loom::model(|| {
        let model = Model::broadcast(1, 2);
        let early = model.arrive(2).unwrap_err();
        assert_eq!(model.arrive(2), Ok(Met::Leader));
        assert!(model.arrive(2).is_err());
        assert!(model.withdraw(2, early));
        assert_eq!(model.arrive(2), Ok(Met::Leader));
    });
}
