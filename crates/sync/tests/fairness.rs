//! Which thread gets the lock, and after how long. Where possible, the bounds are counted in
//! turns of the other threads, not in time. A machine with other work to do makes everything
//! late, but it does not make a lock unfair.
#![cfg(not(loom))]

use crate::lock_help;

use blitz_io_sync::thread::{FairMutex, Mutex, RwLock, RwLockUpgradableReadGuard};
use lock_help::{PATIENCE, Stop, StopAtEnd, Watchdog, eventually, work};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// One turn of a thread that does not want to let go.
const TURN: Duration = Duration::from_micros(100);

/// How many turns a waiter may have to watch, on average. About ten are expected, and a hundred
/// or more from a lock that ignores starving threads. The rest is for a waiter that the system
/// lets run late, as Wine does now and then.
const MANY_TURNS: u64 = if cfg!(windows) { 150 } else { 60 };

/// Six threads run `hog` forever, without a pause. Returns how many turns they get on average
/// while `patient` waits for one of its own. If that is too many, it tries again: other programs
/// may make a waiter late for a while, but an unfair lock does each time.
fn turns_against(hog: impl Fn() + Sync, patient: impl Fn()) -> u64 {
    const TRIES: usize = 10;
    let mut turns = turns_in_one_try(&hog, &patient);
    for _ in 1..TRIES {
        if turns < MANY_TURNS {
            break;
        }
        thread::sleep(Duration::from_millis(100));
        turns = turns_in_one_try(&hog, &patient);
    }
    turns
}

fn turns_in_one_try(hog: &(impl Fn() + Sync), patient: &impl Fn()) -> u64 {
    const HOGS: usize = 6;
    const ROUNDS: u64 = 20;
    // A lock that lets the hogs starve the patient must not starve the test.
    const ENOUGH: u64 = ROUNDS * MANY_TURNS * 4;
    let turns = AtomicU64::new(0);
    let stop = Stop::default();
    let mut total = 0;
    thread::scope(|scope| {
        let _stop = StopAtEnd(&stop);
        for _ in 0..HOGS {
            scope.spawn(|| {
                while !stop.is_set() && turns.load(Ordering::Relaxed) < ENOUGH {
                    hog();
                    turns.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for _ in 0..ROUNDS {
            let before = turns.load(Ordering::Relaxed);
            eventually(|| turns.load(Ordering::Relaxed) >= (before + 20).min(ENOUGH));
            let before = turns.load(Ordering::Relaxed);
            patient();
            total += turns.load(Ordering::Relaxed) - before;
        }
    });
    total / ROUNDS
}

#[test]
fn a_mutex_is_not_hogged() {
    let _dog = Watchdog::new("a_mutex_is_not_hogged");
    let mutex = Mutex::new(());
    let hog = || {
        let _guard = mutex.lock();
        work(TURN);
    };
    let turns = turns_against(hog, || drop(mutex.lock()));
    assert!(turns < MANY_TURNS, "{turns} turns");
    let timed = || assert!(mutex.try_lock_for(PATIENCE).is_some());
    let turns = turns_against(hog, timed);
    assert!(turns < MANY_TURNS, "{turns} turns of a timed wait");
}

#[test]
fn a_fair_mutex_is_not_hogged() {
    let _dog = Watchdog::new("a_fair_mutex_is_not_hogged");
    let mutex = FairMutex::new(());
    let hog = || {
        let _guard = mutex.lock();
        work(TURN);
    };
    let turns = turns_against(hog, || drop(mutex.lock()));
    assert!(turns < MANY_TURNS, "{turns} turns");
}

#[test]
fn writers_do_not_starve_each_other() {
    let _dog = Watchdog::new("writers_do_not_starve_each_other");
    let lock = RwLock::new(());
    let hog = || {
        let _guard = lock.write();
        work(TURN);
    };
    let turns = turns_against(hog, || drop(lock.write()));
    assert!(turns < MANY_TURNS, "{turns} turns");
    let upgrade = || {
        drop(RwLockUpgradableReadGuard::upgrade(lock.upgradable_read()));
    };
    let turns = turns_against(hog, upgrade);
    assert!(turns < MANY_TURNS, "{turns} turns before an upgrade");
}

#[test]
fn writers_do_not_starve_a_reader() {
    let _dog = Watchdog::new("writers_do_not_starve_a_reader");
    let lock = RwLock::new(());
    let hog = || {
        let _guard = lock.write();
        work(TURN);
    };
    let turns = turns_against(hog, || drop(lock.read()));
    assert!(turns < MANY_TURNS, "{turns} turns");
}

/// Eight threads want it all the time. Every thread gets it, ordinarily within about ten
/// milliseconds.
#[test]
fn everybody_gets_a_share() {
    const THREADS: usize = 8;
    const LONG: Duration = Duration::from_secs(5);
    let _dog = Watchdog::new("everybody_gets_a_share");
    let mutex = Mutex::new(0_u64);
    let start = Barrier::new(THREADS + 1);
    let stop = Stop::default();
    thread::scope(|scope| {
        let threads = [(); THREADS].map(|()| {
            scope.spawn(|| {
                let (mut turns, mut longest) = (0_u64, Duration::ZERO);
                start.wait();
                while !stop.is_set() {
                    let began = Instant::now();
                    let mut guard = mutex.lock();
                    longest = longest.max(began.elapsed());
                    *guard += 1;
                    turns += 1;
                    work(TURN / 5);
                }
                (turns, longest)
            })
        });
        start.wait();
        thread::sleep(Duration::from_secs(1));
        stop.now();
        let results = threads.map(|thread| thread.join().unwrap());
        let total: u64 = results.iter().map(|(turns, _)| turns).sum();
        assert_eq!(total, *mutex.lock());
        for (turns, longest) in results {
            assert!(longest < LONG, "waited for {longest:?}");
            assert!(turns >= 3, "{turns} turns of {total}");
        }
    });
}
