//! `ReentrantMutex`: its owner may lock again, others wait for all its guards.

use blitz_io_sync::thread::{
    ArcReentrantMutexGuard, MappedReentrantMutexGuard, RawMutex, RawThreadId, ReentrantMutex,
    ReentrantMutexGuard, const_reentrant_mutex,
};
use blitz_io_testing::threads::{A_WHILE, PATIENCE, Random, Watchdog, elsewhere, is_stuck};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn the_owner_locks_again() {
    let mutex = ReentrantMutex::new(Cell::new(0));
    let guards: Vec<_> = (0..100).map(|_| mutex.lock()).collect();
    guards[3].set(7);
    assert!(guards.iter().all(|guard| guard.get() == 7));
    assert!(mutex.is_locked() && mutex.is_owned_by_current_thread());
    assert!(mutex.try_lock().is_some());
    assert!(mutex.try_lock_for(Duration::ZERO).is_some());
    assert!(mutex.try_lock_until(Instant::now()).is_some());
    drop(guards);
    assert!(!mutex.is_locked() && !mutex.is_owned_by_current_thread());
}

#[test]
fn others_wait_for_the_last_guard() {
    let _dog = Watchdog::new("others_wait_for_the_last_guard");
    let mutex = ReentrantMutex::new(Cell::new(1));
    let outer = mutex.lock();
    let inner = mutex.lock();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| mutex.lock().get());
        // Guards may go in any order.
        drop(outer);
        assert!(is_stuck(&waiter));
        elsewhere(|| {
            assert!(mutex.is_locked() && !mutex.is_owned_by_current_thread());
            assert!(mutex.try_lock().is_none());
            assert!(mutex.try_lock_for(Duration::from_millis(2)).is_none());
            assert!(mutex.try_lock_until(Instant::now()).is_none());
        });
        inner.set(2);
        drop(inner);
        assert_eq!(waiter.join().unwrap(), 2);
    });
    assert!(!mutex.is_locked());
}

#[test]
fn timed_waits() {
    let _dog = Watchdog::new("timed_waits");
    let mutex = ReentrantMutex::new(Cell::new(1));
    let guard = mutex.lock();
    thread::scope(|scope| {
        let waiters = [
            scope.spawn(|| mutex.try_lock_for(Duration::MAX).unwrap().get()),
            scope.spawn(|| mutex.try_lock_for(PATIENCE).unwrap().get()),
            scope.spawn(|| {
                let deadline = Instant::now() + PATIENCE;
                mutex.try_lock_until(deadline).unwrap().get()
            }),
        ];
        thread::sleep(A_WHILE);
        assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
        guard.set(2);
        drop(guard);
        assert!(
            waiters
                .into_iter()
                .all(|waiter| waiter.join().unwrap() == 2)
        );
    });
}

/// Each thread recurses to its own depth and finds its own value there.
#[test]
fn a_recursion_is_alone() {
    fn descend(mutex: &ReentrantMutex<RefCell<Vec<u64>>>, id: u64, depth: u64) {
        let guard = mutex.lock();
        guard.borrow_mut().push(id);
        if depth > 0 {
            descend(mutex, id, depth - 1);
        }
        assert!(guard.borrow().iter().all(|seen| *seen == id));
        assert_eq!(guard.borrow_mut().pop(), Some(id));
    }
    let _dog = Watchdog::new("a_recursion_is_alone");
    let mutex = ReentrantMutex::new(RefCell::new(Vec::new()));
    thread::scope(|scope| {
        for id in 0..6 {
            let mutex = &mutex;
            scope.spawn(move || {
                let mut random = Random::new(id);
                for _ in 0..500 {
                    descend(mutex, id, random.below(6));
                }
            });
        }
    });
    assert!(mutex.into_inner().into_inner().is_empty());
}

/// A thread that ended leaves its place in memory to others. They are not it.
#[test]
fn a_new_thread_is_not_an_old_one() {
    let mutex = ReentrantMutex::new(Cell::new(0));
    for i in 0..50 {
        elsewhere(|| {
            assert!(!mutex.is_owned_by_current_thread());
            let guard = mutex.lock();
            assert_eq!(guard.replace(i + 1), i);
        });
        assert!(!mutex.is_locked());
    }
}

