//! `Condvar`: the behaviour that users of `parking_lot`'s expect; waits end neither without a
//! reason nor out of turn.

use blitz_io_testing::threads;

use blitz_io_sync::thread::{Condvar, FairMutex, Mutex, MutexGuard};
use blitz_io_testing::threads::{PATIENCE, Watchdog, elsewhere, eventually};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Counts the threads that have begun to wait: each adds one with the mutex
/// locked, and releases it by waiting.
fn until_waiting(count: &Mutex<usize>, threads: usize) {
    eventually(|| *count.lock() == threads);
}

#[test]
fn nobody_waits() {
    static CONDVAR: Condvar = Condvar::new();
    assert!(!CONDVAR.notify_one());
    assert_eq!(CONDVAR.notify_all(), 0);
    assert!(!Condvar::default().notify_one());
    assert!(format!("{CONDVAR:?}").starts_with("Condvar"));
}

#[test]
fn a_notification_without_a_waiter_is_gone() {
    let condvar = Condvar::new();
    let mutex = Mutex::new(());
    assert!(!condvar.notify_one());
    assert_eq!(condvar.notify_all(), 0);
    let result = condvar.wait_for(&mut mutex.lock(), Duration::from_millis(2));
    assert!(result.timed_out());
}

#[test]
fn waiting_releases_the_mutex() {
    let _dog = Watchdog::new("waiting_releases_the_mutex");
    let condvar = Condvar::new();
    let mutex = Mutex::new(1);
    thread::scope(|scope| {
        let mut guard = mutex.lock();
        scope.spawn(|| {
            *mutex.lock() = 2;
            assert!(condvar.notify_one());
        });
        condvar.wait(&mut guard);
        assert!(mutex.is_locked());
        assert_eq!(*guard, 2);
    });
}

#[test]
fn one_notification_ends_one_wait() {
    const THREADS: usize = 6;
    let _dog = Watchdog::new("one_notification_ends_one_wait");
    let condvar = Condvar::new();
    let waiting = Mutex::new(0);
    let woken = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut guard = waiting.lock();
                *guard += 1;
                condvar.wait(&mut guard);
                woken.fetch_add(1, Ordering::Relaxed);
            });
        }
        until_waiting(&waiting, THREADS);
        for expected in 1..=THREADS {
            assert!(condvar.notify_one());
            eventually(|| woken.load(Ordering::Relaxed) == expected);
            thread::sleep(Duration::from_millis(2));
            assert_eq!(woken.load(Ordering::Relaxed), expected);
        }
        assert!(!condvar.notify_one());
    });
}

#[test]
fn all_are_notified_and_counted() {
    const THREADS: usize = 6;
    let _dog = Watchdog::new("all_are_notified_and_counted");
    let condvar = Condvar::new();
    let waiting = Mutex::new(0);
    for _ in 0..20 {
        *waiting.lock() = 0;
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let mut guard = waiting.lock();
                    *guard += 1;
                    condvar.wait(&mut guard);
                });
            }
            until_waiting(&waiting, THREADS);
            assert_eq!(condvar.notify_all(), THREADS);
            assert_eq!(condvar.notify_all(), 0);
        });
    }
}

#[test]
fn first_come_first_served() {
    const THREADS: usize = 8;
    let _dog = Watchdog::new("first_come_first_served");
    let condvar = Condvar::new();
    let waiting = Mutex::new(0);
    let order = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut guard = waiting.lock();
                let place = *guard;
                *guard += 1;
                condvar.wait(&mut guard);
                order.lock().push(place);
            });
        }
        until_waiting(&waiting, THREADS);
        for served in 1..=THREADS {
            assert!(condvar.notify_one());
            eventually(|| order.lock().len() == served);
        }
    });
    assert!(order.lock().iter().copied().eq(0..THREADS));
}

#[test]
fn no_wait_ends_for_no_reason() {
    let condvar = Condvar::new();
    let mutex = Mutex::new(());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for millis in 0..20 {
                    let timeout = Duration::from_millis(millis % 5);
                    let mut guard = mutex.lock();
                    let began = Instant::now();
                    assert!(condvar.wait_for(&mut guard, timeout).timed_out());
                    assert!(began.elapsed() >= timeout);
                    let deadline = Instant::now() + timeout;
                    assert!(condvar.wait_until(&mut guard, deadline).timed_out());
                    assert!(Instant::now() >= deadline);
                }
            });
        }
    });
}

