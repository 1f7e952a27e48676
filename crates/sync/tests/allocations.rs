//! Waiting allocates nothing, neither without contention nor where threads sleep and are woken.
//!
//! The allocations of the whole process are counted, so this file has one test.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use blitz_io_sync::thread::{
    Barrier, Condvar, Event, FairMutex, Latch, Mutex, Once, OnceLock, Parker, ReentrantMutex,
    RwLock, Semaphore,
};
use blitz_io_testing::threads::Watchdog;
use blitz_io_testing::{Counting, fewest};

const THREADS: usize = 4;
const TURNS: usize = 200;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Where the threads of one attempt are. They wait for each other without any
/// help that might allocate.
#[derive(Default)]
struct Stage {
    here: AtomicUsize,
    stage: AtomicUsize,
}

impl Stage {
    /// Waits until all threads, and the counting one, have come to `stage`.
    fn reach(&self, stage: usize) {
        if self.here.fetch_add(1, Ordering::SeqCst) + 1 == stage * (THREADS + 1) {
            self.stage.store(stage, Ordering::SeqCst);
        }
        while self.stage.load(Ordering::SeqCst) < stage {
            thread::yield_now();
        }
    }
}

/// The fewest allocations that were seen while the threads ran `turn` with the result of `make`.
/// Each attempt runs it before, uncounted: the first wait in a process, and in a thread, may
/// allocate.
fn allocations<S: Sync>(make: impl Fn() -> S, turn: impl Fn(&S, usize) + Sync) -> usize {
    fewest(|| {
        let (warm_up, counted) = (make(), make());
        let stage = Stage::default();
        thread::scope(|scope| {
            for me in 0..THREADS {
                let (warm_up, counted, stage, turn) = (&warm_up, &counted, &stage, &turn);
                scope.spawn(move || {
                    turn(warm_up, me);
                    stage.reach(1);
                    stage.reach(2);
                    turn(counted, me);
                    stage.reach(3);
                    stage.reach(4);
                });
            }
            stage.reach(1);
            let before = ALLOCATOR.so_far();
            stage.reach(2);
            stage.reach(3);
            let after = ALLOCATOR.so_far();
            stage.reach(4);
            after - before
        })
    })
}

#[track_caller]
fn assert_none<S: Sync>(what: &str, make: impl Fn() -> S, turn: impl Fn(&S, usize) + Sync) {
    let _watchdog = Watchdog::new("counting allocations");
    let allocations = allocations(make, turn);
    assert_eq!(allocations, 0, "{what}: {THREADS} times {TURNS} turns");
}

/// Keeps the others waiting until some of them sleep.
fn linger(turn: usize) {
    if turn % 16 == 0 {
        thread::sleep(Duration::from_micros(200));
    }
}

fn locks() {
    assert_none(
        "Mutex",
        || Mutex::new(0),
        |mutex, _| {
            for turn in 0..TURNS {
                *mutex.lock() += 1;
                let mut guard = mutex.lock();
                linger(turn);
                *guard += 1;
                drop(guard);
                if let Some(mut guard) = mutex.try_lock_for(Duration::from_micros(70)) {
                    *guard += 1;
                }
            }
        },
    );
    assert_none(
        "FairMutex and ReentrantMutex",
        || (FairMutex::new(0), ReentrantMutex::new(0)),
        |(fair, reentrant), _| {
            for turn in 0..TURNS {
                *fair.lock() += 1;
                let _once = reentrant.lock();
                let _twice = reentrant.lock();
                linger(turn);
            }
        },
    );
    assert_none(
        "RwLock",
        || RwLock::new(0),
        |rwlock, me| {
            for turn in 0..TURNS {
                if (turn + me) % 4 == 0 {
                    let mut guard = rwlock.write();
                    linger(turn / 4);
                    *guard += 1;
                } else {
                    let guard = rwlock.read();
                    linger(turn);
                    black_box(*guard);
                }
                drop(rwlock.try_read_for(Duration::from_micros(70)));
                drop(rwlock.try_write_for(Duration::from_micros(70)));
            }
        },
    );
}

