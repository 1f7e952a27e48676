//! The smallest programs: two or three threads on one primitive, and no more than it takes to come to each step of its
//! protocol. Modules are named as those of the models for Loom, so that `.ci/sim-atomics --mutants` finds them.
//!
//! No thread sleeps, and nothing has a time limit that would end: with `--no-timeouts`, a lost wake-up is a deadlock
//! also where a lock wakes up on its own after a while.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::scope;

use pollster::block_on;

use crate::{all_others_sleep, each};

#[cfg(feature = "net")]
mod driver;
#[cfg(all(feature = "ipc", target_os = "linux"))]
mod ipc;
#[cfg(feature = "pool")]
mod pool;
#[cfg(feature = "rt")]
mod runtime;

mod mutex {
    use super::*;
    use blitz_io::thread::Mutex;

    #[test]
    fn one_sleeper_wakes_the_next() {
        let count = Mutex::new(0);
        each(3, |_| *count.lock() += 1);
        assert_eq!(count.into_inner(), 3);
    }
}

mod rwlock {
    use super::*;
    use blitz_io::thread::RwLock;

    #[test]
    fn a_writer_beside_a_reader_and_a_writer() {
        let pair = RwLock::new((0, 0));
        each(3, |me| {
            if me == 0 {
                let pair = pair.read();
                assert_eq!(pair.0, pair.1);
            } else {
                let mut pair = pair.write();
                pair.0 += 1;
                pair.1 += 1;
            }
        });
        assert_eq!(pair.into_inner(), (2, 2));
    }

    /// A reader sleeps, and behind it two writers. The release wakes the first writer, whose release comes before
    /// the reader has been woken.
    #[test]
    fn a_writer_is_woken_beside_readers() {
        let count = RwLock::new(0);
        let guard = count.write();
        scope(|scope| {
            scope.spawn(|| drop(count.read()));
            scope.spawn(|| *count.write() += 1);
            scope.spawn(|| *count.write() += 1);
            all_others_sleep();
            drop(guard);
        });
        assert_eq!(count.into_inner(), 2);
    }
}

mod condvar {
    use super::*;
    use blitz_io::thread::{Condvar, Mutex};

    #[test]
    fn two_are_notified() {
        let (ready, changed) = (Mutex::new(false), Condvar::new());
        each(3, |me| {
            let mut ready = ready.lock();
            if me == 0 {
                *ready = true;
                changed.notify_all();
            }
            while !*ready {
                changed.wait(&mut ready);
            }
        });
    }

    #[test]
    fn each_notification_wakes_one() {
        let (tokens, changed) = (Mutex::new(0), Condvar::new());
        each(3, |me| {
            let mut tokens = tokens.lock();
            if me == 0 {
                *tokens += 2;
                changed.notify_one();
                changed.notify_one();
            } else {
                while *tokens == 0 {
                    changed.wait(&mut tokens);
                }
                *tokens -= 1;
            }
        });
    }
}

mod parker {
    use super::*;
    use blitz_io::thread::Parker;

    #[test]
    fn each_token_ends_a_park() {
        let parker = Parker::new();
        let unparker = parker.unparker().clone();
        let sent = AtomicUsize::new(0);
        scope(|scope| {
            scope.spawn(|| {
                for _ in 0..2 {
                    sent.fetch_add(1, Ordering::SeqCst);
                    unparker.unpark();
                }
            });
            while sent.load(Ordering::SeqCst) < 2 {
                parker.park();
            }
        });
    }
}

mod event {
    use super::*;
    use blitz_io::thread::Event;

    #[test]
    fn a_set_releases_all() {
        let event = Event::new_manual(false);
        each(3, |me| {
            if me == 0 {
                event.set();
            }
            event.wait();
        });
    }

    #[test]
    fn each_set_releases_one() {
        let event = Event::new_auto(false);
        let released = AtomicUsize::new(0);
        scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    event.wait();
                    released.fetch_add(1, Ordering::SeqCst);
                    // Sets may coincide: each released thread leaves one for the other.
                    event.set();
                });
            }
            event.set();
        });
        assert_eq!(released.into_inner(), 2);
    }
}

