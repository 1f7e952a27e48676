//! The reader-writer lock for tasks, beyond the comparison with Tokio's (`task_parity_locks.rs`):
//! several runtimes, threads in the same queue, and wakers that panic or use the lock.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_sync::task::{OwnedRwLockWriteGuard, RwLock, RwLockWriteGuard};
use blitz_io_testing::threads::{A_WHILE, Watchdog};
use blitz_io_testing::{
    Drops, Wakings, everywhere, ms, poll_once, reentrant_waker, shouting_waker,
};

/// The number of those inside: readers count one each, a writer a thousand.
#[derive(Default)]
struct Inside(AtomicIsize);

impl Inside {
    fn enter(&self, weight: isize) {
        let before = self.0.fetch_add(weight, Ordering::SeqCst);
        let allowed = if weight == 1 { 0..1000 } else { 0..1 };
        assert!(allowed.contains(&before), "{weight} beside {before}");
    }

    fn leave(&self, weight: isize) {
        self.0.fetch_sub(weight, Ordering::SeqCst);
    }
}

everywhere! {
    async fn readers_together_and_writers_alone(rt) {
        let _watchdog = Watchdog::new("readers together and writers alone");
        let lock = Arc::new(RwLock::new(0));
        let inside = Arc::new(Inside::default());
        let tasks: Vec<_> = (0..9).map(|task| {
            let (lock, inside) = (lock.clone(), inside.clone());
            rt.spawn(async move {
                for turn in 0..30 {
                    if (task + turn) % 3 == 0 {
                        let mut guard = lock.write().await;
                        inside.enter(1000);
                        let before = *guard;
                        if turn % 16 == 0 {
                            rt.sleep(ms(1)).await;
                        }
                        *guard = before + 1;
                        inside.leave(1000);
                        if turn % 2 == 0 {
                            let guard = guard.downgrade();
                            inside.enter(1);
                            assert_eq!(*guard, before + 1);
                            inside.leave(1);
                        }
                    } else {
                        let guard = lock.clone().read_owned().await;
                        inside.enter(1);
                        let before = *guard;
                        if turn % 16 == 0 {
                            rt.sleep(ms(1)).await;
                        }
                        assert_eq!(*guard, before);
                        inside.leave(1);
                    }
                }
            })
        }).collect();
        for task in tasks {
            task.await;
        }
        assert_eq!(*lock.read().await, 90);
        assert!(lock.try_write().is_ok());
    }

    async fn threads_and_tasks(rt) {
        let _watchdog = Watchdog::new("threads and tasks");
        let lock = Arc::new(RwLock::new(0));
        let threads: Vec<_> = (0..2).map(|_| {
            let lock = lock.clone();
            thread::spawn(move || for _ in 0..50 {
                *lock.blocking_write() += 1;
                assert!(*lock.blocking_read() > 0);
            })
        }).collect();
        let tasks: Vec<_> = (0..2).map(|_| {
            let lock = lock.clone();
            rt.spawn(async move {
                for _ in 0..50 {
                    *lock.clone().write_owned().await += 1;
                    assert!(*lock.read().await > 0);
                }
            })
        }).collect();
        for task in tasks {
            task.await;
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*lock.write().await, 200);
    }

    async fn giving_up_while_waiting_leaves_the_lock_alone(rt) {
        let _watchdog = Watchdog::new("giving up while waiting leaves the lock alone");
        let lock = RwLock::new(1);
        let reader = lock.read().await;
        assert!(rt.timeout(ms(5), lock.write()).await.is_none());
        assert!(rt.timeout(ms(2000), lock.read()).await.is_some());
        drop(reader);
        let writer = lock.write().await;
        assert!(rt.timeout(ms(5), lock.read()).await.is_none());
        drop(writer);
        assert!(rt.timeout(ms(2000), lock.write()).await.is_some());
    }
}

