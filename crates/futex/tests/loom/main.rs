//! Models of the wait and wake protocol itself. Run with
//! `RUSTFLAGS="--cfg loom" LOOM_MAX_PREEMPTIONS=3 cargo test --release --features loom --test loom_futex`.
#![cfg(loom)]

mod parking;

// loom's `Arc` cannot be dropped after a deadlock was found, and these models are not about its
// counting.
use std::sync::Arc;
use std::time::{Duration, Instant};

use blitz_io_futex::atomic::{AtomicU32, AtomicUsize, Ordering};
use blitz_io_futex::{
    SplitWord, WaitAny, WaitResult, block_until_different, model, wait, wait_any, wait_deadline,
    wake_all, wake_n, wake_one,
};
use loom::cell::UnsafeCell;
use loom::thread;

/// Returns some deadline: its value means nothing in a model.
fn deadline() -> Option<Instant> {
    Some(Instant::now() + Duration::from_secs(1))
}

#[test]
fn a_wake_between_check_and_sleep_is_not_lost() {
    loom::model(|| {
        let word = Arc::new(AtomicU32::new(0));
        let waker = thread::spawn({
            let word = word.clone();
            move || {
                word.store(1, Ordering::Release);
                wake_one(&*word);
            }
        });
        while word.load(Ordering::Acquire) == 0 {
            wait(&word, 0);
        }
        waker.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_wake_before_the_store_is_found_as_a_deadlock() {
    loom::model(|| {
        let word = Arc::new(AtomicU32::new(0));
        let waker = thread::spawn({
            let word = word.clone();
            move || {
                wake_one(&*word);
                word.store(1, Ordering::Release);
            }
        });
        while word.load(Ordering::Acquire) == 0 {
            wait(&word, 0);
        }
        waker.join().unwrap();
    });
}

/// A lock with the states 0 free, 1 locked, 2 locked with sleepers.
struct Lock<T> {
    state: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: `with` calls its closure under the lock.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    fn new(value: T) -> Self {
        Self {
            state: AtomicU32::new(0),
            value: UnsafeCell::new(value),
        }
    }

    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        if self.state.compare_exchange(0, 1, acquire, relaxed).is_err() {
            while self.state.swap(2, Ordering::Acquire) != 0 {
                wait(&self.state, 2);
            }
        }
        // SAFETY: the state says that this thread has the lock.
        let result = self.value.with_mut(|value| f(unsafe { &mut *value }));
        if self.state.swap(0, Ordering::Release) == 2 {
            wake_one(&self.state);
        }
        result
    }
}

#[test]
fn a_lock_excludes_and_hands_over() {
    loom::model(|| {
        let lock = Arc::new(Lock::new(0));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let lock = lock.clone();
                thread::spawn(move || lock.with(|count| *count += 1))
            })
            .collect();
        lock.with(|count| *count += 1);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(lock.with(|count| *count), 3);
    });
}

