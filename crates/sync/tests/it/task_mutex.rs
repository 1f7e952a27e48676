//! The mutex for tasks, beyond the comparison with Tokio's (`task_parity_locks.rs`): several
//! runtimes, threads in the same queue, and wakers that panic or use the lock.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_sync::task::{
    MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard,
};
use blitz_io_testing::threads::{A_WHILE, Watchdog};
use blitz_io_testing::{
    Drops, Wakings, everywhere, ms, poll_once, reentrant_waker, shouting_waker,
};

everywhere! {
    async fn one_after_the_other(rt) {
        let _watchdog = Watchdog::new("one after the other");
        let mutex = Arc::new(Mutex::new(0));
        let tasks: Vec<_> = (0..8).map(|_| {
            let mutex = mutex.clone();
            rt.spawn(async move {
                for turn in 0..50 {
                    let mut guard = mutex.lock().await;
                    let before = *guard;
                    if turn % 20 == 0 {
                        rt.sleep(ms(1)).await;
                    }
                    *guard = before + 1;
                }
            })
        }).collect();
        for task in tasks {
            task.await;
        }
        assert_eq!(*mutex.lock().await, 400);
    }

    async fn threads_and_tasks(rt) {
        let _watchdog = Watchdog::new("threads and tasks");
        let mutex = Arc::new(Mutex::new(0));
        let threads: Vec<_> = (0..2).map(|_| {
            let mutex = mutex.clone();
            thread::spawn(move || (0..100).for_each(|_| *mutex.blocking_lock() += 1))
        }).collect();
        let tasks: Vec<_> = (0..2).map(|_| {
            let mutex = mutex.clone();
            rt.spawn(async move {
                for _ in 0..100 {
                    *mutex.clone().lock_owned().await += 1;
                }
            })
        }).collect();
        for task in tasks {
            task.await;
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*mutex.lock().await, 400);
    }

    async fn giving_up_while_waiting_leaves_the_lock_alone(rt) {
        let _watchdog = Watchdog::new("giving up while waiting leaves the lock alone");
        let mutex = Mutex::new(1);
        let guard = mutex.lock().await;
        assert!(rt.timeout(ms(5), mutex.lock()).await.is_none());
        drop(guard);
        assert!(rt.timeout(ms(2000), mutex.lock()).await.is_some());
    }
}

#[test]
fn the_lock_goes_to_who_has_waited_longest() {
    let mutex = Mutex::new(());
    let guard = mutex.try_lock().unwrap();
    let wakers: Vec<_> = (0..4).map(|_| Wakings::new()).collect();
    let mut waiters: Vec<_> = (0..4).map(|_| Box::pin(mutex.lock())).collect();
    for (waiter, (_, waker)) in waiters.iter_mut().zip(&wakers) {
        assert!(poll_once(waiter.as_mut(), waker).is_pending());
    }
    // The second gives up.
    drop(waiters.remove(1));
    drop(guard);
    for (waiter, index) in waiters.iter_mut().zip([0, 2, 3]) {
        assert!(mutex.try_lock().is_err(), "past the queue");
        let woken: Vec<_> = wakers.iter().map(|(wakings, _)| wakings.count()).collect();
        assert_eq!(woken[index], 1);
        assert_eq!(woken[index + 1..].iter().sum::<usize>(), 0);
        assert!(poll_once(waiter.as_mut(), Waker::noop()).is_ready());
    }
    assert!(mutex.try_lock().is_ok());
}

#[test]
fn who_was_chosen_and_is_dropped_passes_the_lock_on() {
    let mutex = Mutex::new(());
    let guard = mutex.try_lock().unwrap();
    let mut first = Box::pin(mutex.lock());
    let mut second = Box::pin(mutex.lock());
    let (wakings, waker) = Wakings::new();
    assert!(poll_once(first.as_mut(), Waker::noop()).is_pending());
    assert!(poll_once(second.as_mut(), &waker).is_pending());
    drop(guard);
    drop(first);
    assert_eq!(wakings.count(), 1);
    drop(second);
    assert!(mutex.try_lock().is_ok());
}