#[test]
fn a_waiting_writer_comes_before_later_readers() {
    let lock = RwLock::new(0);
    let reader = lock.try_read().unwrap();
    let (writer_wakings, writer_waker) = Wakings::new();
    let mut writer = pin!(lock.write());
    assert!(poll_once(writer.as_mut(), &writer_waker).is_pending());
    let (reader_wakings, reader_waker) = Wakings::new();
    let mut later: Vec<_> = (0..3).map(|_| Box::pin(lock.read())).collect();
    for reader in &mut later {
        assert!(poll_once(reader.as_mut(), &reader_waker).is_pending());
    }
    assert!(lock.try_read().is_err());
    drop(reader);
    assert_eq!((writer_wakings.count(), reader_wakings.count()), (1, 0));
    let Poll::Ready(guard) = poll_once(writer.as_mut(), &writer_waker) else {
        panic!("it is the writer's turn")
    };
    // All readers at once.
    let downgraded = guard.downgrade();
    assert_eq!(reader_wakings.count(), 3);
    let later: Vec<_> = later
        .iter_mut()
        .map(|reader| poll_once(reader.as_mut(), &reader_waker))
        .collect();
    assert!(later.iter().all(Poll::is_ready));
    assert!(lock.try_write().is_err());
    drop((downgraded, later));
    assert!(lock.try_write().is_ok());
}

/// The cause of many a hang: a writer that has left, and readers that wait for it.
#[test]
fn a_writer_that_gives_up_lets_the_readers_behind_it_in() {
    let lock = RwLock::new(0);
    let reader = lock.try_read().unwrap();
    let mut writer = Box::pin(lock.write());
    assert!(poll_once(writer.as_mut(), Waker::noop()).is_pending());
    let (wakings, waker) = Wakings::new();
    let mut later: Vec<_> = (0..3).map(|_| Box::pin(lock.read())).collect();
    for reader in &mut later {
        assert!(poll_once(reader.as_mut(), &waker).is_pending());
    }
    drop(writer);
    assert_eq!(wakings.count(), 3);
    for reader in &mut later {
        assert!(poll_once(reader.as_mut(), &waker).is_ready());
    }
    assert!(lock.try_read().is_ok());
    drop(reader);
    assert!(lock.try_write().is_ok());
}

#[test]
fn who_was_chosen_and_is_dropped_passes_the_lock_on() {
    let lock = RwLock::new(0);
    let guard = lock.try_write().unwrap();
    let mut first = Box::pin(lock.write());
    let mut second = Box::pin(lock.read());
    let (wakings, waker) = Wakings::new();
    assert!(poll_once(first.as_mut(), Waker::noop()).is_pending());
    assert!(poll_once(second.as_mut(), &waker).is_pending());
    drop(guard);
    assert_eq!(wakings.count(), 0);
    drop(first);
    assert_eq!(wakings.count(), 1);
    drop(second);
    assert!(lock.try_write().is_ok());
}

#[test]
fn as_many_readers_as_were_allowed() {
    let lock = RwLock::with_max_readers(0, 2);
    let (one, _two) = (lock.try_read().unwrap(), lock.try_read().unwrap());
    let mut third = pin!(lock.read());
    assert!(poll_once(third.as_mut(), Waker::noop()).is_pending());
    drop(one);
    assert!(poll_once(third.as_mut(), Waker::noop()).is_ready());
}

#[test]
fn a_waker_may_use_the_lock() {
    let _watchdog = Watchdog::new("a waker that uses the lock");
    let lock = Arc::new(RwLock::new(0));
    let guard = lock.try_write().unwrap();
    let waker = reentrant_waker({
        let lock = lock.clone();
        move || {
            assert!(lock.try_read().is_ok());
            let mut nested = pin!(lock.write());
            assert!(poll_once(nested.as_mut(), Waker::noop()).is_pending());
        }
    });
    let mut reader = pin!(lock.read());
    assert!(poll_once(reader.as_mut(), &waker).is_pending());
    drop(guard);
    assert!(poll_once(reader.as_mut(), Waker::noop()).is_ready());
    assert!(lock.try_write().is_ok());
}

