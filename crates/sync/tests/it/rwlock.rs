//! `RwLock`: readers and writers. Upgradable readers are in `rwlock_upgrade.rs`.

use blitz_io_sync::thread::{
    MappedRwLockReadGuard, MappedRwLockWriteGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
    const_rwlock,
};
use blitz_io_testing::threads::{
    A_WHILE, PATIENCE, Random, Watchdog, elsewhere, eventually, is_stuck, sleeping,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// A writer that adds one and sleeps in the lock by the time this returns.
fn sleeping_writer<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    lock: &'env RwLock<u32>,
) -> ScopedJoinHandle<'scope, ()> {
    sleeping(scope, || *lock.write() += 1)
}

#[test]
fn readers_share() {
    let _dog = Watchdog::new("readers_share");
    let lock = RwLock::new(3);
    let all_inside = Barrier::new(4);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let guard = lock.read();
                all_inside.wait();
                assert_eq!(*guard, 3);
            });
        }
    });
    let (_one, _two) = (lock.read(), lock.try_read().unwrap());
    assert!(lock.is_locked() && !lock.is_locked_exclusive());
    assert!(lock.try_write().is_none());
    assert!(elsewhere(|| lock.try_write().is_none()));
}

#[test]
fn a_writer_is_alone() {
    let _dog = Watchdog::new("a_writer_is_alone");
    let lock = RwLock::new(1);
    let mut guard = lock.write();
    assert!(lock.is_locked() && lock.is_locked_exclusive());
    assert!(lock.try_read().is_none() && lock.try_write().is_none());
    assert!(lock.try_read_recursive().is_none());
    assert!(lock.try_upgradable_read().is_none());
    thread::scope(|scope| {
        let reader = scope.spawn(|| *lock.read());
        let writer = scope.spawn(|| drop(lock.write()));
        assert!(is_stuck(&reader) && is_stuck(&writer));
        *guard = 2;
        drop(guard);
        assert_eq!(reader.join().unwrap(), 2);
    });
    assert!(!lock.is_locked());
}

#[test]
fn a_writer_waits_for_readers() {
    let _dog = Watchdog::new("a_writer_waits_for_readers");
    let lock = RwLock::new(1);
    // blitz-lint: allow(lock-order): the writer begins after both reads
    let (one, two) = (lock.read(), lock.read());
    thread::scope(|scope| {
        let writer = sleeping_writer(scope, &lock);
        drop(two);
        assert!(is_stuck(&writer));
        assert_eq!(*one, 1);
        drop(one);
        writer.join().unwrap();
    });
    assert_eq!(lock.into_inner(), 2);
}

#[test]
fn a_waiting_writer_keeps_new_readers_out() {
    let _dog = Watchdog::new("a_waiting_writer_keeps_new_readers_out");
    let lock = RwLock::new(1);
    let guard = lock.read();
    thread::scope(|scope| {
        let writer = sleeping_writer(scope, &lock);
        assert!(lock.try_read().is_none());
        assert!(lock.try_read_for(Duration::ZERO).is_none());
        // A thread that reads already may read again.
        assert_eq!(*lock.read_recursive(), 1);
        assert_eq!(*lock.try_read_recursive().unwrap(), 1);
        assert!(lock.try_read_recursive_for(A_WHILE).is_some());
        assert!(lock.try_read_recursive_until(Instant::now()).is_some());
        assert!(!writer.is_finished());
        drop(guard);
        writer.join().unwrap();
        assert_eq!(*lock.try_read().unwrap(), 2);
    });
}

#[test]
fn a_recursive_reader_waits_for_a_writer_inside() {
    let _dog = Watchdog::new("a_recursive_reader_waits_for_a_writer_inside");
    let lock = RwLock::new(1);
    let mut guard = lock.write();
    elsewhere(|| {
        assert!(
            lock.try_read_recursive_for(Duration::from_millis(3))
                .is_none()
        );
        assert!(lock.try_read_recursive_until(Instant::now()).is_none());
    });
    thread::scope(|scope| {
        let reader = sleeping(scope, || *lock.read_recursive());
        *guard = 2;
        drop(guard);
        assert_eq!(reader.join().unwrap(), 2);
    });
    assert!(!lock.is_locked());
}

#[test]
fn all_sleeping_readers_are_let_in_together() {
    let _dog = Watchdog::new("all_sleeping_readers_are_let_in_together");
    let lock = RwLock::new(1);
    let all_inside = Barrier::new(4);
    thread::scope(|scope| {
        let guard = lock.write();
        for _ in 0..4 {
            sleeping(scope, || {
                let _guard = lock.read();
                all_inside.wait();
            });
        }
        drop(guard);
    });
}

