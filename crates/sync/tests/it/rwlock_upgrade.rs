//! `RwLock`: the upgradable reader.

use blitz_io_sync::thread::{
    ArcRwLockUpgradableReadGuard, RwLock, RwLockUpgradableReadGuard as Upgradable, RwLockWriteGuard,
};
use blitz_io_testing::threads::{
    PATIENCE, Stop, StopAtEnd, Watchdog, elsewhere, is_stuck, sleeping,
};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn shares_with_readers_only() {
    let lock = RwLock::new(1);
    let reader = lock.read();
    let guard = lock.upgradable_read();
    assert_eq!((*guard, *reader), (1, 1));
    assert!(lock.is_locked() && !lock.is_locked_exclusive());
    elsewhere(|| {
        assert_eq!(*lock.read(), 1);
        assert!(lock.try_read().is_some());
        assert!(lock.try_read_recursive().is_some());
        assert!(lock.try_upgradable_read().is_none());
        assert!(
            lock.try_upgradable_read_for(Duration::from_millis(2))
                .is_none()
        );
        assert!(lock.try_upgradable_read_until(Instant::now()).is_none());
        assert!(lock.try_write().is_none());
        assert!(lock.try_write_for(Duration::from_millis(2)).is_none());
    });
    drop((reader, guard));
    assert!(!lock.is_locked());
    assert!(lock.try_upgradable_read_for(Duration::ZERO).is_some());
    assert!(lock.try_upgradable_read_until(Instant::now()).is_some());
}

#[test]
fn becomes_the_writer_at_once_if_alone() {
    let lock = RwLock::new(1);
    let mut writer = Upgradable::upgrade(lock.upgradable_read());
    *writer = 2;
    assert!(lock.is_locked_exclusive() && lock.try_read().is_none());
    drop(writer);
    let Ok(writer) = Upgradable::try_upgrade(lock.upgradable_read()) else {
        panic!("nobody else is inside");
    };
    assert_eq!(*writer, 2);
    drop(writer);
    let Ok(writer) = Upgradable::try_upgrade_for(lock.upgradable_read(), Duration::ZERO) else {
        panic!("nobody else is inside");
    };
    drop(writer);
    let Ok(writer) = Upgradable::try_upgrade_until(lock.upgradable_read(), Instant::now()) else {
        panic!("nobody else is inside");
    };
    drop(writer);
    assert!(!lock.is_locked());
}

#[test]
fn waits_for_the_readers() {
    let _dog = Watchdog::new("waits_for_the_readers");
    let lock = RwLock::new(1);
    let reader = lock.read();
    thread::scope(|scope| {
        let upgrading = sleeping(scope, || {
            let guard = lock.upgradable_read();
            *Upgradable::upgrade(guard) += 1;
        });
        assert!(is_stuck(&upgrading));
        // It keeps new readers out now.
        assert!(lock.try_read().is_none());
        assert_eq!((*reader, *lock.read_recursive()), (1, 1));
        drop(reader);
        upgrading.join().unwrap();
    });
    assert_eq!(lock.into_inner(), 2);
}

#[test]
fn a_failed_upgrade_gives_the_guard_back() {
    let _dog = Watchdog::new("a_failed_upgrade_gives_the_guard_back");
    let lock = RwLock::new(1);
    let reader = lock.read();
    let guard = lock.upgradable_read();
    let Err(guard) = Upgradable::try_upgrade(guard) else {
        panic!("a reader is inside");
    };
    let timeout = Duration::from_millis(5);
    let began = Instant::now();
    let Err(guard) = Upgradable::try_upgrade_for(guard, timeout) else {
        panic!("a reader is inside");
    };
    assert!(began.elapsed() >= timeout);
    let Err(guard) = Upgradable::try_upgrade_until(guard, began + 2 * timeout) else {
        panic!("a reader is inside");
    };
    assert!(began.elapsed() >= 2 * timeout);
    // All is as before: only readers may enter.
    assert!(!lock.is_locked_exclusive() && lock.try_read().is_some());
    elsewhere(|| {
        assert_eq!(*lock.read(), 1);
        assert!(lock.try_upgradable_read().is_none() && lock.try_write().is_none());
    });
    drop(reader);
    *Upgradable::upgrade(guard) = 2;
    assert_eq!(lock.into_inner(), 2);
}

#[test]
fn a_failed_upgrade_lets_the_readers_in_that_it_kept_out() {
    let _dog = Watchdog::new("a_failed_upgrade_lets_the_readers_in_that_it_kept_out");
    let lock = RwLock::new(1);
    let _reader = lock.read();
    for _ in 0..20 {
        thread::scope(|scope| {
            let mut guard = lock.upgradable_read();
            let readers = [(); 3].map(|()| scope.spawn(|| *lock.read()));
            match Upgradable::try_upgrade_for(guard, Duration::from_millis(4)) {
                Ok(_) => panic!("a reader is inside"),
                Err(same) => guard = same,
            }
            for reader in readers {
                assert_eq!(reader.join().unwrap(), 1);
            }
            drop(guard);
        });
    }
}

#[test]
fn no_writer_slips_in_before_the_upgrade() {
    let _dog = Watchdog::new("no_writer_slips_in_before_the_upgrade");
    const TURNS: u32 = 1000;
    let lock = RwLock::new(0_u32);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..TURNS {
                    *lock.write() += 1;
                }
            });
            scope.spawn(|| {
                for _ in 0..TURNS {
                    let guard = lock.upgradable_read();
                    let before = *guard;
                    let mut guard = Upgradable::upgrade(guard);
                    assert_eq!(*guard, before);
                    *guard += 1;
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..TURNS {
                drop(lock.read());
            }
        });
    });
    assert_eq!(lock.into_inner(), 4 * TURNS);
}