fn condvar() {
    assert_none(
        "Condvar",
        || (Mutex::new(0), Condvar::new()),
        |(number, changed), me| {
            for turn in 0..TURNS {
                let mut number = number.lock();
                changed.wait_while(&mut number, |number| *number % THREADS != me);
                linger(turn);
                *number += 1;
                changed.notify_all();
                changed.wait_for(&mut number, Duration::from_micros(50));
                changed.notify_one();
            }
        },
    );
}

fn semaphore() {
    assert_none(
        "Semaphore",
        || Semaphore::new(2),
        |semaphore, me| {
            for turn in 0..TURNS {
                let permit = semaphore.acquire_many(1 + me as u32 % 2).unwrap();
                linger(turn);
                drop(permit);
                drop(semaphore.acquire_many_timeout(2, Duration::from_micros(70)));
                semaphore.acquire().unwrap().forget();
                semaphore.add_permits(1);
            }
        },
    );
}

fn barrier() {
    assert_none(
        "Barrier",
        || (Barrier::new(THREADS), Barrier::new(THREADS + 1)),
        |(all, too_large), me| {
            for turn in 0..TURNS {
                linger(turn + 4 * me);
                all.wait();
                if turn % 16 == 0 {
                    too_large
                        .wait_timeout(Duration::from_micros(70))
                        .unwrap_err();
                }
            }
        },
    );
}

fn event() {
    assert_none(
        "Event",
        || (Event::new_auto(true), Event::new_manual(false)),
        |(auto, manual), me| {
            for turn in 0..TURNS {
                auto.wait();
                linger(turn);
                auto.set();
                let _ = auto.wait_timeout(Duration::from_micros(70));
                auto.set();
                let _ = manual.wait_timeout(Duration::from_micros(20));
                if me == 0 {
                    manual.set();
                    manual.reset();
                }
            }
        },
    );
}

fn parker() {
    assert_none(
        "Parker",
        || {
            let parkers: Vec<_> = (0..THREADS).map(|_| Parker::new()).collect();
            let unparkers: Vec<_> = parkers.iter().map(|p| p.unparker().clone()).collect();
            unparkers[0].unpark();
            let parkers: Vec<_> = parkers.into_iter().map(Mutex::new).collect();
            (parkers, unparkers)
        },
        |(parkers, unparkers), me| {
            let parker = parkers[me].lock();
            for turn in 0..TURNS {
                parker.park();
                linger(turn);
                unparkers[(me + 1) % THREADS].unpark();
                if parker.park_timeout(Duration::from_micros(70)) {
                    unparkers[me].unpark();
                }
            }
        },
    );
}

/// Those that are used once.
fn once() {
    assert_none(
        "Latch",
        || [(); TURNS].map(|()| Latch::new(THREADS)),
        |latches, me| {
            for (turn, latch) in latches.iter().enumerate() {
                linger(turn + 4 * me);
                latch.count_down();
                latch.wait();
            }
        },
    );
    assert_none(
        "Once and OnceLock",
        || {
            (
                [(); TURNS].map(|()| Once::new()),
                [(); TURNS].map(|()| OnceLock::new()),
            )
        },
        |(onces, locks), _| {
            for (turn, (once, lock)) in onces.iter().zip(locks).enumerate() {
                once.call_once(|| linger(turn));
                let made_in = lock.get_or_init(|| {
                    linger(turn);
                    turn
                });
                assert_eq!(*made_in, turn);
                once.wait();
                lock.wait();
            }
        },
    );
}

/// One test, since the others' allocations would be counted, too.
#[test]
fn waiting_allocates_nothing() {
    // The count is counted: an allocation in each turn is seen in each attempt.
    let seen = allocations(
        || (),
        |(), _| {
            for turn in 0..TURNS {
                black_box(Box::new(turn));
            }
        },
    );
    assert!(seen >= THREADS * TURNS);

    locks();
    condvar();
    semaphore();
    barrier();
    event();
    parker();
    once();
}