#[test]
fn a_timed_wait_can_time_out() {
    loom::model(|| {
        let word = Arc::new(AtomicU32::new(0));
        let clock = thread::spawn(model::expire);
        assert_eq!(wait_deadline(&word, 0, deadline()), WaitResult::TimedOut);
        // Waits that start after the deadline:
        assert_eq!(wait_deadline(&word, 0, deadline()), WaitResult::TimedOut);
        assert_eq!(
            wait_deadline(&word, 1, deadline()),
            WaitResult::ValueChanged
        );
        clock.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_wait_without_deadline_does_not_time_out() {
    loom::model(|| {
        let clock = thread::spawn(model::expire);
        wait_deadline(&AtomicU32::new(0), 0, None);
        clock.join().unwrap();
    });
}

#[test]
fn each_execution_starts_before_the_deadlines() {
    loom::model(|| {
        let word = Arc::new(AtomicU32::new(0));
        let waker = thread::spawn({
            let word = word.clone();
            move || {
                word.store(1, Ordering::Relaxed);
                wake_one(&*word);
            }
        });
        assert_ne!(wait_deadline(&word, 0, deadline()), WaitResult::TimedOut);
        waker.join().unwrap();
        model::expire();
        assert_eq!(wait_deadline(&word, 1, deadline()), WaitResult::TimedOut);
    });
}

#[test]
fn a_timeout_and_a_wake_do_not_both_count() {
    loom::model(|| {
        let word = Arc::new(AtomicU32::new(0));
        let sleeper = thread::spawn({
            let word = word.clone();
            move || wait_deadline(&word, 0, deadline())
        });
        let clock = thread::spawn(model::expire);
        let woken = wake_one(&*word);
        clock.join().unwrap();
        let result = sleeper.join().unwrap();
        assert_eq!(result == WaitResult::Woken, woken == 1);
    });
}

#[test]
fn wake_counts_are_exact() {
    loom::model(|| {
        let word = Arc::new(AtomicU32::new(0));
        let through_wake = Arc::new(AtomicUsize::new(0));
        let sleepers: Vec<_> = (0..2)
            .map(|_| {
                let (word, through_wake) = (word.clone(), through_wake.clone());
                thread::spawn(move || {
                    if wait_deadline(&word, 0, None) == WaitResult::Woken {
                        through_wake.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let mut woken = wake_n(&*word, 0);
        assert_eq!(woken, 0);
        woken += wake_n(&*word, 1);
        assert!(woken <= 1);
        word.store(1, Ordering::Relaxed);
        woken += wake_all(&*word);
        for sleeper in sleepers {
            sleeper.join().unwrap();
        }
        assert_eq!(woken, through_wake.load(Ordering::Relaxed));
    });
}

#[test]
fn wait_any_ends_through_either_word() {
    loom::model(|| {
        let words = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let wakers: Vec<_> = (0..2)
            .map(|i| {
                let words = words.clone();
                thread::spawn(move || {
                    words[i].store(1, Ordering::Release);
                    wake_one(&words[i])
                })
            })
            .collect();
        let result = wait_any(&[(&words[0], 0), (&words[1], 0)], None).unwrap();
        assert_eq!(words[result.index().unwrap()].load(Ordering::Acquire), 1);
        let woken: usize = wakers.into_iter().map(|waker| waker.join().unwrap()).sum();
        assert_eq!(matches!(result, WaitAny::Woken(_)), woken == 1);
    });
}

#[test]
fn a_wake_is_not_spent_on_a_thread_that_woke_through_another_word() {
    loom::model(|| {
        let words = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let on_both = thread::spawn({
            let words = words.clone();
            move || wait_any(&[(&words[0], 0), (&words[1], 0)], None).unwrap()
        });
        let on_second = thread::spawn({
            let words = words.clone();
            move || wait(&words[1], 0)
        });
        words[0].store(1, Ordering::Relaxed);
        wake_one(&words[0]);
        words[1].store(1, Ordering::Relaxed);
        wake_one(&words[1]);
        on_both.join().unwrap();
        on_second.join().unwrap();
    });
}

#[test]
fn block_until_different_ignores_wakes_without_a_change() {
    loom::model(|| {
        let word = Arc::new(AtomicU32::new(0));
        let waker = thread::spawn({
            let word = word.clone();
            move || {
                wake_one(&*word);
                word.store(1, Ordering::Release);
                wake_one(&*word);
            }
        });
        assert_eq!(block_until_different(0, &word), 1);
        waker.join().unwrap();
    });
}

/// A lock on two bytes: byte 0 says locked, byte 1 says that a thread sleeps.
struct SplitLock(SplitWord);

impl SplitLock {
    fn lock(&self) {
        let locked = self.0.byte(0);
        let waiting = self.0.byte(1);
        while locked.swap(1, Ordering::Acquire) == 1 {
            waiting.store(1, Ordering::Relaxed);
            // Dekker with `unlock`: announce, then check.
            blitz_io_futex::atomic::fence(Ordering::SeqCst);
            self.0.wait_deadline([1, 1, 0, 0], None);
        }
    }

    fn unlock(&self) {
        // An exchange and not a store: loom does not know that a store comes after an
        // exchange of another thread that read the value before.
        self.0.byte(0).swap(0, Ordering::Release);
        blitz_io_futex::atomic::fence(Ordering::SeqCst);
        if self.0.byte(1).swap(0, Ordering::Relaxed) == 1 {
            SplitWord::wake_all(&self.0);
        }
    }
}

#[test]
fn a_lock_on_single_bytes_loses_no_wake_up() {
    loom::model(|| {
        let lock = Arc::new(SplitLock(SplitWord::new([0; 4])));
        let other = thread::spawn({
            let lock = lock.clone();
            move || {
                lock.lock();
                lock.unlock();
            }
        });
        lock.lock();
        lock.unlock();
        other.join().unwrap();
    });
}