#[test]
fn a_writer_that_gives_up_lets_readers_in() {
    let _dog = Watchdog::new("a_writer_that_gives_up_lets_readers_in");
    let lock = RwLock::new(1);
    let first = lock.read();
    for _ in 0..20 {
        thread::scope(|scope| {
            let writer = scope.spawn(|| lock.try_write_for(Duration::from_millis(5)).is_some());
            let readers = [(); 3].map(|()| scope.spawn(|| *lock.read()));
            assert!(!writer.join().unwrap());
            for reader in readers {
                assert_eq!(reader.join().unwrap(), 1);
            }
        });
        assert!(!lock.is_locked_exclusive());
        assert!(lock.try_read().is_some());
    }
    drop(first);
    assert!(lock.try_write().is_some());
}

#[test]
fn a_reader_that_gives_up_leaves_no_trace() {
    let lock = RwLock::new(1);
    for round in 0..100 {
        let guard = lock.write();
        let timeout = Duration::from_micros(round * 30);
        elsewhere(|| assert!(lock.try_read_for(timeout).is_none()));
        elsewhere(|| assert!(lock.try_read_recursive_for(timeout).is_none()));
        drop(guard);
        assert!(!lock.is_locked());
        assert!(lock.try_write().is_some());
    }
}

#[test]
fn deadlines_in_the_past_are_tries() {
    let lock = RwLock::new(1);
    let past = Instant::now();
    assert!(lock.try_read_until(past).is_some());
    assert!(lock.try_write_until(past).is_some());
    assert!(lock.try_write_for(Duration::ZERO).is_some());
    let reader = lock.read();
    for _ in 0..300 {
        assert!(lock.try_write_until(past).is_none());
        assert!(lock.try_write_for(Duration::ZERO).is_none());
    }
    drop(reader);
    let _writer = lock.write();
    for _ in 0..300 {
        assert!(lock.try_read_until(past).is_none());
        assert!(lock.try_read_for(Duration::ZERO).is_none());
        assert!(lock.try_write_until(past).is_none());
    }
}

#[test]
fn timed_waits_take_the_time() {
    let lock = RwLock::new(1);
    let takes = |timeout: Duration, f: &dyn Fn(Instant) -> bool| {
        let began = Instant::now();
        assert!(!f(began + timeout));
        assert!(began.elapsed() >= timeout);
    };
    for millis in [0, 1, 2, 20] {
        let timeout = Duration::from_millis(millis);
        let guard = lock.write();
        takes(timeout, &|until| lock.try_read_until(until).is_some());
        takes(timeout, &|until| lock.try_write_until(until).is_some());
        takes(timeout, &|_| lock.try_read_for(timeout).is_some());
        takes(timeout, &|_| lock.try_write_for(timeout).is_some());
        drop(guard);
        let guard = lock.read();
        takes(timeout, &|until| lock.try_write_until(until).is_some());
        drop(guard);
        assert!(!lock.is_locked());
    }
}

#[test]
fn timed_waits_end_with_the_lock() {
    let _dog = Watchdog::new("timed_waits_end_with_the_lock");
    let lock = RwLock::new(1);
    let guard = lock.write();
    thread::scope(|scope| {
        let threads = [
            scope.spawn(|| *lock.try_read_for(PATIENCE).unwrap()),
            scope.spawn(|| *lock.try_read_for(Duration::MAX).unwrap()),
            scope.spawn(|| *lock.try_read_until(Instant::now() + PATIENCE).unwrap()),
            scope.spawn(|| *lock.try_write_for(PATIENCE).unwrap()),
            scope.spawn(|| *lock.try_write_for(Duration::MAX).unwrap()),
            scope.spawn(|| *lock.try_write_until(Instant::now() + PATIENCE).unwrap()),
            scope.spawn(|| *lock.try_read_recursive_for(Duration::MAX).unwrap()),
        ];
        thread::sleep(A_WHILE);
        assert!(threads.iter().all(|thread| !thread.is_finished()));
        drop(guard);
        assert!(
            threads
                .into_iter()
                .all(|thread| thread.join().unwrap() == 1)
        );
    });
    let guard = lock.read();
    thread::scope(|scope| {
        let writer = sleeping(scope, || drop(lock.try_write_for(Duration::MAX).unwrap()));
        drop(guard);
        writer.join().unwrap();
    });
}