mod latch {
    use super::*;
    use blitz_io::thread::Latch;

    #[test]
    fn a_waiter_beside_two_counts() {
        let latch = Latch::new(2);
        each(3, |me| {
            if me == 0 {
                latch.wait();
            } else {
                latch.count_down();
            }
        });
    }
}

mod wait_group {
    use super::*;
    use blitz_io::thread::WaitGroup;

    #[test]
    fn two_members_leave() {
        let group = WaitGroup::new();
        scope(|scope| {
            for _ in 0..2 {
                let member = group.clone();
                scope.spawn(move || drop(member));
            }
            group.wait();
        });
    }
}

mod barrier {
    use super::*;
    use blitz_io::thread::Barrier;

    #[test]
    fn two_rounds() {
        let (barrier, arrived) = (Barrier::new(2), AtomicUsize::new(0));
        each(2, |_| {
            for round in 1..=2 {
                arrived.fetch_add(1, Ordering::SeqCst);
                barrier.wait();
                assert!(arrived.load(Ordering::SeqCst) >= 2 * round);
            }
        });
    }
}

mod once {
    use super::*;
    use blitz_io::thread::Once;

    #[test]
    fn two_calls_and_a_wait() {
        let (once, runs) = (Once::new(), AtomicUsize::new(0));
        each(3, |me| {
            if me == 0 {
                once.wait();
            } else {
                once.call_once(|| {
                    runs.fetch_add(1, Ordering::SeqCst);
                });
            }
            assert_eq!(runs.load(Ordering::SeqCst), 1);
        });
    }
}

mod semaphore {
    use super::*;
    use blitz_io::thread::Semaphore;

    #[test]
    fn one_after_the_other() {
        let (semaphore, is_inside) = (Semaphore::new(1), AtomicBool::new(false));
        each(3, |_| {
            let _permit = semaphore.acquire().unwrap();
            assert!(!is_inside.swap(true, Ordering::SeqCst));
            is_inside.store(false, Ordering::SeqCst);
        });
    }

    /// The release comes last, so that one preemption is enough.
    #[test]
    fn a_permit_comes_beside_a_waiter() {
        let semaphore = Semaphore::new(0);
        each(2, |me| match me {
            0 => semaphore.acquire().unwrap().forget(),
            _ => semaphore.add_permits(1),
        });
        assert_eq!(semaphore.available_permits(), 0);
    }

    #[test]
    fn one_release_serves_two() {
        let semaphore = Semaphore::new(0);
        each(3, |me| {
            if me == 2 {
                semaphore.add_permits(2);
            } else {
                semaphore.acquire().unwrap().forget();
            }
        });
        assert_eq!(semaphore.available_permits(), 0);
    }
}

mod notify {
    use super::*;
    use blitz_io::sync::Notify;

    #[test]
    fn a_notification_arrives() {
        let notify = Notify::new();
        each(2, |me| {
            if me == 0 {
                notify.notify_one();
            } else {
                block_on(notify.notified());
            }
        });
    }

    #[test]
    fn all_that_were_there_are_notified() {
        let (notify, is_set) = (Notify::new(), AtomicBool::new(false));
        each(3, |me| {
            if me == 0 {
                is_set.store(true, Ordering::SeqCst);
                notify.notify_waiters();
            } else {
                let notified = notify.notified();
                if !is_set.load(Ordering::SeqCst) {
                    block_on(notified);
                }
            }
        });
    }
}

mod once_cell {
    use super::*;
    use blitz_io::sync::OnceCell;

    #[test]
    fn a_set_wakes_all() {
        let cell = OnceCell::new();
        each(3, |me| {
            if me == 0 {
                cell.set(7).unwrap();
            }
            assert_eq!(*block_on(cell.wait()), 7);
        });
    }

    #[test]
    fn one_initialises() {
        let (cell, runs) = (OnceCell::new(), AtomicUsize::new(0));
        each(3, |_| {
            let value = block_on(cell.get_or_init(|| async {
                runs.fetch_add(1, Ordering::SeqCst);
                7
            }));
            assert_eq!((*value, runs.load(Ordering::SeqCst)), (7, 1));
        });
    }
}

