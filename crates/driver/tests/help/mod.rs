//! Helpers that the tests share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use blitz_io_driver::{Driver, Registration, Wakers};
use mio::Interest;
use mio::net::UnixStream;

/// A wait in a test that lasts longer than this has failed.
pub const LIMIT: Duration = Duration::from_secs(900);

pub fn limit() -> Option<Instant> {
    Some(Instant::now() + LIMIT)
}

pub fn driver() -> Arc<Driver> {
    Driver::new(64, None).unwrap()
}

/// A pair of sockets, of which the first is registered.
pub struct Pair {
    pub here: UnixStream,
    pub there: UnixStream,
    pub registration: Registration,
}

pub fn pair(driver: &Arc<Driver>) -> Pair {
    let (mut here, there) = UnixStream::pair().unwrap();
    let both = Interest::READABLE | Interest::WRITABLE;
    let registration = Registration::new(&mut here, both, driver).unwrap();
    Pair {
        here,
        there,
        registration,
    }
}

/// Parks until `done`, and wakes the ready tasks.
pub fn park_until(driver: &Driver, mut done: impl FnMut() -> bool) {
    let mut wakers = Wakers::new();
    let end = Instant::now() + LIMIT;
    while !done() {
        assert!(Instant::now() < end, "waited for too long");
        driver.park(Some(end), &mut wakers);
        wakers.wake_all();
    }
}

/// Delivers the events so far.
pub fn look(driver: &Driver) {
    let mut wakers = Wakers::new();
    driver.poll(&mut wakers);
    wakers.wake_all();
}

/// Counts how often it is woken.
#[derive(Default)]
pub struct Count(AtomicUsize);

impl Count {
    pub fn new() -> (Arc<Self>, Waker) {
        let count = Arc::new(Self::default());
        (count.clone(), count.into())
    }

    pub fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}
