//! Which thread gets the lock, and after how long. Where possible, the bounds are counted in
//! turns of the other threads, not in time. A machine with other work to do makes everything
//! late, but it does not make a lock unfair.

use blitz_io_testing::threads::{Stop, StopAtEnd, eventually, work};

use blitz_io_sync::thread::{FairMutex, Mutex, RwLock, RwLockUpgradableReadGuard, Semaphore};
use blitz_io_testing::observe;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// One turn of a thread that does not want to let go.
const TURN: Duration = Duration::from_micros(100);

/// The number of turns that a waiter may have to watch, on average. About ten are expected, and a hundred
/// or more from a lock that ignores starving threads. The rest is for a waiter that the system
/// lets run late, as Wine does now and then.
const MANY_TURNS: u64 = if cfg!(windows) { 150 } else { 60 };

/// Six threads run `hog` forever, without a pause. Observes how many turns they get on average
/// while `patient` waits for one of its own.
fn turns_against(property: &str, hog: impl Fn() + Sync, patient: impl Fn()) {
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
    observe(property, total / ROUNDS, MANY_TURNS);
}

#[test]
#[ignore = "observes the scheduler"]
fn a_mutex_is_not_hogged() {
    let mutex = Mutex::new(());
    let hog = || {
        let _guard = mutex.lock();
        work(TURN);
    };
    turns_against("turns before Mutex::lock", hog, || drop(mutex.lock()));
    let timed = || drop(mutex.try_lock_for(Duration::from_secs(3600)).unwrap());
    turns_against("turns before Mutex::try_lock_for", hog, timed);
}

#[test]
#[ignore = "observes the scheduler"]
fn a_fair_mutex_is_not_hogged() {
    let mutex = FairMutex::new(());
    let hog = || {
        let _guard = mutex.lock();
        work(TURN);
    };
    turns_against("turns before FairMutex::lock", hog, || drop(mutex.lock()));
}

#[test]
#[ignore = "observes the scheduler"]
fn writers_do_not_starve_each_other() {
    let lock = RwLock::new(());
    let hog = || {
        let _guard = lock.write();
        work(TURN);
    };
    turns_against("writers before RwLock::write", hog, || drop(lock.write()));
    let upgrade = || {
        drop(RwLockUpgradableReadGuard::upgrade(lock.upgradable_read()));
    };
    turns_against("writers before an upgrade", hog, upgrade);
}

#[test]
#[ignore = "observes the scheduler"]
fn writers_do_not_starve_a_reader() {
    let lock = RwLock::new(());
    let hog = || {
        let _guard = lock.write();
        work(TURN);
    };
    turns_against("writers before RwLock::read", hog, || drop(lock.read()));
}

/// One thread wants all permits, while others take and release single ones and never leave all
/// free.
#[test]
#[ignore = "observes the scheduler"]
fn single_permits_do_not_starve_a_waiter_for_all() {
    const ALL: u32 = 4;
    let semaphore = Semaphore::new(ALL as usize);
    let stop = Stop::default();
    let mut longest = Duration::ZERO;
    thread::scope(|scope| {
        let _stop = StopAtEnd(&stop);
        for _ in 0..6 {
            scope.spawn(|| {
                let mut next = semaphore.acquire().unwrap();
                while !stop.is_set() {
                    let kept = next;
                    work(Duration::from_micros(20));
                    next = match semaphore.try_acquire() {
                        Ok(next) => next,
                        Err(_) => {
                            drop(kept);
                            semaphore.acquire().unwrap()
                        }
                    };
                }
            });
        }
        for _ in 0..10 {
            let began = Instant::now();
            drop(semaphore.acquire_many(ALL).unwrap());
            longest = longest.max(began.elapsed());
        }
    });
    observe("ms for all permits", longest.as_millis(), 1000);
    assert_eq!(semaphore.available_permits(), ALL as usize);
}

/// Eight threads want the mutex all the time. Every thread gets it, ordinarily within about ten
/// milliseconds.
#[test]
#[ignore = "observes the scheduler"]
fn every_thread_gets_a_share() {
    const THREADS: usize = 8;
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
        let longest = results.iter().map(|(_, longest)| *longest).max().unwrap();
        let fewest = results.iter().map(|(turns, _)| *turns).min().unwrap();
        observe("ms of the longest wait of eight", longest.as_millis(), 200);
        let share = total / THREADS as u64 / fewest.max(1);
        observe("times that a fair share exceeds the smallest", share, 20);
    });
}
