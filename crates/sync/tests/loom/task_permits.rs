//! Models of the locks for tasks. Each of these locks is a batch of permits.

use crate::model;

use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use blitz_io_sync::task::{Mutex, RwLock, Semaphore};
use loom::cell::UnsafeCell;
use loom::thread;
use model::{block_on, model_in_order as model, poll};

/// The model says when it has passed.
const SOME_TIME: Duration = Duration::from_secs(1);

fn spawn<S: 'static, R: 'static>(
    shared: &Arc<S>,
    run: impl FnOnce(&S) -> R + 'static,
) -> thread::JoinHandle<R> {
    let shared = shared.clone();
    thread::spawn(move || run(&shared))
}

/// A number whose use without the lock is a fault that loom sees.
struct Number(UnsafeCell<u32>);

// SAFETY: it is used under a lock, which loom checks.
unsafe impl Sync for Number {}
// SAFETY: a number may go anywhere.
unsafe impl Send for Number {}

impl Number {
    fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    fn add(&mut self) {
        // SAFETY: loom checks it.
        self.0.with_mut(|number| unsafe { *number += 1 });
    }

    fn get(&self) -> u32 {
        // SAFETY: loom checks it.
        self.0.with(|number| unsafe { *number })
    }
}

// Mutex.

fn a_task_and_a_thread_lock() {
    model(3, || {
        let mutex = Arc::new(Mutex::new(Number::new()));
        let thread = spawn(&mutex, |mutex| mutex.blocking_lock().add());
        block_on(mutex.lock()).add();
        thread.join().unwrap();
        assert_eq!(mutex.try_lock().unwrap().get(), 2);
    });
}

fn three_lock() {
    model(2, || {
        let mutex = Arc::new(Mutex::new(Number::new()));
        let tasks = [(); 2].map(|()| spawn(&mutex, |mutex| block_on(mutex.lock()).add()));
        if let Ok(mut number) = mutex.try_lock() {
            number.add();
        }
        tasks.into_iter().for_each(|task| task.join().unwrap());
        let number = mutex.try_lock().unwrap().get();
        assert!((2..=3).contains(&number));
    });
}

/// Dropped after this many polls, it leaves the lock to the others.
fn a_locker_gives_up(polls: usize) {
    model(2, move || {
        let mutex = Arc::new(Mutex::new(Number::new()));
        let other = spawn(&mutex, |mutex| block_on(mutex.lock()).add());
        let third = spawn(&mutex, |mutex| block_on(mutex.lock()).add());
        let mut taken = 0;
        {
            let mut locks = pin!(mutex.lock());
            for _ in 0..polls {
                if let Poll::Ready(mut number) = poll(locks.as_mut(), Waker::noop()) {
                    number.add();
                    taken = 1;
                    break;
                }
            }
        }
        other.join().unwrap();
        third.join().unwrap();
        assert_eq!(mutex.try_lock().unwrap().get(), 2 + taken);
    });
}

// Semaphore.

fn two_tasks_and_one_permit() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let tasks = [(); 2].map(|()| {
            spawn(&semaphore, |semaphore| {
                drop(block_on(semaphore.acquire()).unwrap())
            })
        });
        semaphore.add_permits(1);
        tasks.into_iter().for_each(|task| task.join().unwrap());
        assert_eq!(semaphore.try_acquire().unwrap().num_permits(), 1);
    });
}

/// One wants two, the other one, and permits come one after the other. In any order of arrival
/// both get theirs.
fn different_amounts() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let greedy = spawn(&semaphore, |semaphore| {
            drop(block_on(semaphore.acquire_many(2)).unwrap());
        });
        let modest = spawn(&semaphore, |semaphore| {
            drop(semaphore.blocking_acquire().unwrap());
        });
        semaphore.add_permits(1);
        semaphore.add_permits(1);
        greedy.join().unwrap();
        modest.join().unwrap();
        assert_eq!(semaphore.try_acquire_many(2).unwrap().num_permits(), 2);
    });
}

/// Both are served by one release.
fn two_at_once() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let tasks = [(); 2].map(|()| {
            spawn(&semaphore, |semaphore| {
                block_on(semaphore.acquire()).unwrap().forget()
            })
        });
        semaphore.add_permits(2);
        tasks.into_iter().for_each(|task| task.join().unwrap());
        semaphore.add_permits(1);
        assert!(semaphore.try_acquire().is_ok());
    });
}