#[test]
fn deadlines_in_the_past() {
    let condvar = Condvar::new();
    let mutex = Mutex::new(1);
    let mut guard = mutex.lock();
    let past = Instant::now();
    for _ in 0..300 {
        assert!(condvar.wait_until(&mut guard, past).timed_out());
        assert!(condvar.wait_for(&mut guard, Duration::ZERO).timed_out());
        let result = condvar.wait_while_until(&mut guard, |value| *value == 1, past);
        assert!(result.timed_out());
        // It did not have to wait.
        let result = condvar.wait_while_until(&mut guard, |value| *value == 2, past);
        assert!(!result.timed_out());
    }
    assert!(mutex.is_locked());
    assert!(!condvar.notify_one());
}

#[test]
fn timed_waits_that_are_notified() {
    let _dog = Watchdog::new("timed_waits_that_are_notified");
    let condvar = Condvar::new();
    let waiting = Mutex::new(0);
    let wait = |wait: &(dyn Fn(&mut MutexGuard<'_, usize>) -> bool + Sync)| {
        let mut guard = waiting.lock();
        *guard += 1;
        assert!(!wait(&mut guard), "timed out");
    };
    thread::scope(|scope| {
        scope.spawn(|| wait(&|guard| condvar.wait_for(guard, PATIENCE).timed_out()));
        scope.spawn(|| wait(&|guard| condvar.wait_for(guard, Duration::MAX).timed_out()));
        scope.spawn(|| {
            wait(&|guard| {
                let deadline = Instant::now() + PATIENCE;
                condvar.wait_until(guard, deadline).timed_out()
            });
        });
        scope.spawn(|| {
            wait(&|guard| {
                let result = condvar.wait_while_for(guard, |n| *n < 100, Duration::MAX);
                result.timed_out()
            });
        });
        until_waiting(&waiting, 4);
        *waiting.lock() += 100;
        assert_eq!(condvar.notify_all(), 4);
    });
}

#[test]
fn wait_while_looks_first_and_again() {
    let _dog = Watchdog::new("wait_while_looks_first_and_again");
    let condvar = Condvar::new();
    let value = Mutex::new(0);
    let mut guard = value.lock();
    condvar.wait_while(&mut guard, |value| *value != 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..50 {
                *value.lock() += 1;
                condvar.notify_one();
                thread::yield_now();
            }
        });
        let mut looks = 0;
        condvar.wait_while(&mut guard, |value| {
            looks += 1;
            *value < 50
        });
        assert_eq!(*guard, 50);
        assert!((2..=51).contains(&looks), "{looks}");
        // The condition may change the value.
        condvar.wait_while(&mut guard, |value| {
            *value += 1;
            *value < 0
        });
        assert_eq!(*guard, 51);
    });
}

#[test]
fn wait_while_gives_up_at_the_deadline() {
    let condvar = Condvar::new();
    let value = Mutex::new(0);
    let timeout = Duration::from_millis(15);
    let began = Instant::now();
    thread::scope(|scope| {
        let mut guard = value.lock();
        // Notifications do not make the time begin again.
        scope.spawn(|| {
            while began.elapsed() < 3 * timeout {
                condvar.notify_all();
                thread::sleep(Duration::from_millis(1));
            }
        });
        let result = condvar.wait_while_for(&mut guard, |value| *value == 0, timeout);
        assert!(result.timed_out() && began.elapsed() >= timeout);
        let result = condvar.wait_while_until(&mut guard, |value| *value == 0, began + timeout);
        assert!(result.timed_out());
    });
}

#[test]
fn several_mutexes_and_a_fair_one() {
    let _dog = Watchdog::new("several_mutexes_and_a_fair_one");
    let condvar = Condvar::new();
    let one = Mutex::new(0);
    let two = Mutex::new(0);
    let fair = FairMutex::new(0);
    thread::scope(|scope| {
        for mutex in [&one, &two] {
            let condvar = &condvar;
            scope.spawn(move || {
                let mut guard = mutex.lock();
                *guard += 1;
                condvar.wait(&mut guard);
            });
            until_waiting(mutex, 1);
        }
        scope.spawn(|| {
            let mut guard = fair.lock();
            *guard += 1;
            condvar.wait(&mut guard);
        });
        eventually(|| *fair.lock() == 1);
        assert_eq!(condvar.notify_all(), 3);
    });
}