/// The reader that comes out of it unlocks as usual.
#[test]
fn a_waker_that_panics_in_a_downgrade() {
    let lock = Arc::new(RwLock::new(0));
    let mut reader = Box::pin(lock.read());
    let downgrades: [fn(&Arc<RwLock<i32>>); 2] = [
        |lock| drop(RwLockWriteGuard::downgrade(lock.try_write().unwrap())),
        |lock| {
            drop(OwnedRwLockWriteGuard::downgrade(
                lock.clone().try_write_owned().unwrap(),
            ))
        },
    ];
    for downgrade in downgrades {
        let woken = catch_unwind(AssertUnwindSafe(|| {
            let writer = lock.try_write().unwrap();
            assert!(poll_once(reader.as_mut(), &shouting_waker()).is_pending());
            drop(writer.downgrade());
        }));
        assert!(woken.is_err());
        assert!(poll_once(reader.as_mut(), Waker::noop()).is_ready());
        downgrade(&lock);
        assert!(lock.try_write().is_ok());
        reader = Box::pin(lock.read());
    }
}

#[test]
fn the_value_is_dropped_once() {
    let drops = Drops::new();
    let lock = Arc::new(RwLock::new((drops.counted(()), 1)));
    let writer = lock.try_write_owned().unwrap();
    let reader = OwnedRwLockWriteGuard::downgrade_map(writer, |pair| &pair.1);
    assert_eq!((*reader, drops.count()), (1, 0));
    drop(reader);
    assert_eq!(drops.count(), 1);
}

#[test]
fn a_thread_waits_for_the_lock_no_longer_than_it_wants() {
    let _watchdog = Watchdog::new("a thread waits no longer than it wants");
    let lock = RwLock::new(1);
    let past = Instant::now();
    // A lock that is free is had after the deadline, too.
    let reader = lock.blocking_read_deadline(past).unwrap();
    assert!(lock.blocking_read_timeout(Duration::ZERO).is_ok());
    assert!(lock.blocking_write_deadline(past).is_err());
    let began = Instant::now();
    assert!(lock.blocking_write_timeout(ms(20)).is_err());
    assert!(began.elapsed() >= ms(20));
    // The writer that gave up keeps no reader out.
    assert!(lock.try_read().is_ok());
    drop(reader);
    let writer = lock.blocking_write_deadline(past).unwrap();
    assert!(lock.blocking_read_deadline(past).is_err());
    assert!(lock.blocking_read_timeout(ms(1)).is_err());
    thread::scope(|scope| {
        let writer_waits = scope.spawn(|| *lock.blocking_write_timeout(Duration::MAX).unwrap() = 2);
        let reader_waits = scope.spawn(|| {
            *lock
                .blocking_read_timeout(Duration::from_secs(900))
                .unwrap()
        });
        thread::sleep(A_WHILE);
        drop(writer);
        writer_waits.join().unwrap();
        assert!((1..=2).contains(&reader_waits.join().unwrap()));
    });
    assert_eq!(*lock.try_write().unwrap(), 2);
}

/// A writer waits in front of a reader, and gives up while another reader has the lock.
#[test]
fn a_writer_that_gives_up_lets_readers_proceed() {
    let _watchdog = Watchdog::new("a writer that gives up");
    let lock = RwLock::new(1);
    let _reader = lock.blocking_read();
    thread::scope(|scope| {
        let writer = scope.spawn(|| lock.blocking_write_timeout(ms(50)).is_err());
        while lock.try_read().is_ok() && !writer.is_finished() {
            thread::yield_now();
        }
        assert_eq!(*lock.blocking_read(), 1);
        assert!(writer.join().unwrap());
    });
}
