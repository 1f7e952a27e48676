//! The thread that a release wakes: exactly one, the one with the longest wait. Only Linux tells
//! whether a thread sleeps, and how often it did.

use blitz_io_testing::threads::{A_WHILE, ThreadName, eventually, work};

use blitz_io_sync::thread::{Condvar, Mutex, MutexGuard, RwLock};
use blitz_io_testing::observe;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Threads that have waited for long get the lock in the order in which they came, and no other
/// thread gets it in between.
#[test]
#[ignore = "observes the scheduler"]
fn waiters_are_served_in_the_order_of_arrival() {
    let order = Mutex::new(Vec::new());
    let mut guard = order.lock();
    thread::scope(|scope| {
        for number in 0..10 {
            let (tell, told) = mpsc::channel();
            let order = &order;
            scope.spawn(move || {
                tell.send(ThreadName::current()).unwrap();
                order.lock().push(number);
            });
            // It sleeps, gets up when it begins to starve, and sleeps again.
            told.recv().unwrap().until_asleep_for_good();
        }
        MutexGuard::unlocked(&mut guard, || {
            eventually(|| order.try_lock().is_some_and(|order| order.len() == 10));
        });
    });
    let overtakings = guard.windows(2).filter(|pair| pair[0] > pair[1]).count();
    observe("waiters overtaken", overtakings, 0);
}

/// `threads` threads sleep in `enter`, while `hold` holds the lock. Returns how often all of them
/// together slept until every thread was through.
fn sleeps_of(threads: usize, hold: impl FnOnce(&dyn Fn()), enter: impl Fn() + Sync) -> u64 {
    let (tell, told) = mpsc::channel();
    let (tell_sleeps, sleeps) = mpsc::channel();
    thread::scope(|scope| {
        hold(&|| {
            for _ in 0..threads {
                let (tell, tell_sleeps, enter) = (tell.clone(), tell_sleeps.clone(), &enter);
                scope.spawn(move || {
                    let name = ThreadName::current();
                    let before = name.sleeps().unwrap();
                    tell.send(name.clone()).unwrap();
                    enter();
                    tell_sleeps.send(name.sleeps().unwrap() - before).unwrap();
                });
                told.recv().unwrap().until_asleep();
            }
            thread::sleep(Duration::from_millis(2));
        });
    });
    drop(tell_sleeps);
    sleeps.iter().sum()
}

/// Every thread sleeps, gets up when it begins to starve, and sleeps until it is woken: twice. A
/// release that woke all would make each of `n` threads sleep `n / 2` times.
#[test]
#[ignore = "observes the scheduler"]
fn a_release_does_not_wake_the_whole_herd() {
    /// The number of threads that the lock counts as starving. More of them would get up now and then.
    const HERD: usize = 15;
    /// Much longer than any thread tries without sleeping.
    const TURN: Duration = Duration::from_millis(3);
    const MOST: u64 = 4 * HERD as u64;
    let mutex = Mutex::new(());
    let hold = |gather: &dyn Fn()| {
        let _guard = mutex.lock();
        gather();
    };
    let sleeps = sleeps_of(HERD, hold, || {
        let _guard = mutex.lock();
        work(TURN);
    });
    observe("sleeps of 15 threads at a mutex", sleeps, MOST);

    let lock = RwLock::new(());
    let hold = |gather: &dyn Fn()| {
        let _guard = lock.write();
        gather();
    };
    let sleeps = sleeps_of(HERD, hold, || {
        let _guard = lock.write();
        work(TURN);
    });
    observe("sleeps of 15 writers", sleeps, MOST);
}

/// `notify_all` with the mutex locked wakes one thread for it. The others sleep on until
/// the one before them has had the mutex: all at once, they would only sleep again there.
#[test]
#[ignore = "observes the scheduler"]
fn notifying_all_wakes_one_thread_at_a_time() {
    const THREADS: usize = 8;
    let (waiting, condvar) = (Mutex::new(0), Condvar::new());
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            let (tell, waiting, condvar) = (tell.clone(), &waiting, &condvar);
            scope.spawn(move || {
                let mut waiting = waiting.lock();
                *waiting += 1;
                tell.send(ThreadName::current()).unwrap();
                condvar.wait(&mut waiting);
            });
        }
        let names: Vec<ThreadName> = told.iter().take(THREADS).collect();
        eventually(|| *waiting.lock() == THREADS);
        let guard = waiting.lock();
        names.iter().for_each(ThreadName::until_asleep_for_good);
        let sleeps = || names.iter().map(|name| name.sleeps().unwrap());
        let before: Vec<u64> = sleeps().collect();
        assert_eq!(condvar.notify_all(), THREADS);
        // A thread that was woken finds the mutex locked, and sleeps again.
        thread::sleep(2 * A_WHILE);
        let woken = before
            .iter()
            .zip(sleeps())
            .filter(|(before, now)| *before != now);
        let woken = woken.count();
        drop(guard);
        observe("threads that notify_all wakes at once", woken, 1);
    });
}