#[test]
fn a_waker_may_use_the_mutex() {
    let _watchdog = Watchdog::new("a waker that uses the mutex");
    let mutex = Arc::new(Mutex::new(0));
    let guard = mutex.try_lock().unwrap();
    let waker = reentrant_waker({
        let mutex = mutex.clone();
        move || {
            assert!(mutex.try_lock().is_err());
            let mut nested = pin!(mutex.lock());
            assert!(poll_once(nested.as_mut(), Waker::noop()).is_pending());
        }
    });
    let mut waiter = pin!(mutex.lock());
    assert!(poll_once(waiter.as_mut(), &waker).is_pending());
    drop(guard);
    let Poll::Ready(guard) = poll_once(waiter.as_mut(), Waker::noop()) else {
        panic!("it was woken")
    };
    drop(guard);
    assert!(mutex.try_lock().is_ok());
}

#[test]
fn a_waker_that_panics_costs_nobody_the_lock() {
    let mutex = Mutex::new(0);
    let guard = mutex.try_lock().unwrap();
    let mut waiter = pin!(mutex.lock());
    assert!(poll_once(waiter.as_mut(), &shouting_waker()).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(guard))).is_err());
    assert!(poll_once(waiter.as_mut(), Waker::noop()).is_ready());
    assert!(mutex.try_lock().is_ok());
}

#[test]
fn a_panic_does_not_poison() {
    let mutex = Arc::new(Mutex::new(1));
    let thread = thread::spawn({
        let mutex = mutex.clone();
        move || {
            let _guard = mutex.blocking_lock();
            panic!("with the lock");
        }
    });
    assert!(thread.join().is_err());
    assert_eq!(*mutex.try_lock().unwrap(), 1);
}

#[test]
fn the_value_is_dropped_once() {
    let drops = Drops::new();
    let mutex = Arc::new(Mutex::new((drops.counted(()), 1)));
    let guard = OwnedMutexGuard::map(mutex.try_lock_owned().unwrap(), |pair| &mut pair.1);
    let guard = OwnedMappedMutexGuard::map(guard, |number| number);
    assert_eq!((*guard, drops.count()), (1, 0));
    drop(guard);
    assert_eq!(drops.count(), 1);
}

/// Parts of a part may be of unknown size, too.
#[test]
fn parts_of_unknown_size() {
    let mutex = Arc::new(Mutex::new((String::from("text"), 1)));
    let text = MutexGuard::map(mutex.try_lock().unwrap(), |pair| &mut pair.0);
    let text: MappedMutexGuard<'_, str> = MappedMutexGuard::map(text, |text| text.as_mut_str());
    assert_eq!(&*text, "text");
    drop(text);
    let text = OwnedMutexGuard::map(mutex.try_lock_owned().unwrap(), |pair| &mut pair.0);
    let text = OwnedMappedMutexGuard::map(text, |text| text.as_mut_str());
    assert_eq!(&*text, "text");
}

#[test]
fn a_thread_waits_for_the_lock_no_longer_than_it_wants() {
    let _watchdog = Watchdog::new("a thread waits no longer than it wants");
    let mutex = Mutex::new(1);
    let past = Instant::now();
    // A lock that is free is had after the deadline, too.
    let guard = mutex.blocking_lock_deadline(past).unwrap();
    assert!(mutex.blocking_lock_deadline(past).is_err());
    assert!(mutex.blocking_lock_timeout(Duration::ZERO).is_err());
    let began = Instant::now();
    assert!(mutex.blocking_lock_timeout(ms(20)).is_err());
    assert!(began.elapsed() >= ms(20));
    thread::scope(|scope| {
        let waiters = [Duration::MAX, Duration::from_secs(900)].map(|timeout| {
            let mutex = &mutex;
            scope.spawn(move || *mutex.blocking_lock_timeout(timeout).unwrap() += 1)
        });
        thread::sleep(A_WHILE);
        drop(guard);
        waiters
            .into_iter()
            .for_each(|waiter| waiter.join().unwrap());
    });
    // Those that gave up have left the queue.
    assert_eq!(*mutex.try_lock().unwrap(), 3);
}
