//! `FairMutex`: all that a `Mutex` does. How fair it is, is in `fairness.rs`.

use blitz_io_sync::thread::{
    ArcFairMutexGuard, FairMutex, FairMutexGuard, MappedFairMutexGuard, const_fair_mutex,
};
use blitz_io_testing::threads::{PATIENCE, Watchdog, elsewhere, is_stuck};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn one_thread_at_a_time() {
    static TOTAL: FairMutex<u32> = const_fair_mutex(0);
    const THREADS: u32 = 6;
    const TURNS: u32 = 1000;
    let _dog = Watchdog::new("one_thread_at_a_time");
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..TURNS {
                    *TOTAL.lock() += 1;
                }
            });
        }
    });
    assert_eq!(*TOTAL.lock(), THREADS * TURNS);
}

#[test]
fn lock_and_try_lock() {
    let _dog = Watchdog::new("lock_and_try_lock");
    let mutex = FairMutex::new(1);
    let mut guard = mutex.lock();
    assert!(mutex.is_locked() && mutex.try_lock().is_none());
    thread::scope(|scope| {
        let waiter = scope.spawn(|| *mutex.lock());
        assert!(is_stuck(&waiter));
        *guard = 2;
        drop(guard);
        assert_eq!(waiter.join().unwrap(), 2);
    });
    assert!(!mutex.is_locked() && mutex.try_lock().is_some());
}

#[test]
fn timed() {
    let _dog = Watchdog::new("timed");
    let mutex = FairMutex::new(1);
    let past = Instant::now();
    assert!(mutex.try_lock_until(past).is_some());
    let guard = mutex.lock();
    let timeout = Duration::from_millis(3);
    elsewhere(|| {
        assert!(mutex.try_lock_for(Duration::ZERO).is_none());
        let began = Instant::now();
        assert!(mutex.try_lock_for(timeout).is_none());
        assert!(began.elapsed() >= timeout);
        assert!(mutex.try_lock_until(began + 2 * timeout).is_none());
        assert!(began.elapsed() >= 2 * timeout);
    });
    thread::scope(|scope| {
        let waiters = [
            scope.spawn(|| *mutex.try_lock_for(Duration::MAX).unwrap()),
            scope.spawn(|| *mutex.try_lock_for(PATIENCE).unwrap()),
        ];
        thread::sleep(timeout);
        drop(guard);
        assert!(
            waiters
                .into_iter()
                .all(|waiter| waiter.join().unwrap() == 1)
        );
    });
}

#[test]
fn who_gives_up_strands_nobody() {
    let _dog = Watchdog::new("who_gives_up_strands_nobody");
    let mutex = FairMutex::new(0_u32);
    for round in 0..100 {
        let guard = mutex.lock();
        let deadline = Instant::now() + Duration::from_micros(300 + 20 * round);
        thread::scope(|scope| {
            scope.spawn(|| drop(mutex.try_lock_until(deadline)));
            scope.spawn(|| *mutex.lock() += 1);
            while Instant::now() < deadline {
                thread::yield_now();
            }
            drop(guard);
        });
        assert!(mutex.try_lock().is_some());
    }
    assert_eq!(mutex.into_inner(), 100);
}

#[test]
fn holds_a_value() {
    let mut mutex = FairMutex::new((1, 2));
    mutex.get_mut().0 = 10;
    {
        let mut second: MappedFairMutexGuard<'_, i32> =
            FairMutexGuard::map(mutex.lock(), |value| &mut value.1);
        *second = 20;
        assert!(mutex.is_locked());
    }
    assert!(!mutex.is_locked());
    assert_eq!(format!("{mutex:?}"), "Mutex { data: (10, 20) }");
    assert_eq!(mutex.into_inner(), (10, 20));
    assert_eq!(*FairMutex::<u8>::default().lock(), 0);
    assert_eq!(*FairMutex::from(5).lock(), 5);
}

#[test]
fn guards_let_go_for_a_while() {
    let mutex = FairMutex::new(1);
    let mut guard = mutex.lock();
    FairMutexGuard::unlocked(&mut guard, || elsewhere(|| *mutex.lock() += 1));
    FairMutexGuard::unlocked_fair(&mut guard, || elsewhere(|| *mutex.lock() += 1));
    FairMutexGuard::bump(&mut guard);
    assert_eq!(*guard, 3);
    FairMutexGuard::unlock_fair(guard);
    assert!(!mutex.is_locked());
}

#[test]
fn a_guard_that_keeps_the_mutex_alive() {
    let mutex = Arc::new(FairMutex::new(1));
    let mut guard: ArcFairMutexGuard<i32> = mutex.lock_arc();
    assert!(mutex.try_lock_arc().is_none());
    let weak = Arc::downgrade(&mutex);
    drop(mutex);
    *guard = 2;
    drop(guard);
    assert!(weak.upgrade().is_none());
}

#[test]
fn a_panic_does_not_poison() {
    let mutex = Arc::new(FairMutex::new(1));
    let other = mutex.clone();
    thread::spawn(move || {
        let _guard = other.lock();
        panic!("on purpose");
    })
    .join()
    .unwrap_err();
    assert_eq!(*mutex.try_lock().unwrap(), 1);
}
