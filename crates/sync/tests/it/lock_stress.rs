//! Eight threads do everything that a lock can do, at random and with time
//! limits, and the value must add up. A lost wake-up ends in the watchdog.

use blitz_io_sync::thread::{
    Condvar, FairMutex, Mutex, MutexGuard, ReentrantMutex, ReentrantMutexGuard, RwLock,
    RwLockReadGuard, RwLockUpgradableReadGuard as Upgradable, RwLockWriteGuard,
};
use blitz_io_testing::threads::{Random, Watchdog};
use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

const THREADS: u64 = 8;
const RUN_FOR: Duration = Duration::from_millis(900);

/// A value that shows when two threads worked on it at the same time, or one missed the work of
/// another.
#[derive(Default, Debug, PartialEq)]
struct Checked {
    count: u64,
    sum: u64,
    /// Follows from `count` and `sum` at any time.
    check: u64,
}

impl Checked {
    fn mix(&self) -> u64 {
        (self.count ^ self.sum.rotate_left(17)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    /// Adds `amount` to the sum. Returns it, for the caller's count.
    fn add(&mut self, amount: u64) -> Added {
        self.look();
        self.count += 1;
        self.sum = self.sum.wrapping_add(amount);
        self.check = self.mix();
        Added(1, amount)
    }

    fn look(&self) {
        assert!(self.check == self.mix() || *self == Self::default());
    }
}

/// The number of additions, and their sum.
struct Added(u64, u64);

impl Added {
    const NOTHING: Self = Self(0, 0);
}

/// Runs `act` in all threads for a fixed time, and some times in each. Returns the sum of all
/// additions.
fn stress(act: impl Fn(&mut Random) -> Added + Sync) -> Added {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|seed| {
                let act = &act;
                scope.spawn(move || {
                    let mut random = Random::new(seed + 1);
                    let mut total = Added::NOTHING;
                    let (began, mut turns) = (Instant::now(), 0);
                    // The time may be up while another thread has a lock and no processor.
                    while turns < 100 || began.elapsed() < RUN_FOR {
                        let added = act(&mut random);
                        total.0 += added.0;
                        total.1 = total.1.wrapping_add(added.1);
                        turns += 1;
                    }
                    total
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .fold(Added::NOTHING, |a, b| {
                Added(a.0 + b.0, a.1.wrapping_add(b.1))
            })
    })
}

fn assert_adds_up(value: &Checked, added: &Added) {
    value.look();
    assert_eq!((value.count, value.sum), (added.0, added.1));
    assert!(added.0 > THREADS, "hardly anything was done");
}

/// None at all, most of the time; else about as long as a wait takes, so that
/// time-outs and wake-ups meet.
fn timeout(random: &mut Random) -> Duration {
    match random.below(4) {
        0 => Duration::ZERO,
        1 => Duration::from_micros(random.below(100)),
        2 => Duration::from_micros(random.below(1500)),
        _ => Duration::from_millis(random.below(4)),
    }
}

/// The work under the lock. Sometimes it takes long.
fn dawdle(random: &mut Random) {
    match random.below(400) {
        0 => thread::sleep(Duration::from_millis(1)),
        1..=20 => thread::yield_now(),
        _ => {}
    }
}

#[test]
fn mutex() {
    let _dog = Watchdog::new("stress of Mutex");
    let mutex = Mutex::new(Checked::default());
    let added = stress(|random| {
        let amount = random.below(1 << 40);
        let guard = match random.below(6) {
            0..=2 => Some(mutex.lock()),
            3 => mutex.try_lock(),
            4 => mutex.try_lock_for(timeout(random)),
            _ => mutex.try_lock_until(Instant::now() + timeout(random)),
        };
        let Some(mut guard) = guard else {
            return Added::NOTHING;
        };
        let added = guard.add(amount);
        dawdle(random);
        match random.below(10) {
            0 => MutexGuard::unlock_fair(guard),
            1 => MutexGuard::bump(&mut guard),
            2 => MutexGuard::unlocked(&mut guard, thread::yield_now),
            3 => drop(MutexGuard::map(guard, |value| &mut value.sum)),
            _ => {}
        }
        added
    });
    assert!(!mutex.is_locked());
    assert_adds_up(&mutex.into_inner(), &added);
}

#[test]
fn fair_mutex() {
    let _dog = Watchdog::new("stress of FairMutex");
    let mutex = FairMutex::new(Checked::default());
    let added = stress(|random| {
        let amount = random.below(1 << 40);
        let guard = match random.below(4) {
            0 | 1 => Some(mutex.lock()),
            2 => mutex.try_lock(),
            _ => mutex.try_lock_for(timeout(random)),
        };
        let Some(mut guard) = guard else {
            return Added::NOTHING;
        };
        dawdle(random);
        guard.add(amount)
    });
    assert!(!mutex.is_locked());
    assert_adds_up(&mutex.into_inner(), &added);
}

#[test]
fn reentrant_mutex() {
    let _dog = Watchdog::new("stress of ReentrantMutex");
    let mutex = ReentrantMutex::new(Cell::new((0_u64, 0_u64)));
    let added = stress(|random| {
        let amount = random.below(1 << 40);
        let guard = match random.below(3) {
            0 => Some(mutex.lock()),
            1 => mutex.try_lock(),
            _ => mutex.try_lock_for(timeout(random)),
        };
        let Some(mut guard) = guard else {
            return Added::NOTHING;
        };
        for _ in 0..random.below(4) {
            let inner = mutex.try_lock().expect("this thread has it");
            inner.set((inner.get().0, inner.get().1.wrapping_add(amount)));
            inner.set((inner.get().0, inner.get().1.wrapping_sub(amount)));
        }
        dawdle(random);
        let (count, sum) = guard.get();
        guard.set((count + 1, sum.wrapping_add(amount)));
        if random.below(10) == 0 {
            ReentrantMutexGuard::bump(&mut guard);
        }
        Added(1, amount)
    });
    assert!(!mutex.is_locked());
    assert_eq!(mutex.into_inner().get(), (added.0, added.1));
}

/// One of the ways to write.
fn write(lock: &RwLock<Checked>, random: &mut Random) -> Added {
    let amount = random.below(1 << 40);
    let guard = match random.below(4) {
        0 | 1 => Some(lock.write()),
        2 => lock.try_write(),
        _ => lock.try_write_for(timeout(random)),
    };
    let Some(mut guard) = guard else {
        return Added::NOTHING;
    };
    let added = guard.add(amount);
    dawdle(random);
    let count = guard.count;
    match random.below(6) {
        0 => RwLockWriteGuard::unlock_fair(guard),
        1 => RwLockWriteGuard::bump(&mut guard),
        2 => {
            let guard = RwLockWriteGuard::downgrade(guard);
            assert_eq!(guard.count, count, "another writer was in between");
            guard.look();
        }
        3 => {
            let guard = RwLockWriteGuard::downgrade_to_upgradable(guard);
            assert_eq!(guard.count, count, "another writer was in between");
            drop(Upgradable::downgrade(guard));
        }
        _ => {}
    }
    added
}

/// One of the ways to read.
fn read(lock: &RwLock<Checked>, random: &mut Random) {
    let guard = match random.below(6) {
        0..=2 => Some(lock.read()),
        3 => lock.try_read(),
        4 => lock.try_read_for(timeout(random)),
        _ => lock.try_read_recursive_for(timeout(random)),
    };
    let Some(mut guard) = guard else {
        return;
    };
    guard.look();
    dawdle(random);
    match random.below(8) {
        0 => {
            let again = lock.read_recursive();
            assert_eq!(*again, *guard);
        }
        1 => RwLockReadGuard::bump(&mut guard),
        _ => {}
    }
    guard.look();
}

/// One of the ways to read first and write then.
fn upgrade(lock: &RwLock<Checked>, random: &mut Random) -> Added {
    let amount = random.below(1 << 40);
    let guard = match random.below(3) {
        0 => Some(lock.upgradable_read()),
        1 => lock.try_upgradable_read(),
        _ => lock.try_upgradable_read_for(timeout(random)),
    };
    let Some(guard) = guard else {
        return Added::NOTHING;
    };
    guard.look();
    let count = guard.count;
    let upgraded = match random.below(4) {
        0 | 1 => Ok(Upgradable::upgrade(guard)),
        2 => Upgradable::try_upgrade(guard),
        _ => Upgradable::try_upgrade_for(guard, timeout(random)),
    };
    match upgraded {
        Ok(mut guard) => {
            assert_eq!(guard.count, count, "another writer was in between");
            dawdle(random);
            guard.add(amount)
        }
        Err(guard) => {
            assert_eq!(guard.count, count, "another writer was in between");
            Added::NOTHING
        }
    }
}

#[test]
fn rwlock() {
    let _dog = Watchdog::new("stress of RwLock");
    let lock = RwLock::new(Checked::default());
    let added = stress(|random| match random.below(10) {
        0..=5 => {
            read(&lock, random);
            Added::NOTHING
        }
        6 | 7 => write(&lock, random),
        _ => upgrade(&lock, random),
    });
    assert!(!lock.is_locked());
    assert_adds_up(&lock.into_inner(), &added);
}

#[test]
fn rwlock_of_writers() {
    let _dog = Watchdog::new("stress of RwLock with writers only");
    let lock = RwLock::new(Checked::default());
    let added = stress(|random| match random.below(2) {
        0 => write(&lock, random),
        _ => upgrade(&lock, random),
    });
    assert!(!lock.is_locked());
    assert_adds_up(&lock.into_inner(), &added);
}

/// A bounded queue, with waits that run out of time: every value that goes in comes out.
#[test]
fn condvar() {
    const CAPACITY: usize = 4;
    let _dog = Watchdog::new("stress of Condvar");
    let queue = Mutex::new(Vec::new());
    let (not_empty, not_full) = (Condvar::new(), Condvar::new());
    let taken = Mutex::new(Added::NOTHING);
    let take = |amount: u64| {
        let mut taken = taken.lock();
        taken.0 += 1;
        taken.1 = taken.1.wrapping_add(amount);
    };
    let put = stress(|random| {
        let mut items = queue.lock();
        if random.below(2) == 0 {
            let until = timeout(random);
            let result =
                not_full.wait_while_for(&mut items, |items| items.len() == CAPACITY, until);
            if result.timed_out() {
                return Added::NOTHING;
            }
            let amount = random.below(1 << 40);
            items.push(amount);
            not_empty.notify_one();
            return Added(1, amount);
        }
        let until = Instant::now() + timeout(random);
        let result = not_empty.wait_while_until(&mut items, |items| items.is_empty(), until);
        if !result.timed_out() {
            let amount = items.pop().expect("the wait ended for this");
            not_full.notify_one();
            drop(items);
            take(amount);
        }
        Added::NOTHING
    });
    for amount in queue.into_inner() {
        take(amount);
    }
    let taken = taken.into_inner();
    assert_eq!((taken.0, taken.1), (put.0, put.1));
}