/// The waiter at the front wants more than there is, and gives up. For the one behind it there is
/// enough.
fn the_front_gives_up() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let mut greedy = Box::pin(semaphore.acquire_many(2));
        assert!(poll(greedy.as_mut(), Waker::noop()).is_pending());
        let modest = spawn(&semaphore, |semaphore| {
            drop(block_on(semaphore.acquire()).unwrap())
        });
        let release = spawn(&semaphore, |semaphore| semaphore.add_permits(1));
        drop(greedy);
        modest.join().unwrap();
        release.join().unwrap();
        assert!(semaphore.try_acquire().is_ok());
    });
}

/// A waiter is dropped while it is served. The permit is not lost.
fn the_chosen_gives_up() {
    model(3, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let mut waits = Box::pin(semaphore.acquire());
        assert!(poll(waits.as_mut(), Waker::noop()).is_pending());
        let release = spawn(&semaphore, |semaphore| semaphore.add_permits(1));
        drop(waits);
        release.join().unwrap();
        assert!(semaphore.try_acquire().is_ok());
    });
}

/// The deadline of a thread passes while it is served. It has the permit, or another one gets it.
fn a_thread_gives_up() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let waits = spawn(&semaphore, |semaphore| {
            let acquired = semaphore.blocking_acquire_timeout(SOME_TIME);
            acquired.map(|permit| permit.forget()).is_ok()
        });
        let release = spawn(&semaphore, |semaphore| semaphore.add_permits(1));
        blitz_io_futex::model::expire();
        let acquired = waits.join().unwrap();
        release.join().unwrap();
        assert_eq!(semaphore.available_permits(), usize::from(!acquired));
    });
}

/// A thread that wants more than there is gives up. For the one behind it there is enough.
fn a_thread_at_the_front_gives_up() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(1));
        let greedy = spawn(&semaphore, |semaphore| {
            semaphore
                .blocking_acquire_many_timeout(2, SOME_TIME)
                .is_err()
        });
        let modest = spawn(&semaphore, |semaphore| {
            semaphore.blocking_acquire().unwrap().forget();
        });
        blitz_io_futex::model::expire();
        assert!(greedy.join().unwrap());
        modest.join().unwrap();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

/// While one waits for two permits, no other task takes one of them.
fn nobody_goes_past_the_queue() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let mut waits = Box::pin(semaphore.acquire_many(2));
        assert!(poll(waits.as_mut(), Waker::noop()).is_pending());
        let release = spawn(&semaphore, |semaphore| semaphore.add_permits(2));
        let other = spawn(&semaphore, |semaphore| semaphore.try_acquire().is_ok());
        block_on(waits).unwrap().forget();
        release.join().unwrap();
        assert!(!other.join().unwrap());
        assert_eq!(semaphore.available_permits(), 0);
    });
}

/// While one waits for a permit, no other task forgets it.
fn nobody_forgets_past_the_queue() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let mut waits = Box::pin(semaphore.acquire());
        assert!(poll(waits.as_mut(), Waker::noop()).is_pending());
        let release = spawn(&semaphore, |semaphore| semaphore.add_permits(1));
        let other = spawn(&semaphore, |semaphore| semaphore.forget_permits(1));
        block_on(waits).unwrap().forget();
        release.join().unwrap();
        assert_eq!(other.join().unwrap(), 0);
        assert_eq!(semaphore.available_permits(), 0);
    });
}

fn all_is_closed() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let task = spawn(&semaphore, |semaphore| {
            block_on(semaphore.acquire()).is_err()
        });
        let thread = spawn(&semaphore, |semaphore| {
            semaphore.blocking_acquire().is_err()
        });
        semaphore.close();
        assert!(task.join().unwrap());
        assert!(thread.join().unwrap());
    });
}

/// One is served and told that all is closed at the same time.
fn served_and_closed() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let mut waits = Box::pin(semaphore.acquire());
        assert!(poll(waits.as_mut(), Waker::noop()).is_pending());
        let release = spawn(&semaphore, |semaphore| semaphore.add_permits(1));
        let close = spawn(&semaphore, |semaphore| semaphore.close());
        drop(block_on(waits));
        release.join().unwrap();
        close.join().unwrap();
        assert_eq!(semaphore.available_permits(), 1);
    });
}

