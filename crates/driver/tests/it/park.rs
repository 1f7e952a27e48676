//! Parking, unparking, deadlines.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_driver::{Wakers, bits};

use crate::help::{LIMIT, driver, limit, pair, park_until};

#[test]
fn an_unpark_before_the_park_ends_it() {
    let driver = driver();
    let mut wakers = Wakers::new();
    driver.unpark();
    assert!(driver.park(limit(), &mut wakers));
    let _pair = pair(&driver);
    driver.unpark();
    assert!(driver.park(limit(), &mut wakers));
}

#[test]
fn an_unpark_ends_the_park() {
    for registered in [false, true] {
        let driver = driver();
        let _pair = registered.then(|| pair(&driver));
        let other = driver.clone();
        let other = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            other.unpark();
        });
        let begin = Instant::now();
        while !driver.park(limit(), &mut Wakers::new()) {}
        assert!(begin.elapsed() < LIMIT / 2);
        other.join().unwrap();
    }
}

#[test]
fn a_deadline_ends_the_park_and_not_too_early() {
    for registered in [false, true] {
        let driver = driver();
        let pair = registered.then(|| pair(&driver));
        let deadline = Instant::now() + Duration::from_millis(20);
        while Instant::now() < deadline {
            assert!(!driver.park(Some(deadline), &mut Wakers::new()));
        }
        // A deadline that is past does not keep events from being seen.
        if let Some(mut pair) = pair {
            pair.there.write_all(b"x").unwrap();
            driver.park(Some(deadline), &mut Wakers::new());
            assert!(pair.registration.ready(bits::READABLE).is_ready());
        }
    }
}

/// The wait ends, without a deadline or with a late one, and reports why.
#[cfg(target_os = "linux")]
#[test]
fn a_wake_up_by_a_deadline_ends_a_wait() {
    for late in [None, limit()] {
        let driver = driver();
        let _pair = pair(&driver);
        crate::help::look(&driver);
        let waiter = driver.clone();
        let waiter = thread::spawn(move || {
            let mut wakers = Wakers::new();
            while !waiter.wait(late, &mut wakers).expired {}
        });
        assert!(driver.wake_by(Instant::now() + Duration::from_millis(5)));
        waiter.join().unwrap();
    }
}

/// A wake-up ends one wait, and events do not.
#[test]
fn a_wake_up_ends_one_wait() {
    let driver = driver();
    let mut pair = pair(&driver);
    let waiters = [(); 2].map(|()| {
        let driver = driver.clone();
        thread::spawn(move || {
            let mut wakers = Wakers::new();
            while !driver.wait(limit(), &mut wakers).woken {}
        })
    });
    pair.there.write_all(b"x").unwrap();
    let [first, second] = waiters;
    driver.wake();
    while !first.is_finished() && !second.is_finished() {
        thread::yield_now();
    }
    assert!(!first.is_finished() || !second.is_finished());
    driver.wake();
    first.join().unwrap();
    second.join().unwrap();
}

/// A deadline that is replaced by a later one, or by none, ends at most one park early.
#[test]
fn a_timer_stays_set_for_one_park() {
    let driver = driver();
    let mut pair = pair(&driver);
    let mut wakers = Wakers::new();
    // At first, the sockets are writable.
    driver.park(limit(), &mut wakers);
    pair.there.write_all(b"x").unwrap();
    driver.park(Some(Instant::now() + Duration::from_millis(5)), &mut wakers);
    thread::sleep(Duration::from_millis(10));
    driver.park(limit(), &mut wakers);
    let deadline = Instant::now() + Duration::from_millis(20);
    let mut parks = 0;
    while Instant::now() < deadline {
        driver.park(Some(deadline), &mut wakers);
        parks += 1;
    }
    assert!(parks <= 2 || !cfg!(target_os = "linux"), "{parks} parks");
}

#[test]
fn an_event_ends_the_park() {
    let driver = driver();
    let mut pair = pair(&driver);
    let other = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        pair.there.write_all(b"x").unwrap();
        pair.there
    });
    park_until(&driver, || {
        pair.registration.ready(bits::READABLE).is_ready()
    });
    drop(other.join().unwrap());
    assert!(driver.metrics().ready() >= 1);
}

#[test]
fn a_registration_makes_a_sleeping_owner_poll() {
    let driver = driver();
    let done = Arc::new(AtomicBool::new(false));
    let (other, set) = (driver.clone(), done.clone());
    let other = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        let mut pair = pair(&other);
        pair.there.write_all(b"x").unwrap();
        pollster::block_on(pair.registration.wait(bits::READABLE)).unwrap();
        pair.registration.deregister(&mut pair.here).unwrap();
        set.store(true, Ordering::SeqCst);
        other.unpark();
    });
    park_until(&driver, || done.load(Ordering::SeqCst));
    other.join().unwrap();
    let metrics = driver.metrics();
    assert_eq!((metrics.registered(), metrics.deregistered()), (1, 1));
}

#[test]
fn more_events_than_fit_come_in_several_polls() {
    let driver = blitz_io_driver::Driver::new(4, None).unwrap();
    let mut pairs: Vec<_> = (0..50).map(|_| pair(&driver)).collect();
    for pair in &mut pairs {
        pair.there.write_all(b"x").unwrap();
    }
    let all = |pairs: &[crate::help::Pair]| {
        let is_ready =
            |pair: &crate::help::Pair| pair.registration.ready(bits::READABLE).is_ready();
        pairs.iter().all(is_ready)
    };
    park_until(&driver, || all(&pairs));
    assert!(driver.metrics().ready() >= 50);
}

#[test]
fn a_thief_delivers_while_the_owner_does_not() {
    let driver = driver();
    let mut pair = pair(&driver);
    pair.there.write_all(b"x").unwrap();
    let (count, waker) = crate::help::Count::new();
    let context = &mut std::task::Context::from_waker(&waker);
    let polled = (pair.registration).poll_ready(context, blitz_io_driver::Direction::Read);
    assert!(polled.is_pending());
    let thief = driver.clone();
    let wakers = thread::spawn(move || {
        let mut wakers = Wakers::new();
        thief.poll(&mut wakers);
        wakers
    });
    wakers.join().unwrap().wake_all();
    assert_eq!(count.get(), 1);
}

#[test]
fn a_poll_that_does_not_wait_takes_as_many_events_as_it_may() {
    let driver = blitz_io_driver::Driver::new(64, Some(2)).unwrap();
    let _pairs: Vec<_> = (0..5).map(|_| pair(&driver)).collect();
    let mut wakers = Wakers::new();
    driver.poll(&mut wakers);
    assert_eq!(driver.metrics().ready(), 2);
    driver.park(limit(), &mut wakers);
    assert_eq!(driver.metrics().ready(), 5);
}
