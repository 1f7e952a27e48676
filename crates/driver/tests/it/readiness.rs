//! Events, clears, and which waiters are woken.

use std::future::Future;
use std::io::{ErrorKind, Read, Write};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use blitz_io_driver::{Direction, Wakers, bits, is_shut_down_error};

use crate::help::{Count, driver, look, pair};

#[test]
fn an_event_is_seen_until_it_is_cleared() {
    let driver = driver();
    let mut pair = pair(&driver);
    look(&driver);
    let registration = &pair.registration;
    assert_eq!(registration.ready(bits::ALL).bits, bits::WRITABLE);
    pair.there.write_all(b"x").unwrap();
    look(&driver);
    let event = registration.ready(bits::ALL);
    assert_eq!(event.bits, bits::WRITABLE | bits::READABLE);
    registration.clear(event.only(bits::READABLE));
    assert_eq!(registration.ready(bits::ALL).bits, bits::WRITABLE);
}

#[test]
fn a_clear_does_not_wipe_out_a_newer_event() {
    let driver = driver();
    let mut pair = pair(&driver);
    pair.there.write_all(b"x").unwrap();
    look(&driver);
    let old = pair.registration.ready(bits::READABLE);
    pair.there.write_all(b"y").unwrap();
    look(&driver);
    pair.registration.clear(old);
    assert!(pair.registration.ready(bits::READABLE).is_ready());
}

#[test]
fn what_is_closed_stays_closed() {
    let driver = driver();
    let pair = pair(&driver);
    drop(pair.there);
    look(&driver);
    let event = pair.registration.ready(bits::ALL);
    assert!(event.bits & bits::READ_CLOSED != 0);
    pair.registration.clear(event);
    let left = pair.registration.ready(bits::ALL).bits;
    assert_eq!(left & bits::READ_CLOSED, bits::READ_CLOSED);
    assert_eq!(left & (bits::READABLE | bits::WRITABLE), 0);
}

