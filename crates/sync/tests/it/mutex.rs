//! `Mutex`: the behaviour that users of `parking_lot`'s expect.

use blitz_io_sync::thread::{
    ArcMutexGuard, MappedMutexGuard, Mutex, MutexGuard, RawMutex, const_mutex,
};
use blitz_io_testing::threads::{A_WHILE, PATIENCE, Watchdog, elsewhere, eventually, is_stuck};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const THREADS: usize = 8;

/// Counts how many of it have been dropped.
struct Dropped<'a>(&'a AtomicUsize);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn one_thread_at_a_time() {
    static TOTAL: Mutex<u64> = Mutex::new(0);
    const TURNS: u64 = 20_000;
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
    assert_eq!(*TOTAL.lock(), THREADS as u64 * TURNS);
}

#[test]
fn can_be_made_in_constants() {
    #[allow(clippy::declare_interior_mutable_const, reason = "a new one each time")]
    const EMPTY: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    static NAMED: Mutex<&str> = const_mutex("name");
    static MANY: [Mutex<u8>; 3] = [const { Mutex::new(7) }; 3];
    let made = EMPTY;
    made.lock().push(1);
    assert_eq!(made.into_inner(), [1]);
    assert_eq!(*NAMED.lock(), "name");
    assert!(MANY.iter().all(|one| *one.lock() == 7));
}

#[test]
fn holds_a_value() {
    let mut mutex = Mutex::new(String::from("a"));
    mutex.get_mut().push('b');
    mutex.lock().push('c');
    assert_eq!(mutex.into_inner(), "abc");
    assert_eq!(*Mutex::<u32>::default().lock(), 0);
    assert_eq!(*Mutex::from(5).lock(), 5);
    let pointer = Mutex::new(8);
    // SAFETY: no other thread knows the mutex.
    assert_eq!(unsafe { *pointer.data_ptr() }, 8);
}

#[test]
fn the_value_is_dropped_once() {
    let dropped = AtomicUsize::new(0);
    let mutex = Mutex::new(Dropped(&dropped));
    drop(mutex.lock());
    let value = mutex.into_inner();
    assert_eq!(dropped.load(Ordering::Relaxed), 0);
    drop(value);
    assert_eq!(dropped.load(Ordering::Relaxed), 1);

    drop(Mutex::new(Dropped(&dropped)));
    assert_eq!(dropped.load(Ordering::Relaxed), 2);

    let mutex = Mutex::new(Dropped(&dropped));
    *mutex.lock() = Dropped(&dropped);
    assert_eq!(dropped.load(Ordering::Relaxed), 3);
    drop(mutex);
    assert_eq!(dropped.load(Ordering::Relaxed), 4);
}

#[test]
fn try_lock_never_waits() {
    let mutex = Mutex::new(0);
    assert!(!mutex.is_locked());
    let guard = mutex.try_lock().unwrap();
    assert!(mutex.is_locked());
    assert!(mutex.try_lock().is_none());
    assert!(elsewhere(|| mutex.try_lock().is_none()));
    drop(guard);
    assert!(!mutex.is_locked());
    assert!(elsewhere(|| mutex.try_lock().is_some()));
}

#[test]
fn lock_waits_for_the_owner() {
    let _dog = Watchdog::new("lock_waits_for_the_owner");
    let mutex = Mutex::new(1);
    let mut guard = mutex.lock();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| *mutex.lock());
        assert!(is_stuck(&waiter));
        *guard = 2;
        drop(guard);
        assert_eq!(waiter.join().unwrap(), 2);
    });
}

#[test]
fn everybody_who_sleeps_is_served() {
    let _dog = Watchdog::new("everybody_who_sleeps_is_served");
    let mutex = Mutex::new(0);
    for _ in 0..20 {
        let guard = mutex.lock();
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| *mutex.lock() += 1);
            }
            thread::sleep(Duration::from_millis(3));
            drop(guard);
        });
    }
    assert_eq!(mutex.into_inner(), 20 * THREADS);
}