#[test]
fn from_writer_to_upgradable_and_reader() {
    let _dog = Watchdog::new("from_writer_to_upgradable_and_reader");
    let lock = RwLock::new(1);
    thread::scope(|scope| {
        let mut writer = lock.write();
        let reader = sleeping(scope, || *lock.read());
        let other_writer = sleeping(scope, || *lock.write() += 1);
        // Longer than a reader sleeps before it counts itself as late.
        thread::sleep(Duration::from_millis(20));
        *writer = 10;
        let guard = RwLockWriteGuard::downgrade_to_upgradable(writer);
        // Readers get in, a writer does not.
        assert_eq!(reader.join().unwrap(), 10);
        assert!(is_stuck(&other_writer));
        assert!(lock.try_upgradable_read().is_none());
        let guard = Upgradable::downgrade(guard);
        assert_eq!(*guard, 10);
        assert!(is_stuck(&other_writer));
        drop(guard);
    });
    assert_eq!(lock.into_inner(), 11);
}

#[test]
fn the_next_upgradable_reader_takes_over() {
    let _dog = Watchdog::new("the_next_upgradable_reader_takes_over");
    let lock = RwLock::new(1);
    let guard = lock.upgradable_read();
    thread::scope(|scope| {
        let next = [
            sleeping(scope, || drop(lock.upgradable_read())),
            sleeping(scope, || {
                drop(lock.try_upgradable_read_for(Duration::MAX).unwrap());
            }),
            sleeping(scope, || {
                drop(
                    lock.try_upgradable_read_until(Instant::now() + PATIENCE)
                        .unwrap(),
                );
            }),
        ];
        assert!(next.iter().all(|next| !next.is_finished()));
        drop(guard);
    });
    assert!(!lock.is_locked());
}

#[test]
fn downgrading_lets_the_next_upgradable_reader_in() {
    let _dog = Watchdog::new("downgrading_lets_the_next_upgradable_reader_in");
    let lock = RwLock::new(1);
    thread::scope(|scope| {
        let guard = lock.upgradable_read();
        let next = sleeping(scope, || *lock.upgradable_read());
        let _reader = Upgradable::downgrade(guard);
        assert_eq!(next.join().unwrap(), 1);
    });
}

#[test]
fn writes_for_a_moment() {
    let lock = RwLock::new(1);
    let mut guard = lock.upgradable_read();
    Upgradable::with_upgraded(&mut guard, |value| *value = 2);
    assert_eq!(*guard, 2);
    assert_eq!(*lock.try_read().unwrap(), 2);
    assert!(Upgradable::try_with_upgraded(&mut guard, |value| *value = 3).is_some());
    let reader = lock.read();
    assert!(Upgradable::try_with_upgraded(&mut guard, |value| *value = 4).is_none());
    let timeout = Duration::from_millis(2);
    assert!(Upgradable::try_with_upgraded_for(&mut guard, timeout, |value| *value = 4).is_none());
    assert_eq!(*guard, 3);
    drop(reader);
    assert!(Upgradable::try_with_upgraded_for(&mut guard, timeout, |value| *value = 4).is_some());
    assert_eq!(format!("{guard:?} {guard}"), "4 4");
}

#[test]
fn unlocked_and_bump() {
    let lock = RwLock::new(1);
    let mut guard = lock.upgradable_read();
    Upgradable::unlocked(&mut guard, || elsewhere(|| *lock.write() += 1));
    Upgradable::unlocked_fair(&mut guard, || elsewhere(|| *lock.write() += 1));
    Upgradable::bump(&mut guard);
    assert_eq!(*guard, 3);
    assert!(lock.try_upgradable_read().is_none());
    Upgradable::unlock_fair(guard);
    assert!(!lock.is_locked());
}

#[test]
fn guards_that_keep_the_lock_alive() {
    let lock = Arc::new(RwLock::new(1));
    let weak = Arc::downgrade(&lock);
    let guard = lock.upgradable_read_arc();
    assert!(lock.try_upgradable_read_arc().is_none());
    assert!(
        lock.try_upgradable_read_arc_for(Duration::from_millis(1))
            .is_none()
    );
    drop(lock);
    let mut writer = ArcRwLockUpgradableReadGuard::upgrade(guard);
    *writer = 2;
    assert_eq!(*writer, 2);
    drop(writer);
    assert!(weak.upgrade().is_none());
}

/// One upgrades again and again with a time limit, others read: whatever the outcome, no thread
/// is left behind.
#[test]
fn hasty_upgrades_among_readers() {
    let _dog = Watchdog::new("hasty_upgrades_among_readers");
    let lock = RwLock::new((0_u32, 0_u32));
    let stop = Stop::default();
    thread::scope(|scope| {
        let upgrading = scope.spawn(|| {
            let _stop = StopAtEnd(&stop);
            let mut done = 0;
            for turn in 0..1500 {
                let guard = lock.upgradable_read();
                let timeout = Duration::from_micros(turn % 70);
                if let Ok(mut guard) = Upgradable::try_upgrade_for(guard, timeout) {
                    guard.0 += 1;
                    guard.1 += 1;
                    done += 1;
                }
            }
            done
        });
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.is_set() {
                    let outer = lock.read();
                    let inner = lock.read_recursive();
                    assert_eq!((outer.0, inner.0), (inner.1, outer.1));
                }
            });
        }
        let done = upgrading.join().unwrap();
        let value = lock.read();
        assert_eq!(*value, (done, done));
    });
    assert!(!lock.is_locked());
}
