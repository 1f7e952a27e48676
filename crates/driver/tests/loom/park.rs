//! Models of an owner that parks, and of other threads that unpark it, poll for it,
//! register and deregister.

use std::sync::Arc;
use std::time::{Duration, Instant};

use blitz_io_driver::model::{expire, happen};
use blitz_io_driver::{Driver, Wakers, bits};
use blitz_io_futex::atomic::{AtomicU32, Ordering};
use loom::thread;

use crate::model::{block_on, driver, model, park, register};

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
}

/// A thread waits for two deadlines that another thread sets, one after the other. A thief
/// takes the timer's event at any moment, and then sets the timer for the remaining deadline.
fn woken_by_deadlines() {
    let first = Instant::now();
    model(2, move || {
        let (driver, _source, _registration) = driver();
        let flag = Arc::new(AtomicU32::new(0));
        let (waker, set) = (driver.clone(), flag.clone());
        let waker = thread::spawn(move || {
            for deadline in [first, first + Duration::from_secs(1)] {
                set.fetch_add(1, Ordering::Relaxed);
                assert!(waker.wake_by(deadline));
                expire(&waker);
            }
        });
        while flag.load(Ordering::Relaxed) < 2 {
            driver.wait(None, &mut Wakers::new());
        }
        waker.join().unwrap();
    });
}

#[test]
fn a_deadline_ends_a_wait() {
    woken_by_deadlines();
}

/// The owner's deadline passes while a thief polls its driver.
fn the_owners_deadline() {
    let deadline = Instant::now();
    model(2, move || {
        let (driver, _source, _registration) = driver();
        let thief = driver.clone();
        let thief = thread::spawn(move || {
            // The deadline has passed once the owner has set it.
            while !expire(&thief) {
                thread::yield_now();
            }
            thief.poll(&mut Wakers::new());
        });
        driver.park(Some(deadline), &mut Wakers::new());
        thief.join().unwrap();
    });
}

#[test]
fn a_thief_does_not_take_the_owners_deadline_along() {
    the_owners_deadline();
}

/// Two threads wait, and two wake-ups or events end both waits.
fn two_waits() {
    model(2, || {
        let (driver, source, _registration) = driver();
        let other = driver.clone();
        let other = thread::spawn(move || {
            other.wait(None, &mut Wakers::new());
            other.wake();
        });
        happen(&driver, &source, bits::READABLE);
        driver.wait(None, &mut Wakers::new());
        driver.wake();
        other.join().unwrap();
    });
}

#[test]
fn threads_wait_at_the_same_time() {
    two_waits();
}

/// Writes before an unpark are visible after the park, also when the owner sleeps on the
/// word.
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
}

/// A source is deregistered, and its entry is used again, while a thief has an event that says
/// that the first source is closed. The second source does not hear of it, and loses no event of
/// its own.
fn used_again_beside_a_thief() {
    model(2, || {
        let (driver, mut source, registration) = driver();
        // Keeps the driver in need of polls.
        let (_other, _others) = register(&driver);
        happen(&driver, &source, bits::READ_CLOSED);
        let thief = driver.clone();
        let thief = thread::spawn(move || {
            thief.poll(&mut Wakers::new());
        });
        registration.deregister(&mut source).unwrap();
        drop(std::mem::ManuallyDrop::into_inner(registration));
        let (source, registration) = register(&driver);
        happen(&driver, &source, bits::READABLE);
        driver.poll(&mut Wakers::new());
        thief.join().unwrap();
        assert_eq!(registration.ready(bits::ALL).bits, bits::READABLE);
    });
}

#[test]
fn an_entry_is_used_again_beside_a_thief() {
    used_again_beside_a_thief();
}