#[test]
fn a_panic_does_not_poison() {
    let mutex = Arc::new(ReentrantMutex::new(Cell::new(1)));
    let other = mutex.clone();
    thread::spawn(move || {
        let _outer = other.lock();
        let inner = other.lock();
        inner.set(2);
        panic!("on purpose");
    })
    .join()
    .unwrap_err();
    assert_eq!(mutex.try_lock().unwrap().get(), 2);
}

#[test]
fn holds_a_value() {
    static STATIC: ReentrantMutex<u32> = ReentrantMutex::new(1);
    static NAMED: ReentrantMutex<&str> = const_reentrant_mutex("name");
    assert_eq!((*STATIC.lock(), *NAMED.lock()), (1, "name"));
    let mut mutex = ReentrantMutex::new(String::from("a"));
    mutex.get_mut().push('b');
    assert_eq!(mutex.into_inner(), "ab");
    assert_eq!(*ReentrantMutex::<u32>::default().lock(), 0);
    assert_eq!(*ReentrantMutex::from(5).lock(), 5);
    let numbers: &ReentrantMutex<[i32]> = &ReentrantMutex::new([1, 2]);
    assert_eq!(*numbers.lock(), [1, 2]);
}

#[test]
fn debug_and_display() {
    let mutex = ReentrantMutex::new(5);
    let guard = mutex.lock();
    // The owner can look.
    assert_eq!(format!("{mutex:?}"), "ReentrantMutex { data: 5 }");
    assert_eq!(format!("{guard:?} {guard}"), "5 5");
    elsewhere(|| assert_eq!(format!("{mutex:?}"), "ReentrantMutex { data: <locked> }"));
}

#[test]
fn parts_of_the_value() {
    let mutex = ReentrantMutex::new((1, [2, 3]));
    let array = ReentrantMutexGuard::map(mutex.lock(), |value| &value.1);
    let whole = mutex.lock();
    let last = MappedReentrantMutexGuard::map(array, |array| &array[1]);
    assert_eq!((whole.0, *last), (1, 3));
    drop(whole);
    elsewhere(|| assert!(mutex.try_lock().is_none()));
    let Err(last) = MappedReentrantMutexGuard::try_map(last, |_| None::<&i32>) else {
        panic!("`None` is no part");
    };
    MappedReentrantMutexGuard::unlock_fair(last);
    assert!(!mutex.is_locked());
    assert!(ReentrantMutexGuard::try_map(mutex.lock(), |value| value.1.get(2)).is_err());
    assert!(!mutex.is_locked());
}

#[test]
fn guards_let_go_for_a_while() {
    let mutex = ReentrantMutex::new(Cell::new(1));
    let add_one = || {
        elsewhere(|| {
            let guard = mutex.lock();
            guard.set(guard.get() + 1);
        })
    };
    let mut guard = mutex.lock();
    ReentrantMutexGuard::unlocked(&mut guard, add_one);
    ReentrantMutexGuard::unlocked_fair(&mut guard, add_one);
    ReentrantMutexGuard::bump(&mut guard);
    assert_eq!(guard.get(), 3);
    let mut inner = mutex.lock();
    ReentrantMutexGuard::unlocked(&mut inner, || {
        // The outer guard still has it.
        elsewhere(|| assert!(mutex.try_lock().is_none()));
    });
    drop(inner);
    ReentrantMutexGuard::unlock_fair(guard);
    assert!(!mutex.is_locked());
}

#[test]
fn a_guard_that_keeps_the_mutex_alive() {
    let mutex = Arc::new(ReentrantMutex::new(Cell::new(1)));
    let guard: ArcReentrantMutexGuard<RawMutex, RawThreadId, Cell<i32>> = mutex.lock_arc();
    let again = mutex.try_lock_arc().unwrap();
    let weak = Arc::downgrade(&mutex);
    drop(mutex);
    again.set(2);
    drop(guard);
    assert_eq!(again.get(), 2);
    let mutex = weak.upgrade().unwrap();
    elsewhere(|| assert!(mutex.try_lock_arc().is_none()));
    drop((again, mutex));
    assert!(weak.upgrade().is_none());
}