/// Every notification that says it found a waiter ends exactly one wait, also
/// when waiters run out of time at that very moment.
#[test]
fn a_waiter_whose_time_is_up_takes_no_notification() {
    let _dog = Watchdog::new("a_waiter_whose_time_is_up_takes_no_notification");
    let condvar = Condvar::new();
    let mutex = Mutex::new(());
    let ended = AtomicUsize::new(0);
    let working = AtomicUsize::new(4);
    let mut sent = 0;
    thread::scope(|scope| {
        for thread in 0..4 {
            let (condvar, mutex, ended, working) = (&condvar, &mutex, &ended, &working);
            scope.spawn(move || {
                for turn in 0..1500 {
                    let timeout = Duration::from_micros(turn % 97 + thread * 13);
                    if !condvar.wait_for(&mut mutex.lock(), timeout).timed_out() {
                        ended.fetch_add(1, Ordering::Relaxed);
                    }
                }
                working.fetch_sub(1, Ordering::Relaxed);
            });
        }
        let mut turn = 0_u32;
        while working.load(Ordering::Relaxed) > 0 {
            turn += 1;
            sent += match turn % 8 {
                0 => condvar.notify_all(),
                _ => usize::from(condvar.notify_one()),
            };
            threads::work(Duration::from_micros(u64::from(turn % 40)));
        }
    });
    assert_eq!(ended.load(Ordering::Relaxed), sent);
    assert!(!condvar.notify_one());
}

#[test]
fn ping_pong() {
    const TURNS: u32 = 2000;
    let _dog = Watchdog::new("ping_pong");
    let condvar = Condvar::new();
    let turn = Mutex::new(0_u32);
    let play = |mine: u32| {
        let mut guard = turn.lock();
        while *guard < TURNS {
            condvar.wait_while(&mut guard, |turn| *turn % 2 != mine && *turn < TURNS);
            *guard += 1;
            condvar.notify_one();
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| play(0));
        play(1);
    });
    assert!(*turn.lock() >= TURNS);
}

/// Several threads notify at once, and no waiter is left behind.
#[test]
fn permits_are_handed_out() {
    const THREADS: usize = 4;
    const PERMITS: usize = 1000;
    let _dog = Watchdog::new("permits_are_handed_out");
    let permits = Mutex::new(0);
    let condvar = Condvar::new();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..PERMITS {
                    *permits.lock() += 1;
                    condvar.notify_one();
                }
            });
            scope.spawn(|| {
                for _ in 0..PERMITS {
                    let mut guard = permits.lock();
                    condvar.wait_while(&mut guard, |permits| *permits == 0);
                    *guard -= 1;
                }
            });
        }
    });
    assert_eq!(permits.into_inner(), 0);
}

#[test]
fn a_condition_that_panics() {
    let condvar = Condvar::new();
    let mutex = Mutex::new(1);
    let result = catch_unwind(AssertUnwindSafe(|| {
        condvar.wait_while(&mut mutex.lock(), |_| panic!("on purpose"));
    }));
    assert!(result.is_err());
    assert!(!mutex.is_locked());
    assert!(!condvar.notify_one());
    let result = condvar.wait_for(&mut mutex.lock(), Duration::from_millis(1));
    assert!(result.timed_out());
}

#[test]
fn the_condvar_may_go_when_its_waiters_have_been_notified() {
    let _dog = Watchdog::new("the_condvar_may_go_when_its_waiters_have_been_notified");
    for _ in 0..200 {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let other = shared.clone();
        let waiter = thread::spawn(move || {
            let (mutex, condvar) = &*other;
            condvar.wait_while(&mut mutex.lock(), |ready| !*ready);
        });
        *shared.0.lock() = true;
        shared.1.notify_all();
        drop(shared);
        waiter.join().unwrap();
    }
}

#[test]
fn results_can_be_compared() {
    let condvar = Condvar::new();
    let mutex = Mutex::new(());
    let mut guard = mutex.lock();
    let result = condvar.wait_for(&mut guard, Duration::ZERO);
    let same = condvar.wait_until(&mut guard, Instant::now());
    assert_eq!(result, same);
    assert_eq!(format!("{result:?}"), "WaitTimeoutResult(true)");
    drop(guard);
    elsewhere(|| assert!(mutex.try_lock().is_some()));
}