/// One gives up, or is served, while all is closed.
fn closed_and_given_up() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let mut waits = Box::pin(semaphore.acquire());
        assert!(poll(waits.as_mut(), Waker::noop()).is_pending());
        let close = spawn(&semaphore, |semaphore| semaphore.close());
        let other = spawn(&semaphore, |semaphore| {
            block_on(semaphore.acquire()).is_err()
        });
        drop(waits);
        close.join().unwrap();
        assert!(other.join().unwrap());
        semaphore.add_permits(1);
        assert_eq!(semaphore.available_permits(), 1);
    });
}

// RwLock.

fn readers_and_a_writer() {
    model(2, || {
        let lock = Arc::new(RwLock::with_max_readers(Number::new(), 2));
        let reader = spawn(&lock, |lock| block_on(lock.read()).get());
        let thread = spawn(&lock, |lock| lock.blocking_read().get());
        block_on(lock.write()).add();
        assert!(reader.join().unwrap() <= 1);
        assert!(thread.join().unwrap() <= 1);
        assert_eq!(lock.try_read().unwrap().get(), 1);
        lock.try_write().unwrap().add();
    });
}

fn a_writer_steps_down() {
    model(2, || {
        let lock = Arc::new(RwLock::with_max_readers(Number::new(), 2));
        let writer = spawn(&lock, |lock| block_on(lock.write()).add());
        let reader = spawn(&lock, |lock| block_on(lock.read()).get());
        let mut guard = block_on(lock.write());
        guard.add();
        let guard = guard.downgrade();
        assert!((1..=2).contains(&guard.get()));
        drop(guard);
        writer.join().unwrap();
        assert!(reader.join().unwrap() <= 2);
        assert_eq!(lock.try_write().unwrap().get(), 2);
    });
}

/// Two readers leave. Next comes the writer, and either reader may serve it: it sees the work of
/// both.
fn the_last_reader_serves_the_writer() {
    model(2, || {
        let lock = Arc::new(RwLock::with_max_readers(Number::new(), 2));
        let readers = [(); 2].map(|()| {
            let guard = lock.clone().try_read_owned().unwrap();
            thread::spawn(move || assert_eq!(guard.get(), 0))
        });
        block_on(lock.write()).add();
        readers
            .into_iter()
            .for_each(|reader| reader.join().unwrap());
        assert_eq!(lock.try_write().unwrap().get(), 1);
    });
}

#[test]
fn tasks_and_threads_lock_a_mutex() {
    a_task_and_a_thread_lock();
    three_lock();
}

#[test]
fn who_gives_up_leaves_the_mutex_to_others() {
    a_locker_gives_up(0);
    a_locker_gives_up(1);
    a_locker_gives_up(2);
}

#[test]
fn a_permit_goes_round() {
    two_tasks_and_one_permit();
}

#[test]
fn both_get_what_they_need() {
    different_amounts();
}

#[test]
fn one_release_serves_two() {
    two_at_once();
}

#[test]
fn who_gives_up_lets_those_behind_proceed() {
    the_front_gives_up();
}

#[test]
fn a_thread_at_its_deadline_loses_no_permit() {
    a_thread_gives_up();
}

#[test]
fn a_thread_at_its_deadline_lets_those_behind_proceed() {
    a_thread_at_the_front_gives_up();
}

#[test]
fn who_was_chosen_passes_it_on() {
    the_chosen_gives_up();
}

#[test]
fn the_queue_is_not_overtaken() {
    nobody_goes_past_the_queue();
    nobody_forgets_past_the_queue();
}

#[test]
fn closing_reaches_everybody() {
    all_is_closed();
    served_and_closed();
    closed_and_given_up();
}

#[test]
fn many_readers_or_one_writer() {
    readers_and_a_writer();
}

#[test]
fn stepping_down_lets_readers_in() {
    a_writer_steps_down();
}

#[test]
fn a_writer_sees_what_all_readers_did() {
    the_last_reader_serves_the_writer();
}
