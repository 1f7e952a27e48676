//! More threads than cores: writers, readers that move, a thief, and sources that come and
//! go.

use std::future::poll_fn;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use blitz_io_driver::{Direction, Driver, Wakers, bits};

use crate::help::{limit, pair};

const READERS: usize = 4;
const BYTES: usize = 2_000;

/// Reads everything that a writer sends, for a limited time, so that a lost event fails the
/// test and does not hang it.
fn read_all(driver: &Arc<Driver>, by_future: bool) -> usize {
    let mut sum = 0;
    let mut pair = pair(driver);
    // A write that finds no room waits.
    let mut there = std::os::unix::net::UnixStream::from(OwnedFd::from(pair.there));
    there.set_nonblocking(false).unwrap();
    let writer = thread::spawn(move || {
        for index in 0..BYTES {
            there.write_all(&[index as u8]).unwrap();
            if index % 64 == 0 {
                thread::sleep(Duration::from_micros(50));
            }
        }
    });
    let mut count = 0;
    let mut buffer = [0; 16];
    let mut read = || {
        pair.here.read(&mut buffer).inspect(|&n| {
            sum += buffer[..n].iter().map(|&byte| byte as usize).sum::<usize>();
        })
    };
    loop {
        let n = if by_future {
            pollster::block_on(
                pair.registration
                    .async_io(bits::READABLE | bits::READ_CLOSED, &mut read),
            )
        } else {
            pollster::block_on(poll_fn(|context| {
                pair.registration
                    .poll_io(context, Direction::Read, &mut read)
            }))
        };
        match n.unwrap() {
            0 => break,
            n => count += n,
        }
    }
    writer.join().unwrap();
    assert_eq!(count, BYTES);
    pair.registration.deregister(&mut pair.here).unwrap();
    sum
}

#[test]
fn every_byte_arrives() {
    let driver = Driver::new(8, None).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let parks = Arc::new(AtomicUsize::new(0));
    let owner = {
        let (driver, stop, parks) = (driver.clone(), stop.clone(), parks.clone());
        thread::spawn(move || {
            let mut wakers = Wakers::new();
            // Once also if the thread starts when all is over.
            loop {
                driver.park(limit(), &mut wakers);
                wakers.wake_all();
                parks.fetch_add(1, Ordering::Relaxed);
                if stop.load(Ordering::SeqCst) {
                    break;
                }
            }
        })
    };
    let thief = {
        let (driver, stop) = (driver.clone(), stop.clone());
        thread::spawn(move || {
            let mut wakers = Wakers::new();
            while !stop.load(Ordering::SeqCst) {
                driver.poll(&mut wakers);
                wakers.wake_all();
                thread::sleep(Duration::from_micros(20));
            }
        })
    };
    let expected: usize = (0..BYTES).map(|index| index as u8 as usize).sum();
    let readers: Vec<_> = (0..READERS)
        .map(|index| {
            let driver = driver.clone();
            thread::spawn(move || read_all(&driver, index % 2 == 0))
        })
        .collect();
    for reader in readers {
        assert_eq!(reader.join().unwrap(), expected);
    }
    stop.store(true, Ordering::SeqCst);
    driver.unpark();
    owner.join().unwrap();
    thief.join().unwrap();
    assert!(parks.load(Ordering::Relaxed) > 0);
    let metrics = driver.metrics();
    assert_eq!(
        (metrics.registered(), metrics.deregistered()),
        (READERS, READERS)
    );
}

/// Other threads unpark again and again, while a thief polls: each unpark is seen.
#[test]
fn no_unpark_is_lost_beside_a_thief() {
    let driver = Driver::new(8, None).unwrap();
    let _pair = pair(&driver);
    let stop = Arc::new(AtomicBool::new(false));
    let thief = {
        let (driver, stop) = (driver.clone(), stop.clone());
        thread::spawn(move || {
            while !stop.load(Ordering::SeqCst) {
                driver.poll(&mut Wakers::new());
            }
        })
    };
    let (to, from) = std::sync::mpsc::sync_channel(0);
    let waker = {
        let driver = driver.clone();
        thread::spawn(move || {
            while from.recv().is_ok() {
                driver.unpark();
            }
        })
    };
    for _ in 0..2_000 {
        to.send(()).unwrap();
        let end = limit();
        while !driver.park(end, &mut Wakers::new()) {
            assert!(
                std::time::Instant::now() < end.unwrap(),
                "an unpark was lost"
            );
        }
    }
    stop.store(true, Ordering::SeqCst);
    drop(to);
    waker.join().unwrap();
    thief.join().unwrap();
}