#[test]
fn from_writer_to_reader() {
    let _dog = Watchdog::new("from_writer_to_reader");
    let lock = RwLock::new(1);
    thread::scope(|scope| {
        let mut guard = lock.write();
        let other_writer = sleeping_writer(scope, &lock);
        *guard = 10;
        let guard = RwLockWriteGuard::downgrade(guard);
        // The other writer has not been in between, and is not in now.
        assert_eq!(*guard, 10);
        assert!(is_stuck(&other_writer));
        assert_eq!(*guard, 10);
        drop(guard);
    });
    assert_eq!(lock.into_inner(), 11);
}

#[test]
fn downgrading_wakes_readers() {
    let _dog = Watchdog::new("downgrading_wakes_readers");
    let lock = RwLock::new(1);
    thread::scope(|scope| {
        let guard = lock.write();
        let reader = sleeping(scope, || *lock.read());
        let _guard = RwLockWriteGuard::downgrade(guard);
        reader.join().unwrap();
    });
}

#[test]
fn holds_a_value() {
    static STATIC: RwLock<u32> = RwLock::new(1);
    static NAMED: RwLock<&str> = const_rwlock("name");
    *STATIC.write() += 1;
    assert_eq!((*STATIC.read(), *NAMED.read()), (2, "name"));
    let mut lock = RwLock::new(String::from("a"));
    lock.get_mut().push('b');
    assert_eq!(lock.into_inner(), "ab");
    assert_eq!(*RwLock::<u32>::default().read(), 0);
    assert_eq!(*RwLock::from(5).read(), 5);
    let numbers: &RwLock<[i32]> = &RwLock::new([1, 2]);
    numbers.write()[1] = 7;
    assert_eq!(*numbers.read(), [1, 7]);
    let text: Arc<RwLock<dyn std::fmt::Display + Send + Sync>> = Arc::new(RwLock::new("text"));
    assert_eq!(text.read().to_string(), "text");
}

#[test]
fn the_value_is_dropped_once() {
    struct Dropped<'a>(&'a AtomicUsize);
    impl Drop for Dropped<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let dropped = AtomicUsize::new(0);
    drop(RwLock::new(Dropped(&dropped)).into_inner());
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
    let lock = RwLock::new(Dropped(&dropped));
    drop(lock.read());
    drop(lock.write());
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
    drop(lock);
    assert_eq!(dropped.load(Ordering::Relaxed), 2);
}

#[test]
fn debug_and_display() {
    let lock = RwLock::new(5);
    assert_eq!(format!("{lock:?}"), "RwLock { data: 5 }");
    let read = lock.read();
    assert_eq!(
        format!("{lock:?} {read:?} {read}"),
        "RwLock { data: 5 } 5 5"
    );
    drop(read);
    let write = lock.write();
    assert_eq!(format!("{lock:?}"), "RwLock { data: <locked> }");
    assert_eq!(format!("{write:?} {write}"), "5 5");
}

#[test]
fn a_panic_does_not_poison() {
    let lock = RwLock::new(1);
    for _ in 0..2 {
        let result = catch_unwind(AssertUnwindSafe(|| {
            let mut guard = lock.write();
            *guard += 1;
            panic!("on purpose");
        }));
        assert!(result.is_err() && !lock.is_locked());
        let result = catch_unwind(AssertUnwindSafe(|| {
            let _guard = lock.read();
            panic!("on purpose");
        }));
        assert!(result.is_err() && !lock.is_locked());
    }
    assert_eq!(*lock.read(), 3);
}

#[test]
fn parts_of_the_value() {
    let lock = RwLock::new((1, [2, 3]));
    {
        let first = RwLockReadGuard::map(lock.read(), |value| &value.0);
        let array = RwLockReadGuard::map(lock.read(), |value| &value.1);
        let last = MappedRwLockReadGuard::map(array, |array| &array[1]);
        assert_eq!((*first, *last), (1, 3));
        assert!(lock.try_write().is_none() && lock.try_read().is_some());
    }
    {
        let array = RwLockWriteGuard::map(lock.write(), |value| &mut value.1);
        let mut last = MappedRwLockWriteGuard::map(array, |array| &mut array[1]);
        *last = 30;
        assert!(lock.try_read().is_none());
    }
    assert!(!lock.is_locked());
    let Err(whole) = RwLockReadGuard::try_map(lock.read(), |value| value.1.get(2)) else {
        panic!("there is no third one");
    };
    drop(whole);
    assert!(!lock.is_locked());
    let Ok(last) = RwLockWriteGuard::try_map(lock.write(), |value| value.1.get_mut(1)) else {
        panic!("there is a second one");
    };
    assert_eq!(*last, 30);
    MappedRwLockWriteGuard::unlock_fair(last);
    MappedRwLockReadGuard::unlock_fair(RwLockReadGuard::map(lock.read(), |value| &value.0));
    assert!(!lock.is_locked());
}

