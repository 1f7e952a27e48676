//! `join`: results, panics, contexts, and the jobs that a waiting worker may run.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;

use blitz_io_pool::{ThreadPool, ThreadPoolBuilder, join, join_context};

pub fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

#[test]
fn a_recursion_gives_the_same_with_any_number_of_threads() {
    for threads in [1, 2, 3, 8] {
        assert_eq!(pool(threads).install(|| fib(22)), 17711);
    }
}

#[test]
fn both_closures_run_at_the_same_time_if_two_workers_are_free() {
    let both = Barrier::new(2);
    let two = pool(2);
    for _ in 0..20 {
        two.join(|| both.wait(), || both.wait());
    }
}

/// More workers than processors, each of which blocks until each has a closure.
#[test]
fn closures_that_wait_for_each_other_get_all_workers() {
    const THREADS: usize = 8;
    fn meet(closures: usize, all: &Barrier) {
        if closures == 1 {
            all.wait();
            return;
        }
        blitz_io_pool::join(
            || meet(closures / 2, all),
            || meet(closures - closures / 2, all),
        );
    }
    let (pool, all) = (pool(THREADS), Barrier::new(THREADS));
    for _ in 0..20 {
        pool.install(|| meet(THREADS, &all));
    }
}

#[test]
fn a_context_tells_who_was_stolen() {
    let both = Barrier::new(2);
    let migrated = pool(2).install(|| {
        join_context(
            |a| {
                both.wait();
                a.migrated()
            },
            |b| {
                both.wait();
                b.migrated()
            },
        )
    });
    assert_eq!(migrated, (false, true));
    let one = pool(1).install(|| join_context(|_| (), |b| b.migrated()));
    assert!(!one.1);
}

#[test]
fn a_deeper_recursion_than_there_is_room_for_runs_in_turn() {
    fn list(n: usize) -> usize {
        if n == 0 {
            return 0;
        }
        let (rest, one) = join(|| list(n - 1), || 1);
        rest + one
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .stack_size(64 << 20)
        .build()
        .unwrap();
    // More than a deque holds. (More calls than the thread sanitizer has room for: see .ci/tsan.)
    assert_eq!(pool.install(|| list(6_000)), 6_000);
}

fn message(panic: Result<(), Box<dyn std::any::Any + Send>>) -> &'static str {
    panic.unwrap_err().downcast_ref::<&str>().copied().unwrap()
}

#[test]
fn a_panic_goes_on_in_the_caller_and_the_pool_survives() {
    let two = pool(2);
    let first = panic::catch_unwind(AssertUnwindSafe(|| {
        two.join(|| panic!("first"), || ());
    }));
    assert_eq!(message(first), "first");
    let second = panic::catch_unwind(AssertUnwindSafe(|| {
        two.join(|| (), || panic!("second"));
    }));
    assert_eq!(message(second), "second");
    let both = panic::catch_unwind(AssertUnwindSafe(|| {
        two.join(|| panic!("first"), || panic!("second"));
    }));
    assert_eq!(message(both), "first");
    assert_eq!(two.install(|| fib(10)), 55);
}

#[test]
fn both_closures_run_if_one_panics_in_a_fine_recursion() {
    /// Counts the leaves. The one with the number 0 on `level` panics, and no other sees that.
    fn leaves(level: u32, panics: bool, count: &AtomicUsize) {
        if level == 0 {
            let unseen = usize::from(!thread::panicking());
            count.fetch_add(unseen, Ordering::Relaxed);
            assert!(!panics, "a leaf");
            return;
        }
        join(
            || leaves(level - 1, panics, count),
            || leaves(level - 1, false, count),
        );
    }
    for threads in [1, 2] {
        let pool = pool(threads);
        for _ in 0..20 {
            let count = AtomicUsize::new(0);
            let result = panic::catch_unwind(AssertUnwindSafe(|| {
                pool.install(|| {
                    leaves(10, false, &count);
                    leaves(10, true, &count);
                });
            }));
            assert_eq!(message(result), "a leaf");
            assert_eq!(count.into_inner(), 2 << 10);
        }
    }
}

/// Joins `second` with a closure that panics, and returns the message of the panic.
fn join_panicking(second: impl FnOnce() + Send) -> &'static str {
    let both = || {
        join(|| panic!("first"), second);
    };
    message(panic::catch_unwind(AssertUnwindSafe(both)))
}

