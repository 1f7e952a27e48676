//! A lock, a one-time event and a hand-over of turns, as users of atomic-wait write them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;

use atomic_wait::{wait, wake_all, wake_one};

/// The signatures, which programs may also use as values.
const _: (
    fn(&AtomicU32, u32),
    fn(*const AtomicU32),
    fn(*const AtomicU32),
) = (wait, wake_one, wake_all);

#[test]
fn another_value_does_not_wait() {
    wait(&AtomicU32::new(1), 0);
}

#[test]
fn a_wake_needs_no_waiter_and_no_word() {
    let word = Box::new(AtomicU32::new(0));
    let address: *const AtomicU32 = &*word;
    wake_one(address);
    drop(word);
    wake_one(address);
    wake_all(address);
    wake_one(std::ptr::null());
    wake_all(std::ptr::null());
}

/// 0 free, 1 locked, 2 locked with waiters.
struct Mutex(AtomicU32);

impl Mutex {
    fn lock(&self) {
        let (free, locked) = (0, 1);
        if (self.0)
            .compare_exchange(free, locked, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            while self.0.swap(2, Ordering::Acquire) != free {
                wait(&self.0, 2);
            }
        }
    }

    fn unlock(&self) {
        if self.0.swap(0, Ordering::Release) == 2 {
            wake_one(&self.0);
        }
    }
}

#[test]
fn a_mutex_of_one_word_loses_no_increment() {
    const THREADS: u64 = 8;
    const ROUNDS: u64 = 5_000;
    let (mutex, count) = (Mutex(AtomicU32::new(0)), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    mutex.lock();
                    // Not an atomic increment: the lock makes it one.
                    count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                    mutex.unlock();
                }
            });
        }
    });
    assert_eq!(count.into_inner(), THREADS * ROUNDS);
}

#[test]
fn an_event_wakes_all() {
    let (event, data) = (AtomicU32::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while event.load(Ordering::Acquire) == 0 {
                    wait(&event, 0);
                }
                assert_eq!(data.load(Ordering::Relaxed), 7);
            });
        }
        data.store(7, Ordering::Relaxed);
        event.store(1, Ordering::Release);
        wake_all(&event);
    });
}

#[test]
fn threads_take_turns() {
    const TURNS: u32 = 3_000;
    let turn = AtomicU32::new(0);
    thread::scope(|scope| {
        for own in 0..3 {
            let turn = &turn;
            scope.spawn(move || {
                for round in 0..TURNS / 3 {
                    let mine = 3 * round + own;
                    loop {
                        let now = turn.load(Ordering::Acquire);
                        if now == mine {
                            break;
                        }
                        wait(turn, now);
                    }
                    turn.store(mine + 1, Ordering::Release);
                    wake_all(turn);
                }
            });
        }
    });
    assert_eq!(turn.into_inner(), TURNS);
}