#[test]
fn unlocked_and_bump() {
    let lock = RwLock::new(1);
    let mut write = lock.write();
    RwLockWriteGuard::unlocked(&mut write, || elsewhere(|| *lock.write() += 1));
    RwLockWriteGuard::unlocked_fair(&mut write, || elsewhere(|| *lock.write() += 1));
    RwLockWriteGuard::bump(&mut write);
    assert_eq!(*write, 3);
    assert!(lock.is_locked_exclusive());
    RwLockWriteGuard::unlock_fair(write);
    let mut read = lock.read();
    RwLockReadGuard::unlocked(&mut read, || elsewhere(|| *lock.write() += 1));
    RwLockReadGuard::unlocked_fair(&mut read, || elsewhere(|| *lock.write() += 1));
    RwLockReadGuard::bump(&mut read);
    assert_eq!(*read, 5);
    assert!(lock.try_write().is_none());
    RwLockReadGuard::unlock_fair(read);
    assert!(!lock.is_locked());
}

#[test]
fn bump_lets_a_writer_in() {
    let _dog = Watchdog::new("bump_lets_a_writer_in");
    let lock = RwLock::new(0);
    thread::scope(|scope| {
        let mut read = lock.read();
        sleeping_writer(scope, &lock);
        while *read == 0 {
            RwLockReadGuard::bump(&mut read);
        }
        drop(read);
        let mut write = lock.write();
        sleeping_writer(scope, &lock);
        while *write == 1 {
            RwLockWriteGuard::bump(&mut write);
        }
    });
}

#[test]
fn guards_that_keep_the_lock_alive() {
    let lock = Arc::new(RwLock::new(1));
    let weak = Arc::downgrade(&lock);
    let read = lock.read_arc();
    assert!(lock.try_read_arc().is_some() && lock.try_write_arc().is_none());
    assert!(lock.try_write_arc_for(Duration::from_millis(1)).is_none());
    drop(lock);
    assert_eq!(*read, 1);
    let lock = weak.upgrade().unwrap();
    drop(read);
    let mut write = lock.write_arc();
    assert!(lock.try_read_arc_until(Instant::now()).is_none());
    *write = 2;
    let read = blitz_io_sync::thread::ArcRwLockWriteGuard::downgrade(write);
    assert_eq!(*read, 2);
    drop(lock);
    assert!(weak.upgrade().is_some());
    drop(read);
    assert!(weak.upgrade().is_none());
}

#[test]
fn leaked_guards_lock_for_ever() {
    let lock = RwLock::new(1);
    std::mem::forget(lock.read());
    assert!(lock.try_write().is_none() && lock.try_read().is_some());
    // SAFETY: the leaked guard's share.
    unsafe { lock.force_unlock_read() };
    std::mem::forget(lock.write());
    assert!(lock.try_read().is_none());
    // SAFETY: the leaked guard's ownership.
    unsafe { lock.force_unlock_write() };
    assert!(!lock.is_locked());
}

/// Both halves of the value are always equal for a reader, and no write is lost.
#[test]
fn readers_never_see_half_a_write() {
    let _dog = Watchdog::new("readers_never_see_half_a_write");
    const WRITES: u64 = 2000;
    let lock = RwLock::new((0_u64, 0_u64));
    thread::scope(|scope| {
        for seed in 0..4 {
            let lock = &lock;
            scope.spawn(move || {
                let mut random = Random::new(seed);
                let mut written = 0;
                while written < WRITES {
                    if random.below(4) == 0 {
                        let mut guard = lock.write();
                        guard.0 += 1;
                        guard.1 += 1;
                        written += 1;
                    } else {
                        let guard = lock.read();
                        assert_eq!(guard.0, guard.1);
                        assert!(guard.0 >= written);
                    }
                }
            });
        }
    });
    assert_eq!(lock.into_inner(), (4 * WRITES, 4 * WRITES));
}

#[test]
fn is_locked_is_seen_elsewhere() {
    let lock = RwLock::new(());
    thread::scope(|scope| {
        let guard = lock.read();
        scope.spawn(|| eventually(|| !lock.is_locked()));
        assert!(lock.is_locked());
        drop(guard);
    });
}

#[cfg(feature = "send_guard")]
#[test]
fn another_thread_may_release() {
    let lock = RwLock::new(1);
    let (one, two) = (lock.read(), lock.read());
    elsewhere(move || drop(one));
    elsewhere(move || drop(two));
    let mut guard = lock.write();
    *guard = 2;
    elsewhere(move || drop(guard));
    assert_eq!(*lock.try_read().unwrap(), 2);
}
