//! Models of one entry: an event against a waiter, a clear, a drop and a shutdown.

use std::future::poll_fn;
use std::io;
use std::mem::ManuallyDrop;
use std::pin::pin;
use std::sync::Arc;
use std::task::Waker;

use blitz_io_driver::model::{Source, happen};
use blitz_io_driver::{Direction, Driver, Registration, Wakers, bits};
use blitz_io_futex::atomic::{AtomicU32, Ordering};
use loom::thread;

use crate::model::{block_on, driver, model, poll};

/// A source with a number of bytes in it, as the system would hold it.
struct Pipe {
    driver: Arc<Driver>,
    source: Source,
    registration: ManuallyDrop<Registration>,
    bytes: AtomicU32,
}

impl Pipe {
    fn new() -> Arc<Self> {
        let (driver, source, registration) = driver();
        Arc::new(Self {
            driver,
            source,
            registration,
            bytes: AtomicU32::new(0),
        })
    }

    /// A byte arrives, and a poll reports it.
    fn arrive(&self) {
        self.bytes.fetch_add(1, Ordering::AcqRel);
        happen(&self.driver, &self.source, bits::READABLE);
        self.deliver();
    }

    fn deliver(&self) {
        let mut wakers = Wakers::new();
        self.driver.poll(&mut wakers);
        wakers.wake_all();
    }

    /// Reads all bytes.
    fn read(&self) -> io::Result<u32> {
        match self.bytes.swap(0, Ordering::AcqRel) {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            bytes => Ok(bytes),
        }
    }

    async fn read_async(&self) -> u32 {
        let mask = Direction::Read.mask();
        (self.registration)
            .async_io(mask, || self.read())
            .await
            .unwrap()
    }

    async fn read_polled(&self) -> u32 {
        let read = |context: &mut std::task::Context<'_>| {
            (self.registration).poll_io(context, Direction::Read, || self.read())
        };
        poll_fn(read).await.unwrap()
    }
}

/// Two bytes arrive, one after the other, and all are read, however the task waits for
/// them.
fn all_is_read(polled: bool) {
    model(3, move || {
        let pipe = Pipe::new();
        let writer = pipe.clone();
        let writer = thread::spawn(move || {
            writer.arrive();
            writer.arrive();
        });
        let mut read = 0;
        while read < 2 {
            read += if polled {
                block_on(pipe.read_polled())
            } else {
                block_on(pipe.read_async())
            };
        }
        writer.join().unwrap();
    });
}

#[test]
fn a_clear_keeps_the_event_that_came_since() {
    all_is_read(false);
}

#[test]
fn an_event_finds_who_polls() {
    all_is_read(true);
}

/// One waiter is dropped at any moment; the other gets the event.
fn a_drop_takes_nothing_along() {
    model(2, || {
        let pipe = Pipe::new();
        let (writer, leaver) = (pipe.clone(), pipe.clone());
        let writer = thread::spawn(move || writer.arrive());
        let leaver = thread::spawn(move || {
            let mut wait = pin!(leaver.registration.wait(bits::READABLE));
            _ = poll(wait.as_mut(), Waker::noop());
        });
        assert_eq!(block_on(pipe.read_async()), 1);
        writer.join().unwrap();
        leaver.join().unwrap();
    });
}

#[test]
fn an_event_is_not_lost_with_a_waiter_that_is_dropped() {
    a_drop_takes_nothing_along();
}

/// A shutdown ends the waits of both kinds, and later ones.
fn a_shutdown_ends_all(polled: bool) {
    model(3, move || {
        let pipe = Pipe::new();
        let closer = pipe.clone();
        let closer = thread::spawn(move || {
            let mut wakers = Wakers::new();
            closer.driver.shut_down(&mut wakers);
            wakers.wake_all();
        });
        let result = if polled {
            block_on(poll_fn(|context| {
                pipe.registration.poll_ready(context, Direction::Read)
            }))
        } else {
            block_on(pipe.registration.wait(bits::READABLE))
        };
        assert!(blitz_io_driver::is_shut_down_error(&result.unwrap_err()));
        closer.join().unwrap();
        let mut source = Source::default();
        assert!(Registration::new(&mut source, (), &pipe.driver).is_err());
    });
}

#[test]
fn a_shutdown_ends_the_wait_of_a_future() {
    a_shutdown_ends_all(false);
}

#[test]
fn a_shutdown_ends_the_wait_of_a_poll() {
    a_shutdown_ends_all(true);
}