mod task_permits {
    use super::*;
    use blitz_io::sync::Semaphore;

    #[test]
    fn a_permit_goes_round() {
        let (semaphore, is_inside) = (Semaphore::new(1), AtomicBool::new(false));
        each(3, |me| {
            let _permit = match me {
                0 => semaphore.blocking_acquire().unwrap(),
                _ => block_on(semaphore.acquire()).unwrap(),
            };
            assert!(!is_inside.swap(true, Ordering::SeqCst));
            is_inside.store(false, Ordering::SeqCst);
        });
        assert_eq!(semaphore.available_permits(), 1);
    }

    #[test]
    fn one_release_serves_two() {
        let semaphore = Semaphore::new(0);
        each(3, |me| {
            if me == 0 {
                semaphore.add_permits(2);
            } else {
                block_on(semaphore.acquire()).unwrap().forget();
            }
        });
        assert_eq!(semaphore.available_permits(), 0);
    }

    #[test]
    fn closing_reaches_all() {
        let semaphore = Semaphore::new(0);
        each(3, |me| {
            if me == 0 {
                semaphore.close();
            } else {
                assert!(block_on(semaphore.acquire()).is_err());
            }
        });
    }
}

mod task_barrier {
    use super::*;
    use blitz_io::sync::Barrier;

    #[test]
    fn two_rounds() {
        let barrier = Barrier::new(2);
        each(2, |_| {
            block_on(async {
                barrier.wait().await;
                barrier.wait().await;
            });
        });
    }
}

mod mpsc {
    use super::*;
    use blitz_io::sync::mpsc;

    /// A task does not look again when it has seen the end.
    #[test]
    fn the_end_comes_after_the_last_value() {
        let (sender, mut receiver) = mpsc::channel(1);
        scope(|scope| {
            scope.spawn(move || sender.try_send(7).unwrap());
            block_on(async {
                assert_eq!(receiver.recv().await, Some(7));
                assert_eq!(receiver.recv().await, None);
            });
        });
    }

    #[test]
    fn a_sender_waits_for_room() {
        let (sender, mut receiver) = mpsc::channel(1);
        scope(|scope| {
            for _ in 0..2 {
                let sender = sender.clone();
                scope.spawn(move || block_on(sender.send(1)).unwrap());
            }
            drop(sender);
            let mut sum = 0;
            while let Some(value) = block_on(receiver.recv()) {
                sum += value;
            }
            assert_eq!(sum, 2);
        });
    }

    #[test]
    fn a_thread_waits_for_room() {
        let (sender, mut receiver) = mpsc::channel(1);
        scope(|scope| {
            scope.spawn(move || {
                for value in 0..3 {
                    sender.blocking_send(value).unwrap();
                }
            });
            for value in 0..3 {
                assert_eq!(receiver.blocking_recv(), Some(value));
            }
        });
    }

    #[test]
    fn closing_turns_a_sender_away() {
        let (sender, mut receiver) = mpsc::channel(1);
        sender.try_send(0).unwrap();
        scope(|scope| {
            scope.spawn(move || assert!(block_on(sender.send(1)).is_err()));
            receiver.close();
        });
        assert_eq!(receiver.try_recv(), Ok(0));
    }
}

mod mpmc {
    use super::*;
    use blitz_io::sync::mpmc;

    #[test]
    fn threads_with_room_for_one() {
        let (sender, receiver) = mpmc::bounded(1);
        scope(|scope| {
            for _ in 0..2 {
                let sender = sender.clone();
                scope.spawn(move || sender.blocking_send(1).unwrap());
            }
            drop(sender);
            let mut sum = 0;
            while let Ok(value) = receiver.blocking_recv() {
                sum += value;
            }
            assert_eq!(sum, 2);
        });
    }