#[test]
fn a_panic_does_not_poison() {
    let mutex = Arc::new(Mutex::new(1));
    let other = mutex.clone();
    let panicked = thread::spawn(move || {
        let mut guard = other.lock();
        *guard = 2;
        panic!("on purpose");
    });
    panicked.join().unwrap_err();
    assert!(!mutex.is_locked());
    assert_eq!(*mutex.lock(), 2);
}

#[test]
fn usable_while_unwinding() {
    struct AddOne<'a>(&'a Mutex<i32>);
    impl Drop for AddOne<'_> {
        fn drop(&mut self) {
            *self.0.lock() += 1;
        }
    }
    let mutex = Mutex::new(1);
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let _add = AddOne(&mutex);
        panic!("on purpose");
    }));
    assert_eq!(*mutex.lock(), 2);
}

#[test]
fn unsized_values() {
    let numbers: &Mutex<[i32]> = &Mutex::new([1, 2, 3]);
    numbers.lock()[1] = 7;
    assert_eq!(*numbers.lock(), [1, 7, 3]);
    let call: Box<Mutex<dyn FnMut() -> i32 + Send>> = Box::new(Mutex::new(|| 5));
    assert_eq!((*call.lock())(), 5);
    let shared: Arc<Mutex<dyn std::fmt::Debug>> = Arc::new(Mutex::new("text"));
    assert_eq!(format!("{:?}", &*shared.lock()), "\"text\"");
}

#[test]
fn debug_and_display() {
    let mutex = Mutex::new(5);
    assert_eq!(format!("{mutex:?}"), "Mutex { data: 5 }");
    let guard = mutex.lock();
    assert_eq!(format!("{mutex:?}"), "Mutex { data: <locked> }");
    assert_eq!(format!("{guard:?} {guard}"), "5 5");
    let mapped = MutexGuard::map(guard, |value| value);
    assert_eq!(format!("{mapped:?} {mapped}"), "5 5");
}

#[test]
fn a_part_of_the_value() {
    let mutex = Mutex::new((1, [2, 3]));
    {
        let mut second = MutexGuard::map(mutex.lock(), |value| &mut value.1);
        assert!(mutex.is_locked() && mutex.try_lock().is_none());
        second[0] = 20;
        let mut last = MappedMutexGuard::map(second, |array| &mut array[1]);
        *last = 30;
        assert!(mutex.is_locked());
    }
    assert!(!mutex.is_locked());
    assert_eq!(*mutex.lock(), (1, [20, 30]));
    MappedMutexGuard::unlock_fair(MutexGuard::map(mutex.lock(), |value| &mut value.0));
    assert!(!mutex.is_locked());
}

#[test]
fn a_part_that_may_be_missing() {
    let mutex = Mutex::new(vec![1]);
    let Err(mut whole) = MutexGuard::try_map(mutex.lock(), |value| value.get_mut(1)) else {
        panic!("there is no second one");
    };
    assert!(mutex.is_locked());
    whole.push(2);
    let Ok(second) = MutexGuard::try_map(whole, |value| value.get_mut(1)) else {
        panic!("now there is one");
    };
    let Err(second) = MappedMutexGuard::try_map(second, |_| None::<&mut i32>) else {
        panic!("`None` is no part");
    };
    assert_eq!(*second, 2);
    assert!(mutex.is_locked());
    drop(second);
    assert!(!mutex.is_locked());
}

#[test]
fn a_map_that_panics_releases() {
    let mutex = Mutex::new(1);
    let result = catch_unwind(AssertUnwindSafe(|| {
        drop(MutexGuard::map(mutex.lock(), |_| -> &mut i32 {
            panic!("on purpose")
        }));
    }));
    assert!(result.is_err());
    assert!(!mutex.is_locked());
}

#[test]
fn unlocked_lets_others_in() {
    let mutex = Mutex::new(1);
    let mut guard = mutex.lock();
    let result = MutexGuard::unlocked(&mut guard, || {
        *mutex.lock() += 1;
        elsewhere(|| *mutex.lock() += 1);
        "result"
    });
    assert_eq!((result, *guard), ("result", 3));
    assert!(mutex.is_locked());
    MutexGuard::unlocked_fair(&mut guard, || elsewhere(|| *mutex.lock() += 1));
    assert_eq!(*guard, 4);
    assert!(mutex.is_locked());
}

