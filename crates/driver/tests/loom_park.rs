//! Models of an owner that parks, and of other threads that unpark it, poll for it,
//! register and deregister.
#![cfg(loom)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use blitz_driver::model::{expire, happen};
use blitz_driver::mutant::{self, Mutant};
use blitz_driver::{Driver, Wakers, bits};
use blitz_futex::atomic::{AtomicU32, Ordering};
use loom::thread;

use crate::model::{block_on, driver, fails, model, park, register};

/// Parks until the flag is set.
fn park_until(driver: &Driver, flag: &AtomicU32) {
    while flag.load(Ordering::Relaxed) == 0 {
        park(driver);
    }
}

/// The owner is unparked, while a thief polls its driver.
fn unparked_beside_a_thief() {
    model(3, || {
        let (driver, _source, _registration) = driver();
        let flag = Arc::new(AtomicU32::new(0));
        let (waker, set) = (driver.clone(), flag.clone());
        let waker = thread::spawn(move || {
            set.store(1, Ordering::Relaxed);
            waker.unpark();
        });
        let thief = driver.clone();
        let thief = thread::spawn(move || {
            thief.poll(&mut Wakers::new());
        });
        park_until(&driver, &flag);
        waker.join().unwrap();
        thief.join().unwrap();
    });
}

#[test]
fn a_thief_does_not_take_a_wake_up_along() {
    unparked_beside_a_thief();
    fails(|| mutant::with(Mutant::ParksBeforeItPolls, unparked_beside_a_thief));
}

/// The owner is unparked by a deadline, which passes; and then by a later one, which passes
/// too. A thief polls its driver meanwhile.
fn unparked_by_deadlines() {
    let first = Instant::now();
    model(2, move || {
        let (driver, _source, _registration) = driver();
        let flag = Arc::new(AtomicU32::new(0));
        let (waker, set) = (driver.clone(), flag.clone());
        let waker = thread::spawn(move || {
            for deadline in [first, first + Duration::from_secs(1)] {
                set.fetch_add(1, Ordering::Relaxed);
                waker.unpark_by(deadline);
                expire(&waker);
            }
        });
        let thief = driver.clone();
        let thief = thread::spawn(move || {
            thief.poll(&mut Wakers::new());
        });
        while flag.load(Ordering::Relaxed) < 2 {
            park(&driver);
        }
        waker.join().unwrap();
        thief.join().unwrap();
    });
}

#[test]
fn an_unpark_by_a_deadline_ends_the_park() {
    unparked_by_deadlines();
    fails(|| mutant::with(Mutant::TimesBlindly, unparked_by_deadlines));
    fails(|| mutant::with(Mutant::StaysDue, unparked_by_deadlines));
}

/// The owner has its own deadline, and gets an earlier one.
fn unparked_before_the_deadline() {
    let early = Instant::now();
    model(3, move || {
        let (driver, _source, _registration) = driver();
        let flag = Arc::new(AtomicU32::new(0));
        let (waker, set) = (driver.clone(), flag.clone());
        let waker = thread::spawn(move || {
            set.store(1, Ordering::Relaxed);
            waker.unpark_by(early);
            expire(&waker);
        });
        let late = early + Duration::from_secs(1);
        while flag.load(Ordering::Relaxed) == 0 {
            driver.park(Some(late), &mut Wakers::new());
        }
        waker.join().unwrap();
    });
}

#[test]
fn an_earlier_deadline_ends_the_park() {
    unparked_before_the_deadline();
}

/// What happens before an unpark is visible after the park, also when the owner sleeps on
/// the word.
#[test]
fn an_unpark_ends_the_sleep_on_the_word() {
    model(3, || {
        let driver = Driver::new(8, None).unwrap();
        let flag = Arc::new(AtomicU32::new(0));
        let (waker, set) = (driver.clone(), flag.clone());
        let waker = thread::spawn(move || {
            set.store(1, Ordering::Relaxed);
            waker.unpark();
        });
        park_until(&driver, &flag);
        waker.join().unwrap();
    });
}

/// Another thread registers a source and waits for it, while the owner may sleep on the
/// word.
fn registered_by_another() {
    model(3, || {
        let driver = Driver::new(8, None).unwrap();
        let (other, done) = (driver.clone(), Arc::new(AtomicU32::new(0)));
        let set = done.clone();
        let other = thread::spawn(move || {
            let (source, registration) = register(&other);
            happen(&other, &source, bits::READABLE);
            let event = block_on(registration.wait(bits::READABLE)).unwrap();
            assert_eq!(event.bits, bits::READABLE);
            set.store(1, Ordering::Relaxed);
            other.unpark();
        });
        park_until(&driver, &done);
        other.join().unwrap();
    });
}

#[test]
fn a_registration_makes_the_owner_poll() {
    registered_by_another();
    fails(|| mutant::with(Mutant::RegistersSilently, registered_by_another));
    fails(|| mutant::with(Mutant::SleepsBlindly, registered_by_another));
}

/// A source is deregistered while a thief has its event.
fn deregistered_beside_a_thief() {
    model(3, || {
        let (driver, mut source, registration) = driver();
        // Keeps the driver in need of polls.
        let (_other, _others) = register(&driver);
        happen(&driver, &source, bits::READABLE);
        let thief = driver.clone();
        let thief = thread::spawn(move || {
            thief.poll(&mut Wakers::new());
        });
        registration.deregister(&mut source).unwrap();
        driver.poll(&mut Wakers::new());
        thief.join().unwrap();
    });
}

#[test]
fn an_entry_outlives_its_events() {
    deregistered_beside_a_thief();
    fails(|| mutant::with(Mutant::ReleasesAtOnce, deregistered_beside_a_thief));
}
