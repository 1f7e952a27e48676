//! Models of the semaphore.

use crate::model;

use std::sync::Arc;

use blitz_io_sync::thread::{Semaphore, TryAcquireError};
use loom::thread;
use model::{model_in_order as model, soon};

fn spawn<R: 'static>(
    semaphore: &Arc<Semaphore>,
    run: impl FnOnce(&Semaphore) -> R + 'static,
) -> thread::JoinHandle<R> {
    let semaphore = semaphore.clone();
    thread::spawn(move || run(&semaphore))
}

fn one_permit_for_two() {
    model(3, || {
        let semaphore = Arc::new(Semaphore::new(1));
        let other = spawn(&semaphore, |semaphore| drop(semaphore.acquire().unwrap()));
        drop(semaphore.acquire().unwrap());
        other.join().unwrap();
        assert_eq!(semaphore.available_permits(), 1);
    });
}

fn two_wait_for_permits() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let takers =
            [(); 2].map(|()| spawn(&semaphore, |semaphore| drop(semaphore.acquire().unwrap())));
        semaphore.add_permits(1);
        takers.into_iter().for_each(|taker| taker.join().unwrap());
        assert_eq!(semaphore.available_permits(), 1);
    });
}

/// One waiter wants two permits, the other wants one. The first permit must reach the second
/// waiter, in whatever order they come.
fn different_amounts() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let greedy = spawn(&semaphore, |semaphore| {
            drop(semaphore.acquire_many(2).unwrap());
        });
        let modest = spawn(&semaphore, |semaphore| {
            semaphore.acquire().unwrap().forget();
        });
        semaphore.add_permits(1);
        modest.join().unwrap();
        semaphore.add_permits(2);
        greedy.join().unwrap();
        assert_eq!(semaphore.available_permits(), 2);
    });
}

fn a_waiter_gives_up() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let hasty = spawn(&semaphore, |semaphore| {
            match semaphore.acquire_deadline(soon()) {
                Ok(permit) => drop(permit),
                Err(error) => assert_eq!(error, TryAcquireError::NoPermits),
            }
        });
        let patient = spawn(&semaphore, |semaphore| drop(semaphore.acquire().unwrap()));
        blitz_io_futex::model::expire();
        semaphore.add_permits(1);
        hasty.join().unwrap();
        patient.join().unwrap();
        assert_eq!(semaphore.available_permits(), 1);
        assert!(semaphore.try_acquire().is_ok());
    });
}

fn closing() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let takers = [(); 2].map(|()| spawn(&semaphore, |semaphore| semaphore.acquire().is_err()));
        semaphore.close();
        for taker in takers {
            assert!(taker.join().unwrap());
        }
        assert_eq!(
            semaphore.try_acquire().unwrap_err(),
            TryAcquireError::Closed
        );
    });
}

#[test]
fn one_after_the_other() {
    one_permit_for_two();
}

#[test]
fn who_is_served_serves_the_next() {
    two_wait_for_permits();
}

#[test]
fn a_permit_reaches_one_that_it_is_enough_for() {
    different_amounts();
}

#[test]
fn giving_up_serves_the_others() {
    a_waiter_gives_up();
}

#[test]
fn closing_wakes_everybody() {
    closing();
}
