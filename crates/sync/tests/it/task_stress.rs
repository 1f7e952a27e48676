//! More threads than processors use the locks for tasks in all ways at once,
//! blocking, awaiting, trying and giving up at random, and the result is checked.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_sync::task::{Mutex, RwLock, Semaphore};
use blitz_io_testing::poll_once;
use blitz_io_testing::threads::{Random, Watchdog};

const THREADS: u64 = 8;
const TIME: Duration = Duration::from_millis(700);

/// Runs `turn` in all threads for a while. Returns the number of turns.
fn stress(turn: impl Fn(&mut Random) + Sync) {
    let _watchdog = Watchdog::new("stress");
    let end = Instant::now() + TIME;
    thread::scope(|scope| {
        for seed in 0..THREADS {
            let turn = &turn;
            scope.spawn(move || {
                let mut random = Random::new(seed + 1);
                // A thread that starts late does some, too.
                (0..100).for_each(|_| turn(&mut random));
                while Instant::now() < end {
                    turn(&mut random);
                }
            });
        }
    });
}

/// Awaits a future, or gives up after a number of polls.
fn await_or_give_up<F: Future>(random: &mut Random, future: F) -> Option<F::Output> {
    if random.below(3) > 0 {
        return Some(pollster::block_on(future));
    }
    let mut future = pin!(future);
    for _ in 0..=random.below(3) {
        if let Poll::Ready(result) = poll_once(future.as_mut(), Waker::noop()) {
            return Some(result);
        }
        thread::yield_now();
    }
    None
}

#[test]
fn semaphore() {
    const PERMITS: usize = 5;
    let semaphore = Arc::new(Semaphore::new(PERMITS));
    let (inside, taken, given) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    );
    stress(|random| {
        let n = 1 + random.below(PERMITS as u64) as u32;
        let owned = semaphore.clone();
        let permit = match random.below(5) {
            0 => semaphore.blocking_acquire_many(n).ok(),
            1 => semaphore.try_acquire_many(n).ok(),
            2 => {
                let permit = await_or_give_up(random, owned.acquire_many_owned(n));
                if let Some(permit) = permit {
                    permit.unwrap().forget();
                    semaphore.add_permits(n as usize);
                }
                None
            }
            _ => await_or_give_up(random, semaphore.acquire_many(n)).map(Result::unwrap),
        };
        if let Some(permit) = permit {
            let n = n as usize;
            assert!(inside.fetch_add(n, Ordering::SeqCst) + n <= PERMITS);
            taken.fetch_add(n, Ordering::SeqCst);
            if random.below(8) == 0 {
                thread::yield_now();
            }
            inside.fetch_sub(n, Ordering::SeqCst);
            given.fetch_add(permit.num_permits(), Ordering::SeqCst);
        }
    });
    assert_eq!(semaphore.available_permits(), PERMITS);
    assert_eq!(inside.into_inner(), 0);
    let taken = taken.into_inner();
    assert!(taken > 0);
    assert_eq!(taken, given.into_inner());
}

#[test]
fn mutex() {
    let mutex = Arc::new(Mutex::new((0, 0)));
    let turns = AtomicUsize::new(0);
    let work = |pair: &mut (usize, usize), random: &mut Random| {
        pair.0 += 1;
        if random.below(8) == 0 {
            thread::yield_now();
        }
        pair.1 += 1;
        assert_eq!(pair.0, pair.1);
        turns.fetch_add(1, Ordering::SeqCst);
    };
    stress(|random| match random.below(5) {
        0 => work(&mut mutex.blocking_lock(), random),
        1 => {
            if let Ok(mut pair) = mutex.try_lock() {
                work(&mut pair, random);
            }
        }
        2 => {
            if let Some(mut pair) = await_or_give_up(random, mutex.clone().lock_owned()) {
                work(&mut pair, random);
            }
        }
        _ => {
            if let Some(mut pair) = await_or_give_up(random, mutex.lock()) {
                work(&mut pair, random);
            }
        }
    });
    let turns = turns.into_inner();
    assert!(turns > 0);
    assert_eq!(*mutex.try_lock().unwrap(), (turns, turns));
}

#[test]
fn rwlock() {
    for lock in [RwLock::new(0), RwLock::with_max_readers(0, 3)] {
        let lock = Arc::new(lock);
        let (inside, writes) = (AtomicIsize::new(0), AtomicUsize::new(0));
        let write = |value: &mut usize, random: &mut Random| {
            assert_eq!(inside.fetch_sub(100, Ordering::SeqCst), 0);
            let before = *value;
            if random.below(8) == 0 {
                thread::yield_now();
            }
            *value = before + 1;
            writes.fetch_add(1, Ordering::SeqCst);
            assert_eq!(inside.fetch_add(100, Ordering::SeqCst), -100);
        };
        let read = |value: &usize, random: &mut Random| {
            assert!(inside.fetch_add(1, Ordering::SeqCst) >= 0);
            let before = *value;
            if random.below(8) == 0 {
                thread::yield_now();
            }
            assert_eq!(*value, before);
            inside.fetch_sub(1, Ordering::SeqCst);
        };
        stress(|random| match random.below(8) {
            0 => write(&mut lock.blocking_write(), random),
            1 => {
                if let Some(mut guard) = await_or_give_up(random, lock.write()) {
                    write(&mut guard, random);
                    if random.below(2) == 0 {
                        read(&guard.downgrade(), random);
                    }
                }
            }
            2 => {
                if let Some(guard) = await_or_give_up(random, lock.clone().write_owned()) {
                    read(&guard.downgrade(), random);
                }
            }
            3 => {
                if let Ok(mut guard) = lock.try_write() {
                    write(&mut guard, random);
                }
            }
            4 => read(&lock.blocking_read(), random),
            5 => {
                if let Ok(guard) = lock.try_read() {
                    read(&guard, random);
                }
            }
            6 => {
                if let Some(guard) = await_or_give_up(random, lock.clone().read_owned()) {
                    read(&guard, random);
                }
            }
            _ => {
                if let Some(guard) = await_or_give_up(random, lock.read()) {
                    read(&guard, random);
                }
            }
        });
        let writes = writes.into_inner();
        assert!(writes > 0);
        assert_eq!(*lock.try_write().unwrap(), writes);
        assert_eq!(inside.into_inner(), 0);
    }
}

/// A semaphore is closed while tasks use it: every task ends, and all permits come back.
#[test]
fn closing_in_the_midst() {
    let _watchdog = Watchdog::new("closing in the midst");
    for round in 0..60 {
        let semaphore = Semaphore::new(2);
        thread::scope(|scope| {
            for seed in 0..THREADS {
                let semaphore = &semaphore;
                scope.spawn(move || {
                    let mut random = Random::new(round * THREADS + seed + 1);
                    loop {
                        let n = 1 + random.below(2) as u32;
                        let permit = match random.below(2) {
                            0 => Some(semaphore.blocking_acquire_many(n)),
                            _ => await_or_give_up(&mut random, semaphore.acquire_many(n)),
                        };
                        match permit {
                            Some(Err(_)) => break,
                            Some(Ok(_)) | None => thread::yield_now(),
                        }
                    }
                });
            }
            thread::sleep(Duration::from_micros(500 + 37 * round));
            semaphore.close();
        });
        assert_eq!(semaphore.available_permits(), 2);
    }
}
