//! Waiting for the locks for tasks allocates nothing, nor does anything else they
//! do.
//!
//! The allocations of the whole process are counted, so this file has one test.

use std::hint::black_box;
use std::pin::pin;
use std::task::Waker;
use std::thread;

use blitz_io_sync::task::{Mutex, RwLock, Semaphore};
use blitz_io_testing::threads::Watchdog;
use blitz_io_testing::{Counting, poll_once};

const TURNS: usize = 200;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the fewest allocations of several turns.
fn allocations(turn: impl Fn()) -> usize {
    ALLOCATOR.fewest(|| (0..TURNS).for_each(|_| turn()))
}

fn semaphore() {
    let semaphore = Semaphore::new(1);
    let permit = semaphore.try_acquire().unwrap();
    let mut gives_up = pin!(None);
    {
        let mut first = pin!(semaphore.acquire_many(2));
        let mut second = pin!(semaphore.acquire());
        assert!(poll_once(first.as_mut(), Waker::noop()).is_pending());
        assert!(poll_once(second.as_mut(), Waker::noop()).is_pending());
        gives_up.set(Some(semaphore.acquire()));
        let third = gives_up.as_mut().as_pin_mut().unwrap();
        assert!(poll_once(third, Waker::noop()).is_pending());
        gives_up.set(None);
        drop(permit);
        semaphore.add_permits(2);
        assert!(poll_once(first.as_mut(), Waker::noop()).is_ready());
        assert!(poll_once(second.as_mut(), Waker::noop()).is_ready());
    }
    semaphore.blocking_acquire().unwrap().forget();
    semaphore.close();
}

fn mutex() {
    let mutex = Mutex::new(0);
    let guard = mutex.blocking_lock();
    let mut first = pin!(mutex.lock());
    let mut second = pin!(mutex.lock());
    assert!(poll_once(first.as_mut(), Waker::noop()).is_pending());
    assert!(poll_once(second.as_mut(), Waker::noop()).is_pending());
    drop(guard);
    assert!(poll_once(first.as_mut(), Waker::noop()).is_ready());
    assert!(poll_once(second.as_mut(), Waker::noop()).is_ready());
}

fn rwlock() {
    let lock = RwLock::new(0);
    let guard = lock.blocking_read();
    let mut writer = pin!(lock.write());
    let mut reader = pin!(lock.read());
    assert!(poll_once(writer.as_mut(), Waker::noop()).is_pending());
    assert!(poll_once(reader.as_mut(), Waker::noop()).is_pending());
    drop(guard);
    assert!(
        poll_once(writer.as_mut(), Waker::noop())
            .map(|guard| guard.downgrade())
            .is_ready()
    );
    assert!(poll_once(reader.as_mut(), Waker::noop()).is_ready());
}

/// Threads that wait for each other, which they have been doing for a while.
fn between_threads() {
    let _watchdog = Watchdog::new("counting allocations");
    let (ping, pong) = (Semaphore::new(0), Semaphore::new(0));
    let (mutex, lock) = (Mutex::new(0), RwLock::new(0));
    let turn = |mine: &Semaphore, other: &Semaphore| {
        *mutex.blocking_lock() += 1;
        *lock.blocking_write() += 1;
        other.add_permits(1);
        black_box(*lock.blocking_read());
        mine.blocking_acquire().unwrap().forget();
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            while !pong.is_closed() {
                turn(&ping, &pong);
            }
        });
        let seen = allocations(|| turn(&pong, &ping));
        pong.close();
        ping.add_permits(2);
        assert_eq!(seen, 0, "threads");
    });
}

/// One test, since the others' allocations would be counted, too.
#[test]
fn waiting_allocates_nothing() {
    // The count is counted.
    let seen = allocations(|| drop(black_box(Box::new(1))));
    assert!(seen >= TURNS);

    assert_eq!(allocations(mutex), 0, "Mutex");
    assert_eq!(allocations(rwlock), 0, "RwLock");
    assert_eq!(allocations(semaphore), 0, "Semaphore");
    between_threads();
}
