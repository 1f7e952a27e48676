// Included twice, with `thread` being parking_lot or this crate's.

use std::sync::Arc;
use std::time::{Duration, Instant};

use thread::{
    Condvar, FairMutex, FairMutexGuard, MappedFairMutexGuard, MappedMutexGuard,
    MappedReentrantMutexGuard, MappedRwLockReadGuard, MappedRwLockWriteGuard, Mutex, MutexGuard,
    Once, OnceState, RawFairMutex, RawMutex, RawRwLock, RawThreadId, ReentrantMutex,
    ReentrantMutexGuard, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard,
    WaitTimeoutResult, const_fair_mutex, const_mutex, const_reentrant_mutex, const_rwlock,
};

const SOON: Duration = Duration::from_millis(5);

static COUNT: Mutex<u32> = const_mutex(0);
static FAIR: FairMutex<u32> = const_fair_mutex(0);
static NAMES: RwLock<Vec<u32>> = const_rwlock(Vec::new());
static AGAIN: ReentrantMutex<u32> = const_reentrant_mutex(7);

#[test]
fn statics() {
    std::thread::scope(|scope| {
        for i in 0..4 {
            scope.spawn(move || {
                *COUNT.lock() += 1;
                *FAIR.lock() += 1;
                NAMES.write().push(i);
                let outer: ReentrantMutexGuard<'_, u32> = AGAIN.lock();
                assert_eq!(*outer + *AGAIN.lock(), 14);
            });
        }
    });
    assert_eq!((*COUNT.lock(), *FAIR.lock(), NAMES.read().len()), (4, 4, 4));
}

#[test]
fn a_mutex() {
    let mut mutex = Mutex::new((1, String::from("a")));
    *mutex.get_mut() = (2, String::from("b"));
    {
        let guard = mutex.lock();
        assert!(mutex.is_locked());
        assert!(mutex.try_lock().is_none());
        assert!(mutex.try_lock_for(SOON).is_none());
        assert!(mutex.try_lock_until(Instant::now() + SOON).is_none());
        let mut name: MappedMutexGuard<'_, String> = MutexGuard::map(guard, |pair| &mut pair.1);
        name.push('c');
        MappedMutexGuard::unlock_fair(name);
    }
    let mut guard = mutex.lock();
    MutexGuard::unlocked(&mut guard, || assert!(mutex.try_lock().is_some()));
    MutexGuard::bump(&mut guard);
    drop(guard);
    assert_eq!(format!("{mutex:?}"), "Mutex { data: (2, \"bc\") }");
    assert_eq!(mutex.into_inner(), (2, "bc".into()));
    let _: Mutex<u8> = Mutex::default();
    let _: Mutex<u8> = 3.into();
    let _: lock_is::Raw<RawMutex> = lock_is::Raw::new();
    let _: lock_is::Raw<RawRwLock> = lock_is::Raw::new();
    let _: lock_is::Raw<RawFairMutex> = lock_is::Raw::new();
    let _: lock_is::Raw<RawThreadId> = lock_is::Raw::new();
}

/// Names that are used only as types.
mod lock_is {
    pub struct Raw<T>(std::marker::PhantomData<T>);

    impl<T> Raw<T> {
        pub fn new() -> Self {
            Self(std::marker::PhantomData)
        }
    }
}

#[test]
fn a_fair_mutex() {
    let mutex = FairMutex::new((1, 2));
    let guard: FairMutexGuard<'_, _> = mutex.lock();
    let second: MappedFairMutexGuard<'_, i32> = FairMutexGuard::map(guard, |pair| &mut pair.1);
    assert_eq!(*second, 2);
    assert!(mutex.try_lock().is_none());
}

#[test]
fn a_reader_writer_lock() {
    let lock = RwLock::new((1, 2));
    {
        let (first, second) = (lock.read(), lock.read_recursive());
        assert_eq!(*first, *second);
        assert!(lock.try_write_for(SOON).is_none());
        let first: MappedRwLockReadGuard<'_, i32> = RwLockReadGuard::map(first, |pair| &pair.0);
        assert_eq!(*first, 1);
    }
    {
        let guard = lock.upgradable_read();
        assert!(lock.try_read().is_some());
        assert!(lock.try_upgradable_read().is_none());
        let mut guard: RwLockWriteGuard<'_, _> = RwLockUpgradableReadGuard::upgrade(guard);
        guard.0 = 5;
        let guard = RwLockWriteGuard::downgrade_to_upgradable(guard);
        let guard = RwLockUpgradableReadGuard::downgrade(guard);
        assert_eq!(guard.0, 5);
    }
    let mut guard: MappedRwLockWriteGuard<'_, i32> =
        RwLockWriteGuard::map(lock.write(), |pair| &mut pair.1);
    *guard += 1;
    assert!(lock.is_locked() && lock.is_locked_exclusive());
    drop(guard);
    let guard = RwLockWriteGuard::downgrade(lock.write());
    assert_eq!(*guard, (5, 3));
}

#[test]
fn guards_that_keep_their_lock() {
    // Their types have the lock as a parameter in parking_lot, and do not in this crate.
    let mutex = Arc::new(Mutex::new(1));
    let guard = mutex.lock_arc();
    assert!(mutex.try_lock().is_none());
    drop(guard);
    let lock = Arc::new(RwLock::new(1));
    let guard = lock.read_arc();
    drop(guard);
    let guard = lock.upgradable_read_arc();
    drop(guard);
    let guard = lock.write_arc();
    drop(guard);
    let again = Arc::new(ReentrantMutex::new(1));
    let guard = again.lock_arc();
    assert_eq!(*guard, 1);
}

#[test]
fn a_reentrant_mutex() {
    let mutex = ReentrantMutex::new((1, 2));
    let outer = mutex.lock();
    let inner: MappedReentrantMutexGuard<'_, i32> =
        ReentrantMutexGuard::map(mutex.lock(), |pair| &pair.1);
    assert_eq!(outer.0 + *inner, 3);
    assert!(mutex.is_locked() && mutex.is_owned_by_current_thread());
    std::thread::scope(|scope| {
        scope.spawn(|| assert!(mutex.try_lock().is_none()));
    });
}

#[test]
fn a_condition_variable() {
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let counting = std::thread::spawn({
        let pair = pair.clone();
        move || {
            for _ in 0..3 {
                *pair.0.lock() += 1;
                pair.1.notify_one();
            }
            pair.1.notify_all();
        }
    });
    let mut count = pair.0.lock();
    while *count < 2 {
        pair.1.wait(&mut count);
    }
    pair.1.wait_while(&mut count, |count| *count < 3);
    // It needs the mutex no more, and all its notifications have been made.
    counting.join().unwrap();
    let result: WaitTimeoutResult = pair.1.wait_for(&mut count, SOON);
    _ = result;
    assert!(pair.1.wait_until(&mut count, Instant::now()).timed_out());
    assert!(
        pair.1
            .wait_while_for(&mut count, |_| true, SOON)
            .timed_out()
    );
    assert_eq!(*count, 3);
}

#[test]
fn once() {
    static ONCE: Once = Once::new();
    static MADE: Mutex<u32> = Mutex::new(0);
    assert_eq!(ONCE.state(), OnceState::New);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| ONCE.call_once(|| *MADE.lock() += 1));
        }
    });
    ONCE.call_once_force(|_| unreachable!());
    assert!(ONCE.state().done());
    assert_eq!(*MADE.lock(), 1);
}
