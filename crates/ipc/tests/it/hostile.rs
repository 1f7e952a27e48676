//! A participant that writes any value anywhere, while others work.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_ipc::{
    Barrier, Builder, Channel, Event, Queue, RecvError, Route, Semaphore, SendError, SendOptions,
    WaitError, WhenFull,
};

use crate::common::{LONG, Place, Random};

const ROUNDS: usize = 12;
const ROUND: Duration = Duration::from_millis(60);
/// Each call has this deadline, and must keep it, apart from the delays of a loaded
/// machine.
const DEADLINE: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(900);

/// Sends and receives until `stop`, and opens the segment again after `Corrupt`. Results do
/// not matter, only that each call returns.
fn work(builder: &Builder, sends: bool, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        if sends {
            let Ok(mut sender) = builder.sender("h") else {
                continue;
            };
            while !stop.load(Ordering::Relaxed) {
                let began = Instant::now();
                match sender.send_timeout(&[7; 32], DEADLINE) {
                    Err(SendError::Corrupt) => break,
                    Err(SendError::TooLong { .. } | SendError::Forked) => unreachable!(),
                    _ => {}
                }
                // Sends as a task, which rings the others' doorbells.
                if let Err(SendError::Corrupt) =
                    sender.with(SendOptions::new().arm()).send(&[7; 32])
                {
                    break;
                }
                assert!(began.elapsed() < PATIENCE, "a send hangs");
            }
        } else {
            let Ok(mut receiver) = builder.receiver("h") else {
                continue;
            };
            while !stop.load(Ordering::Relaxed) {
                let began = Instant::now();
                match receiver.recv_timeout(DEADLINE) {
                    Ok(message) => assert!(message.len() <= 32),
                    Err(RecvError::Corrupt) => break,
                    Err(RecvError::TooShort { .. } | RecvError::Forked) => unreachable!(),
                    Err(_) => {}
                }
                if let Err(RecvError::Corrupt) = receiver.try_recv_or_arm().map(drop) {
                    break;
                }
                assert!(began.elapsed() < PATIENCE, "a receive hangs");
            }
        }
    }
}

/// Returns a value that is near to those of the protocol.
fn nasty(random: &mut Random) -> u64 {
    match random.below(6) {
        0 => 0,
        1 => u64::MAX,
        2 => random.below(16) << 12 | random.below(8),
        3 => random.below(64),
        4 => 1 << random.below(64),
        _ => random.next(),
    }
}

fn scribble(builder: Builder, first: u64, step: u64) {
    let place = Place::new();
    let builder = place.in_it(builder.capacity(4).max_len(32));
    for round in 0..ROUNDS {
        let keeper = builder.receiver("h").unwrap();
        let stop = AtomicBool::new(false);
        let path = place.path().join("h.ring");
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        let size = file.metadata().unwrap().len();
        thread::scope(|scope| {
            for worker in 0..4 {
                let (builder, stop) = (&builder, &stop);
                scope.spawn(move || work(builder, worker % 2 == 0, stop));
            }
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    for segment in blitz_io_ipc::list_in(place.path()).unwrap() {
                        assert_eq!(segment.name, "h");
                    }
                }
            });
            let mut random = Random(round as u64 * 7919 + first);
            let end = Instant::now() + ROUND;
            while Instant::now() < end {
                let words = (size - first) / step;
                let at = first + random.below(words) * step;
                let value = nasty(&mut random).to_le_bytes();
                file.write_all_at(&value[..step.min(8) as usize], at)
                    .unwrap();
            }
            stop.store(true, Ordering::Relaxed);
        });
        drop(keeper);
        // The remaining file may be damaged beyond use; it must not keep the next group
        // from starting.
        if path.exists() {
            std::fs::remove_file(path).unwrap();
        }
    }
}

/// Waits for an event, a semaphore or a barrier until `stop`, opening it many times.
fn wait_for(directory: &Path, which: usize, worker: usize, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        match which {
            0 => {
                let event = Event::builder(3).directory(directory);
                if worker % 2 == 0 {
                    _ = event.notifier("h").map(|notifier| notifier.notify(worker));
                } else {
                    _ = event.listener("h").map(|mut listener| {
                        let notified = listener.wait_timeout(DEADLINE);
                        assert!(notified.is_err() || notified.is_ok_and(|n| n.id < 3));
                    });
                }
            }
            1 => {
                let semaphore = Semaphore::builder(3).directory(directory).open("h");
                _ = semaphore.map(|mut semaphore| {
                    _ = semaphore.acquire_timeout(DEADLINE);
                    _ = semaphore.try_acquire();
                });
            }
            _ => {
                let barrier = Barrier::builder(3).directory(directory).open("h");
                _ = barrier.map(|mut barrier| {
                    _ = barrier.wait_timeout(DEADLINE);
                    _ = barrier.wait_timeout(DEADLINE);
                });
            }
        }
        assert!(began.elapsed() < PATIENCE, "a wait hangs");
    }
}

