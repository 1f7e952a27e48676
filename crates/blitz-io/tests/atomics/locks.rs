//! Locks and other primitives of threads. A holder yields, so that others come to wait for it in many of the orders.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::yield_now;

use blitz_io::thread::{
    Barrier, Condvar, Event, Latch, Mutex, Once, Parker, RwLock, RwLockUpgradableReadGuard,
    Semaphore, WaitGroup,
};

use crate::each;

#[test]
fn a_mutex_has_one_owner() {
    let count = Mutex::new(0);
    each(3, |_| {
        for _ in 0..2 {
            let mut count = count.lock();
            yield_now();
            *count += 1;
        }
    });
    assert_eq!(count.into_inner(), 6);
}

#[test]
fn a_mutex_and_a_condition_lose_no_wake_up() {
    let turn = (Mutex::new(0), Condvar::new());
    each(3, |me| {
        let mut now = turn.0.lock();
        while *now != me {
            turn.1.wait(&mut now);
        }
        *now += 1;
        turn.1.notify_all();
    });
    assert_eq!(turn.0.into_inner(), 3);
}

#[test]
fn readers_and_writers_exclude_each_other() {
    let pair = RwLock::new((0, 0));
    each(4, |me| {
        if me < 2 {
            let mut pair = pair.write();
            pair.0 += 1;
            yield_now();
            pair.1 += 1;
        } else {
            let pair = pair.read();
            yield_now();
            assert_eq!(pair.0, pair.1);
        }
    });
    assert_eq!(pair.into_inner(), (2, 2));
}

#[test]
fn an_upgrade_keeps_writers_out() {
    let count = RwLock::new(0);
    each(3, |_| {
        let seen = count.upgradable_read();
        let before = *seen;
        yield_now();
        let mut count = RwLockUpgradableReadGuard::upgrade(seen);
        assert_eq!(*count, before);
        *count += 1;
    });
    assert_eq!(count.into_inner(), 3);
}

#[test]
fn permits_of_several_sizes_all_come() {
    let semaphore = Semaphore::new(2);
    let inside = AtomicUsize::new(0);
    each(4, |me| {
        let wanted = 1 + me % 2;
        let permits = semaphore.acquire_many(wanted as u32).unwrap();
        assert!(inside.fetch_add(wanted, Ordering::SeqCst) + wanted <= 2);
        yield_now();
        inside.fetch_sub(wanted, Ordering::SeqCst);
        drop(permits);
    });
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn a_barrier_lets_no_thread_past_early() {
    let barrier = Barrier::new(3);
    let arrived = AtomicUsize::new(0);
    each(3, |_| {
        for round in 1..=2 {
            arrived.fetch_add(1, Ordering::SeqCst);
            barrier.wait();
            assert!(arrived.load(Ordering::SeqCst) >= 3 * round);
        }
    });
}

#[test]
fn a_latch_an_event_and_a_group_wake_all() {
    let (latch, event, group) = (Latch::new(2), Event::new_manual(false), WaitGroup::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let group = group.clone();
            let (latch, event) = (&latch, &event);
            scope.spawn(move || {
                latch.count_down();
                event.wait();
                drop(group);
            });
            scope.spawn(|| latch.wait());
        }
        latch.wait();
        event.set();
        group.wait();
    });
}

#[test]
fn a_function_runs_once() {
    let (once, runs) = (Once::new(), AtomicUsize::new(0));
    each(3, |_| {
        once.call_once(|| {
            yield_now();
            runs.fetch_add(1, Ordering::SeqCst);
        });
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn a_parked_thread_is_unparked() {
    let parkers = [Parker::new(), Parker::new(), Parker::new()];
    let unparkers: Vec<_> = parkers.iter().map(Parker::unparker).cloned().collect();
    std::thread::scope(|scope| {
        for (me, parker) in parkers.into_iter().enumerate() {
            let unparkers = &unparkers;
            scope.spawn(move || {
                unparkers[(me + 1) % 3].unpark();
                parker.park();
            });
        }
    });
}
