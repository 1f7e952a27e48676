//! Fair releases hand the lock over, also to a thread that sleeps only since a moment ago. Only
//! Linux tells whether a thread sleeps yet.
#![cfg(any(target_os = "linux", target_os = "android"))]

use blitz_io_sync::thread::{FairMutex, Mutex, MutexGuard};
use blitz_io_testing::threads::{ThreadName, Watchdog};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

/// A fair release with a sleeper is a hand-over: `again`, which releases and
/// locks again, does not get the lock before the sleeper had it.
fn hands_over<'a, R: lock_api::RawMutex + Sync>(
    mutex: &'a lock_api::Mutex<R, ()>,
    again: impl Fn(lock_api::MutexGuard<'a, R, ()>) -> lock_api::MutexGuard<'a, R, ()>,
) {
    const ROUNDS: u32 = 50;
    let mut handed_over = 0;
    for _ in 0..ROUNDS {
        let had_it = AtomicBool::new(false);
        let (tell, told) = mpsc::channel();
        thread::scope(|scope| {
            let guard = mutex.lock();
            scope.spawn(|| {
                tell.send(ThreadName::current()).unwrap();
                let _guard = mutex.lock();
                had_it.store(true, Ordering::Relaxed);
            });
            // Soon after it fell asleep: it does not count as starving yet.
            told.recv().unwrap().until_asleep();
            let guard = again(guard);
            handed_over += u32::from(had_it.load(Ordering::Relaxed));
            drop(guard);
        });
    }
    // A waiter may be up for a moment just then, to look at the clock. Of releases that are
    // not fair almost none is a hand-over.
    assert!(
        handed_over >= ROUNDS / 2,
        "{handed_over} of {ROUNDS} releases were hand-overs"
    );
}

#[test]
fn a_fair_release_hands_over() {
    let _dog = Watchdog::new("a_fair_release_hands_over");
    let mutex = Mutex::new(());
    hands_over(&mutex, |guard| {
        MutexGuard::unlock_fair(guard);
        mutex.lock()
    });
}

#[test]
fn every_release_of_a_fair_mutex_hands_over() {
    let _dog = Watchdog::new("every_release_of_a_fair_mutex_hands_over");
    let mutex = FairMutex::new(());
    hands_over(&mutex, |guard| {
        drop(guard);
        mutex.lock()
    });
}

#[test]
fn bump_hands_over() {
    let _dog = Watchdog::new("bump_hands_over");
    let mutex = Mutex::new(());
    hands_over(&mutex, |mut guard| {
        MutexGuard::bump(&mut guard);
        guard
    });
}