#[test]
fn the_second_closure_and_its_jobs_do_not_run_while_the_first_ones_panic_unwinds() {
    let seen = Mutex::new(Vec::new());
    let look = || seen.lock().unwrap().push(thread::panicking());
    let second = || {
        look();
        join(look, look);
        blitz_io_pool::scope(|scope| scope.spawn(|_| look()));
        blitz_io_pool::for_each(0..2, 1, |_| look());
    };
    for threads in [1, 2] {
        let pool = pool(threads);
        assert_eq!(pool.install(|| join_panicking(second)), "first");
    }
    assert_eq!(join_panicking(second), "first", "from outside");
    assert_eq!(seen.into_inner().unwrap(), [false; 18]);
}

#[test]
fn other_jobs_of_the_worker_do_not_run_while_a_panic_unwinds() {
    let seen = Mutex::new(Vec::new());
    // The worker runs the spawned job before it finds the fork of the join below that.
    let result = panic::catch_unwind(AssertUnwindSafe(|| {
        pool(1).scope(|scope| {
            let first = || {
                scope.spawn(|_| seen.lock().unwrap().push(thread::panicking()));
                panic!("first");
            };
            join(first, || ());
        });
    }));
    assert_eq!(message(result), "first");
    assert_eq!(seen.into_inner().unwrap(), [false]);
}

#[test]
fn a_panic_of_both_closures_poisons_the_lock_of_the_second() {
    for threads in [1, 2] {
        let (pool, lock) = (pool(threads), Mutex::new(()));
        let second = || {
            let _held = lock.lock().unwrap();
            panic!("second");
        };
        assert_eq!(pool.install(|| join_panicking(second)), "first");
        assert!(lock.is_poisoned());
    }
    let lock = Mutex::new(());
    let second = || {
        let _held = lock.lock().unwrap();
        panic!("second");
    };
    assert_eq!(join_panicking(second), "first", "from outside");
    assert!(lock.is_poisoned());
}

#[test]
fn no_level_of_a_recursion_unwinds_while_its_second_closure_runs() {
    /// Panics below `levels` joins, each of which runs `second`, too.
    fn recurse(levels: usize, second: &(dyn Fn() + Sync)) {
        assert!(levels > 0, "the last one");
        join(|| recurse(levels - 1, second), second);
    }
    // More levels than a deque has room for.
    for (threads, levels) in [(1, 100), (2, 100), (1, 6_000)] {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .stack_size(64 << 20)
            .build()
            .unwrap();
        let (ran, unwinding) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let second = || {
            ran.fetch_add(1, Ordering::Relaxed);
            unwinding.fetch_add(usize::from(thread::panicking()), Ordering::Relaxed);
        };
        let result = panic::catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| recurse(levels, &second));
        }));
        assert_eq!(message(result), "the last one");
        assert_eq!(ran.into_inner(), levels);
        assert_eq!(unwinding.into_inner(), 0);
    }
}

#[test]
fn a_panic_waits_for_the_other_closure() {
    let (both, ended) = (Barrier::new(2), AtomicBool::new(false));
    let two = pool(2);
    let result = panic::catch_unwind(AssertUnwindSafe(|| {
        two.join(
            || {
                both.wait();
                panic!("early");
            },
            || {
                both.wait();
                thread::sleep(Duration::from_millis(20));
                ended.store(true, Ordering::SeqCst);
            },
        )
    }));
    assert!(result.is_err());
    assert!(ended.load(Ordering::SeqCst));
}

/// Other pools deadlock here: a worker that waits for its stolen closure begins an
/// unrelated job, which takes the lock that the worker holds.
#[test]
fn a_lock_that_is_held_across_join_does_not_deadlock() {
    let lock = Mutex::new(0_u32);
    let three = pool(3);
    let busy = |n: u64| {
        std::hint::black_box((0..n * 100).sum::<u64>());
    };
    three.scope(|scope| {
        for n in 0..2_000 {
            let (lock, busy) = (&lock, &busy);
            scope.spawn(move |_| {
                let mut held = lock.lock().unwrap();
                join(|| busy(n % 7), || busy(n % 300));
                *held += 1;
            });
        }
    });
    assert_eq!(*lock.lock().unwrap(), 2_000);
}

#[test]
fn a_waiting_worker_helps_its_thief() {
    // The worker's second closure is stolen and keeps forking. With two workers, each of
    // them has run some of that.
    let two = pool(2);
    let mine = AtomicUsize::new(0);
    two.install(|| {
        let me = blitz_io_pool::current_thread_index();
        let started = Barrier::new(2);
        join(
            || {
                started.wait();
            },
            || {
                started.wait();
                while mine.load(Ordering::Relaxed) == 0 {
                    join(
                        || thread::sleep(Duration::from_millis(1)),
                        || {
                            if blitz_io_pool::current_thread_index() == me {
                                mine.fetch_add(1, Ordering::Relaxed);
                            }
                        },
                    );
                }
            },
        );
    });
}