#[test]
fn unlocked_locks_again_after_a_panic() {
    let mutex = Mutex::new(1);
    let mut guard = mutex.lock();
    let result = catch_unwind(AssertUnwindSafe(|| {
        MutexGuard::unlocked(&mut guard, || panic!("on purpose"));
    }));
    assert!(result.is_err());
    assert!(mutex.is_locked());
    *guard += 1;
    drop(guard);
    assert_eq!(mutex.into_inner(), 2);
}

#[test]
fn bump_keeps_what_nobody_wants() {
    let mutex = Mutex::new(1);
    let mut guard = mutex.lock();
    for _ in 0..100 {
        MutexGuard::bump(&mut guard);
        assert!(mutex.is_locked());
    }
    MutexGuard::unlock_fair(guard);
    assert!(!mutex.is_locked());
}

#[test]
fn bump_lets_a_waiter_in() {
    let _dog = Watchdog::new("bump_lets_a_waiter_in");
    let mutex = Mutex::new(false);
    let mut guard = mutex.lock();
    thread::scope(|scope| {
        scope.spawn(|| *mutex.lock() = true);
        while !*guard {
            MutexGuard::bump(&mut guard);
        }
    });
}

#[test]
fn guards_that_keep_the_mutex_alive() {
    let mutex = Arc::new(Mutex::new(1));
    let mut guard: ArcMutexGuard<RawMutex, i32> = mutex.lock_arc();
    assert!(mutex.try_lock_arc().is_none());
    assert!(mutex.try_lock_arc_for(Duration::from_millis(1)).is_none());
    assert!(mutex.try_lock_arc_until(Instant::now()).is_none());
    assert!(Arc::ptr_eq(ArcMutexGuard::mutex(&guard), &mutex));
    let weak = Arc::downgrade(&mutex);
    drop(mutex);
    *guard = 2;
    ArcMutexGuard::unlocked(&mut guard, || {
        *weak.upgrade().unwrap().lock() += 1;
    });
    ArcMutexGuard::bump(&mut guard);
    assert_eq!(*guard, 3);
    let mutex = weak.upgrade().unwrap();
    ArcMutexGuard::unlock_fair(guard);
    assert!(!mutex.is_locked());
    assert!(mutex.try_lock_arc_for(Duration::ZERO).is_some());
    drop(mutex);
    assert!(weak.upgrade().is_none());
}

#[test]
fn a_deadline_in_the_past_is_a_try() {
    let mutex = Mutex::new(0);
    let before = Instant::now();
    assert!(mutex.try_lock_until(before).is_some());
    assert!(mutex.try_lock_for(Duration::ZERO).is_some());
    let _guard = mutex.lock();
    for _ in 0..1000 {
        assert!(mutex.try_lock_until(before).is_none());
        assert!(mutex.try_lock_for(Duration::ZERO).is_none());
    }
}

#[test]
fn a_timed_wait_takes_the_time() {
    let mutex = Mutex::new(0);
    let guard = mutex.lock();
    elsewhere(|| {
        for millis in [0, 1, 2, 5, 30] {
            let timeout = Duration::from_millis(millis);
            let began = Instant::now();
            assert!(mutex.try_lock_for(timeout).is_none());
            assert!(began.elapsed() >= timeout);
            let deadline = Instant::now() + timeout;
            assert!(mutex.try_lock_until(deadline).is_none());
            assert!(Instant::now() >= deadline);
        }
    });
    drop(guard);
    assert!(!mutex.is_locked());
    assert!(mutex.try_lock().is_some());
}

#[test]
fn a_timed_wait_ends_with_the_lock() {
    let _dog = Watchdog::new("a_timed_wait_ends_with_the_lock");
    let mutex = Mutex::new(0);
    let guard = mutex.lock();
    thread::scope(|scope| {
        let waiters = [
            scope.spawn(|| *mutex.try_lock_for(PATIENCE).unwrap() += 1),
            scope.spawn(|| *mutex.try_lock_until(Instant::now() + PATIENCE).unwrap() += 1),
            scope.spawn(|| *mutex.try_lock_for(Duration::MAX).unwrap() += 1),
        ];
        thread::sleep(A_WHILE);
        assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
        drop(guard);
    });
    assert_eq!(mutex.into_inner(), 3);
}