#[test]
fn an_operation_that_would_block_is_tried_once() {
    let driver = driver();
    let mut pair = pair(&driver);
    let mut tries = 0;
    let mut read = || {
        pair.registration.try_io(bits::READABLE, || {
            tries += 1;
            pair.here.read(&mut [0; 8])
        })
    };
    assert_eq!(read().unwrap_err().kind(), ErrorKind::WouldBlock);
    pair.there.write_all(b"four").unwrap();
    look(&driver);
    assert_eq!(read().unwrap(), 4);
    assert_eq!(read().unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(read().unwrap_err().kind(), ErrorKind::WouldBlock);
    // Not tried before the event, and not after it was cleared.
    assert_eq!(tries, 2);
}

#[test]
fn the_waker_of_the_last_poll_is_woken() {
    let driver = driver();
    let mut pair = pair(&driver);
    let (first, first_waker) = Count::new();
    let (last, last_waker) = Count::new();
    for waker in [&first_waker, &last_waker] {
        let context = &mut Context::from_waker(waker);
        assert!(
            pair.registration
                .poll_ready(context, Direction::Read)
                .is_pending()
        );
    }
    pair.there.write_all(b"x").unwrap();
    look(&driver);
    assert_eq!((first.get(), last.get()), (0, 1));
    // The waker has been taken: one wake-up for one wait.
    pair.there.write_all(b"x").unwrap();
    look(&driver);
    assert_eq!(last.get(), 1);
}

#[test]
fn all_who_want_an_event_are_woken_and_nobody_else() {
    let driver = driver();
    let mut pair = pair(&driver);
    let registration = &pair.registration;
    let (readers, reader) = Count::new();
    let (others, other) = Count::new();
    let mut first = pin!(registration.wait(bits::READABLE));
    let mut second = pin!(registration.wait(bits::READABLE | bits::PRIORITY));
    let mut third = pin!(registration.wait(bits::PRIORITY));
    assert!(
        first
            .as_mut()
            .poll(&mut Context::from_waker(&reader))
            .is_pending()
    );
    assert!(
        second
            .as_mut()
            .poll(&mut Context::from_waker(&reader))
            .is_pending()
    );
    assert!(
        third
            .as_mut()
            .poll(&mut Context::from_waker(&other))
            .is_pending()
    );
    pair.there.write_all(b"x").unwrap();
    look(&driver);
    assert_eq!((readers.get(), others.get()), (2, 0));
    // The first waiter is ready. The second one waits again for the bits that the first
    // clears.
    let Poll::Ready(event) = first.as_mut().poll(&mut Context::from_waker(&reader)) else {
        panic!("it was woken");
    };
    registration.clear(event.unwrap());
    assert!(
        second
            .as_mut()
            .poll(&mut Context::from_waker(&reader))
            .is_pending()
    );
    pair.there.write_all(b"x").unwrap();
    look(&driver);
    assert_eq!((readers.get(), others.get()), (3, 0));
}

#[test]
fn a_newer_waker_is_the_one_that_is_woken() {
    let driver = driver();
    let mut pair = pair(&driver);
    let (old, old_waker) = Count::new();
    let (new, new_waker) = Count::new();
    let mut wait = pin!(pair.registration.wait(bits::READABLE));
    for waker in [&old_waker, &new_waker] {
        assert!(
            wait.as_mut()
                .poll(&mut Context::from_waker(waker))
                .is_pending()
        );
    }
    pair.there.write_all(b"x").unwrap();
    look(&driver);
    assert_eq!((old.get(), new.get()), (0, 1));
}

#[test]
fn a_dropped_wait_is_not_woken() {
    let driver = driver();
    let mut pair = pair(&driver);
    let (count, waker) = Count::new();
    {
        let mut wait = pin!(pair.registration.wait(bits::READABLE));
        assert!(
            wait.as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
    }
    pair.there.write_all(b"x").unwrap();
    look(&driver);
    assert_eq!(count.get(), 0);
}

#[test]
fn a_shutdown_is_an_error_for_all() {
    let driver = driver();
    let mut pair = pair(&driver);
    let (count, waker) = Count::new();
    let context = &mut Context::from_waker(&waker);
    let registration = &pair.registration;
    assert!(
        registration
            .poll_ready(context, Direction::Read)
            .is_pending()
    );
    let mut wait = pin!(registration.wait(bits::PRIORITY));
    assert!(wait.as_mut().poll(context).is_pending());
    let mut wakers = Wakers::new();
    driver.shut_down(&mut wakers);
    assert_eq!(wakers.len(), 2);
    wakers.wake_all();
    assert_eq!(count.get(), 2);
    let Poll::Ready(Err(error)) = wait.poll(context) else {
        panic!("the runtime has ended");
    };
    assert!(is_shut_down_error(&error));
    let Poll::Ready(Err(error)) = registration.poll_ready(context, Direction::Write) else {
        panic!("the runtime has ended");
    };
    assert!(is_shut_down_error(&error));
    assert!(!is_shut_down_error(&std::io::Error::other("another")));
    // Operations that need no waiting still work, and so does deregistering.
    pair.there.write_all(b"x").unwrap();
    assert_eq!(pair.here.read(&mut [0; 8]).unwrap(), 1);
    pair.registration.deregister(&mut pair.here).unwrap();
}

#[test]
fn what_is_supposed_to_be_ready_is_tried() {
    let driver = driver();
    let mut pair = pair(&driver);
    pair.registration.suppose(bits::READABLE);
    let mut read = || {
        pair.registration
            .try_io(bits::READABLE, || pair.here.read(&mut [0; 8]))
    };
    assert_eq!(read().unwrap_err().kind(), ErrorKind::WouldBlock);
    let context = &mut Context::from_waker(Waker::noop());
    assert!(
        pair.registration
            .poll_ready(context, Direction::Read)
            .is_pending()
    );
}