    #[test]
    fn tasks_with_room_for_one() {
        let (sender, receiver) = mpmc::bounded(1);
        scope(|scope| {
            scope.spawn(move || {
                block_on(async {
                    sender.send(1).await.unwrap();
                    sender.send(2).await.unwrap();
                });
            });
            block_on(async {
                assert_eq!(receiver.recv().await, Ok(1));
                assert_eq!(receiver.recv().await, Ok(2));
                assert!(receiver.recv().await.is_err());
            });
        });
    }
}

mod oneshot {
    use super::*;
    use blitz_io::sync::oneshot;

    #[test]
    fn a_value_reaches_a_task() {
        let (sender, receiver) = oneshot::channel();
        scope(|scope| {
            scope.spawn(move || sender.send(7).unwrap());
            assert_eq!(block_on(receiver), Ok(7));
        });
    }

    #[test]
    fn a_value_reaches_a_thread() {
        let (sender, receiver) = oneshot::channel();
        scope(|scope| {
            scope.spawn(move || sender.send(7).unwrap());
            assert_eq!(receiver.blocking_recv(), Ok(7));
        });
    }

    #[test]
    fn the_sender_learns_of_the_end() {
        let (mut sender, receiver) = oneshot::channel::<()>();
        scope(|scope| {
            scope.spawn(move || drop(receiver));
            block_on(sender.closed());
        });
    }
}

mod broadcast {
    use super::*;
    use blitz_io::sync::broadcast;

    /// The sender comes first, and looks for waiters before there is one.
    #[test]
    fn a_value_wakes_a_task() {
        let (sender, mut receiver) = broadcast::channel(1);
        let sender = &sender;
        scope(|scope| {
            scope.spawn(move || sender.send(7).unwrap());
            scope.spawn(move || assert_eq!(block_on(receiver.recv()), Ok(7)));
        });
    }

    /// The sender stays, so that its end cannot stand in for a lost wake-up.
    #[test]
    fn a_value_wakes_without_the_end() {
        let (sender, receiver) = broadcast::channel(1);
        scope(|scope| {
            for me in 0..2 {
                let mut receiver = receiver.resubscribe();
                scope.spawn(move || {
                    let value = match me {
                        0 => block_on(receiver.recv()),
                        _ => receiver.blocking_recv(),
                    };
                    assert_eq!(value.unwrap(), 7);
                });
            }
            sender.send(7).unwrap();
        });
    }

    #[test]
    fn a_value_is_overwritten_beside_a_reader() {
        let (sender, mut receiver) = broadcast::channel(1);
        scope(|scope| {
            scope.spawn(move || {
                sender.send(0).unwrap();
                let _ = sender.send(1);
            });
            let mut next = 0;
            loop {
                match receiver.blocking_recv() {
                    Ok(value) => {
                        assert_eq!(value, next);
                        next += 1;
                    }
                    Err(broadcast::error::RecvError::Lagged(missed)) => next += missed,
                    Err(broadcast::error::RecvError::Closed) => break,
                }
            }
            assert_eq!(next, 2);
        });
    }
}

mod watch {
    use super::*;
    use blitz_io::sync::watch;

    /// The sender stays, so that its end cannot stand in for a lost wake-up.
    #[test]
    fn a_change_reaches_a_thread() {
        let (sender, mut receiver) = watch::channel(0);
        scope(|scope| {
            scope.spawn(|| sender.send(1).unwrap());
            receiver.blocking_changed().unwrap();
        });
    }

    #[test]
    fn a_change_reaches_a_task() {
        let (sender, mut receiver) = watch::channel(0);
        scope(|scope| {
            scope.spawn(|| sender.send(1).unwrap());
            block_on(receiver.changed()).unwrap();
        });
    }

    #[test]
    fn the_end_reaches_a_task() {
        let (sender, mut receiver) = watch::channel(0);
        scope(|scope| {
            scope.spawn(move || drop(sender));
            assert!(block_on(receiver.changed()).is_err());
        });
    }

    #[test]
    fn the_sender_learns_of_the_end() {
        let (sender, receiver) = watch::channel(0);
        scope(|scope| {
            scope.spawn(move || drop(receiver));
            block_on(sender.closed());
        });
    }
}