/// The release wakes one thread. If that thread times out at that moment, another thread must be woken
/// instead.
#[test]
fn who_gives_up_passes_the_wake_up_on() {
    let _dog = Watchdog::new("who_gives_up_passes_the_wake_up_on");
    let mutex = Mutex::new(0_u32);
    for round in 0..200 {
        let guard = mutex.lock();
        let deadline = Instant::now() + Duration::from_micros(300 + 10 * (round % 100));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| drop(mutex.try_lock_until(deadline)));
            }
            let patient = scope.spawn(|| *mutex.lock() += 1);
            while Instant::now() < deadline {
                thread::yield_now();
            }
            drop(guard);
            // Overtake the woken thread.
            drop(mutex.lock());
            patient.join().unwrap();
        });
    }
    assert_eq!(mutex.into_inner(), 200);
}

#[test]
fn forgotten_guards_can_be_released_by_hand() {
    let mutex = Mutex::new(1);
    std::mem::forget(mutex.lock());
    assert!(mutex.try_lock().is_none());
    // SAFETY: this thread has the lock, and has forgotten its guard.
    unsafe { mutex.force_unlock() };
    assert!(mutex.try_lock().is_some());
    *MutexGuard::leak(mutex.lock()) = 2;
    // SAFETY: this thread has the lock, and does not use the leaked reference any more.
    unsafe { mutex.force_unlock_fair() };
    assert_eq!(*mutex.lock(), 2);
}

#[test]
fn forgotten_guards_can_be_made_again() {
    let mutex = Mutex::new(1);
    std::mem::forget(mutex.lock());
    // SAFETY: this thread has the lock, and has forgotten its guard.
    let mut guard = unsafe { mutex.make_guard_unchecked() };
    *guard = 2;
    drop(guard);
    assert_eq!(mutex.into_inner(), 2);
}

#[test]
fn a_mutex_in_a_mutex() {
    let outer = Arc::new(Mutex::new(Arc::new(Mutex::new(1))));
    let other = outer.clone();
    thread::spawn(move || *other.lock().lock() += 1)
        .join()
        .unwrap();
    assert_eq!(*outer.lock().lock(), 2);
}

/// An owner sees all that earlier owners wrote, by whatever way they got the lock.
#[test]
fn every_way_to_lock_sees_what_was_written() {
    let _dog = Watchdog::new("every_way_to_lock_sees_what_was_written");
    let mutex = Arc::new(Mutex::new(vec![0_u32]));
    let grow = |mut values: MutexGuard<'_, Vec<u32>>| {
        let next = values.last().unwrap() + 1;
        values.push(next);
    };
    thread::scope(|scope| {
        for way in 0..4 {
            let mutex = &mutex;
            scope.spawn(move || {
                let mut done = 0;
                while done < 500 {
                    let guard = match way {
                        0 => Some(mutex.lock()),
                        1 => mutex.try_lock(),
                        2 => mutex.try_lock_for(Duration::from_micros(50)),
                        _ => mutex.try_lock_until(Instant::now()),
                    };
                    match guard {
                        Some(guard) => {
                            grow(guard);
                            done += 1;
                        }
                        None => thread::yield_now(),
                    }
                }
            });
        }
    });
    let values = mutex.lock();
    assert!(values.iter().copied().eq(0..=2000));
}

#[test]
fn is_locked_is_seen_elsewhere() {
    let mutex = Mutex::new(());
    thread::scope(|scope| {
        let guard = mutex.lock();
        scope.spawn(|| eventually(|| !mutex.is_locked()));
        thread::sleep(Duration::from_millis(1));
        assert!(mutex.is_locked());
        drop(guard);
    });
}

#[cfg(feature = "send_guard")]
#[test]
fn another_thread_may_release() {
    let mutex = Mutex::new(1);
    let mut guard = mutex.lock();
    *guard = 2;
    elsewhere(move || drop(guard));
    assert_eq!(*mutex.try_lock().unwrap(), 2);
    let mapped = MutexGuard::map(mutex.lock(), |value| value);
    elsewhere(move || MappedMutexGuard::unlock_fair(mapped));
    assert!(!mutex.is_locked());
}