/// The words of events, semaphores and barriers, and of their participants.
#[test]
fn words_of_primitives_may_hold_anything() {
    for which in 0..3 {
        let place = Place::new();
        let path = place.path().join("h.ring");
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for worker in 0..4 {
                let (directory, stop) = (place.path(), &stop);
                scope.spawn(move || wait_for(directory, which, worker, stop));
            }
            let mut random = Random(which as u64 * 7919);
            let end = Instant::now() + 4 * ROUND;
            while Instant::now() < end {
                // The name comes and goes with the participants.
                let Ok(file) = OpenOptions::new().write(true).open(&path) else {
                    continue;
                };
                let size = file.metadata().unwrap().len();
                for _ in 0..100 {
                    if let Some(words) = size.checked_sub(1024).map(|bytes| bytes / 8) {
                        // Half of them at the end, where the entries are.
                        let word = match random.below(2) {
                            0 => random.below(words),
                            _ => words - 1 - random.below(words.min(512)),
                        };
                        let value = nasty(&mut random).to_le_bytes();
                        file.write_all_at(&value, 1024 + word * 8).unwrap();
                    }
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}

/// Ring and records: the words that participants act on.
#[test]
fn words_of_the_ring_may_hold_anything() {
    for builder in [Route::builder(), Channel::builder(), Queue::builder()] {
        scribble(builder, 1024, 8);
    }
}

#[test]
fn words_of_a_ring_that_drops_may_hold_anything() {
    scribble(Channel::builder().when_full(WhenFull::DropOldest), 1024, 8);
    scribble(Queue::builder().when_full(WhenFull::DropOldest), 1024, 8);
}

#[test]
fn all_bytes_may_be_anything() {
    scribble(Channel::builder(), 0, 1);
}

fn overwrite(path: &Path, first: u64, len: usize) {
    let mut random = Random(first + len as u64);
    let words = (0..len / 8).flat_map(|_| random.next().to_le_bytes());
    let file = OpenOptions::new().write(true).open(path).unwrap();
    let bytes: Vec<u8> = words.collect();
    file.write_all_at(&bytes, first).unwrap();
}

/// Each part of what lies before the messages: the header; the header and records; the tail.
const PARTS: [(u64, usize); 4] = [(0, 1024), (0, 4096), (0, 8192), (1024, 8)];

#[test]
fn a_receiver_that_is_left_alone_in_an_overwritten_segment_says_so() {
    for builder in [Route::builder(), Channel::builder(), Queue::builder()] {
        for (first, len) in PARTS {
            let place = Place::new();
            let builder = place.in_it(builder.clone());
            let mut receiver = builder.receiver("o").unwrap();
            let mut sender = builder.sender("o").unwrap();
            sender.send(b"before").unwrap();
            assert_eq!(*receiver.recv().unwrap(), *b"before");
            overwrite(&place.path().join("o.ring"), first, len);
            let sent = sender.send(b"after");
            drop(sender);
            let received = receiver.recv_timeout(LONG).map(|message| message.to_vec());
            let case = format!("{builder:?} {first} {len} {sent:?}");
            if let (Ok(()), Ok(message)) = (sent, &received) {
                assert_eq!(message, b"after", "{case}");
                let end = receiver.recv_timeout(LONG).map(|message| message.len());
                assert_eq!(end, Err(RecvError::Corrupt), "{case}");
            } else {
                assert_eq!(received, Err(RecvError::Corrupt), "{case}");
            }
        }
    }
}

#[test]
fn a_listener_that_is_left_alone_in_an_overwritten_segment_says_so() {
    let place = Place::new();
    let event = Event::builder(3).directory(place.path());
    let mut listener = event.listener("o").unwrap();
    let notifier = event.notifier("o").unwrap();
    overwrite(&place.path().join("o.ring"), 0, 1024);
    drop(notifier);
    assert_eq!(listener.wait_timeout(LONG), Err(WaitError::Corrupt));
}

#[test]
fn no_queue_is_drained_by_overwriting_it() {
    let place = Place::new();
    let builder = place.in_it(Queue::builder());
    let mut sender = builder.sender("o").unwrap();
    sender.send(b"lost").unwrap();
    // The tail's zeros say that nothing was sent.
    let path = place.path().join("o.ring");
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&[0; 4096], 0).unwrap();
    assert_eq!(sender.drained_timeout(LONG), Err(WaitError::Corrupt));
}
