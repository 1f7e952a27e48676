//! The fork-join pool in a simulation: the seed decides in which order jobs run, and on which worker.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;

use blitz_io::pool::{self, ThreadPoolBuilder, Yield};
use blitz_io::sim::{self, Builder, Cause, Schedule};
use blitz_io::task;
use blitz_io::thread as locks;

/// Returns all results that runs of the test have.
fn results<T: Ord + Send + 'static>(
    seeds: u64,
    test: impl Fn() -> T + Clone + 'static,
) -> BTreeSet<T> {
    let all = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = all.clone();
    Builder::new().seeds(seeds).run(move || {
        let (test, seen) = (test.clone(), seen.clone());
        async move { _ = seen.lock().unwrap().insert(test()) }
    });
    std::mem::take(&mut all.lock().unwrap())
}

fn sum(numbers: &[u64]) -> u64 {
    if let [number] = numbers {
        return *number;
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    let (left, right) = pool::join(|| sum(left), || sum(right));
    left + right
}

#[test]
fn a_join_has_the_same_result_in_each_run() {
    let numbers: Vec<u64> = (1..=20).collect();
    assert_eq!(results(200, move || sum(&numbers)), BTreeSet::from([210]));
}

/// Fails if the second closure comes first.
async fn order_matters() {
    let order = Mutex::new(Vec::new());
    pool::join(
        || order.lock().unwrap().push(1),
        || order.lock().unwrap().push(2),
    );
    assert_eq!(order.into_inner().unwrap(), [1, 2]);
}

#[test]
fn an_order_of_closures_that_fails_is_found_and_replayed() {
    let failure = Builder::new().seeds(20).check(order_matters).unwrap_err();
    assert!(matches!(failure.cause(), Cause::Panic(_)), "{failure}");
    assert_eq!(failure.trace().len(), 1, "{failure}");
    let replay = Builder::new().trace(failure.trace().clone());
    let again = replay.check(order_matters).unwrap_err();
    assert_eq!(again.cause(), failure.cause());
    // Without a decision, the first closure comes first.
    Builder::new()
        .schedule(Schedule::RoundRobin)
        .run(order_matters);
}

#[test]
fn each_order_is_a_run() {
    let exhaustive = Builder::new().schedule(Schedule::Exhaustive { preemptions: None });
    let all = Arc::new(Mutex::new(Vec::new()));
    let seen = all.clone();
    let report = exhaustive.run(move || {
        let seen = seen.clone();
        async move {
            let two = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
            let order = Mutex::new(Vec::new());
            two.install(|| {
                let push = |name| order.lock().unwrap().push(name);
                pool::join_context(
                    |_| push('a'),
                    |context| push(if context.migrated() { 'B' } else { 'b' }),
                )
            });
            let order = order.into_inner().unwrap();
            seen.lock().unwrap().push(String::from_iter(order));
        }
    });
    assert!(report.is_complete());
    let mut all = all.lock().unwrap().clone();
    all.sort();
    // On either worker of the pool.
    assert_eq!(all, ["Ba", "Ba", "aB", "aB", "ab", "ab"]);
}

#[test]
fn jobs_of_a_scope_run_in_each_order() {
    let orders = results(300, || {
        let order = Mutex::new(String::new());
        let push = |name| order.lock().unwrap().push(name);
        pool::scope(|scope| {
            scope.spawn(|scope| {
                push('a');
                scope.spawn(|_| push('b'));
            });
            scope.spawn(|_| push('c'));
        });
        order.into_inner().unwrap()
    });
    assert_eq!(
        orders,
        BTreeSet::from(["abc", "acb", "cab"].map(String::from))
    );
}

#[test]
fn jobs_run_on_each_worker() {
    let workers = results(200, || {
        let worker = AtomicUsize::new(usize::MAX);
        pool::scope(|scope| {
            scope.spawn(|_| worker.store(pool::current_thread_index().unwrap(), Relaxed));
        });
        assert_eq!(pool::current_thread_index(), None);
        worker.into_inner()
    });
    assert_eq!(pool::current_num_threads().min(1), 1);
    assert_eq!(workers, BTreeSet::from([0, 1, 2, 3]));
    assert_eq!(results(1, pool::current_num_threads), BTreeSet::from([4]));
}

#[test]
fn a_pool_of_one_worker_has_one_order() {
    let orders = results(100, || {
        let one = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let order = Mutex::new(String::new());
        let push = |name| order.lock().unwrap().push(name);
        one.scope(|scope| {
            scope.spawn(|_| push('a'));
            scope.spawn(|_| push('b'));
            pool::join(|| push('c'), || push('d'));
        });
        one.scope_fifo(|scope| {
            scope.spawn_fifo(|_| push('e'));
            scope.spawn_fifo(|_| push('f'));
        });
        order.into_inner().unwrap()
    });
    assert_eq!(orders, BTreeSet::from(["cdbaef".to_owned()]));
}

#[test]
fn a_panic_comes_after_both_closures() {
    let report = Builder::new().seeds(50).run(|| async {
        let ran = AtomicUsize::new(0);
        let both = catch_unwind(AssertUnwindSafe(|| {
            pool::join(
                || {
                    ran.fetch_add(1, Relaxed);
                    resume_unwind(Box::new(1))
                },
                || {
                    ran.fetch_add(1, Relaxed);
                    resume_unwind(Box::new(2))
                },
            );
        }));
        assert_eq!(both.unwrap_err().downcast_ref(), Some(&1));
        assert_eq!(ran.load(Relaxed), 2);
        let of_job = catch_unwind(AssertUnwindSafe(|| {
            pool::scope(|scope| {
                scope.spawn(|_| resume_unwind(Box::new(3)));
                scope.spawn(|_| _ = ran.fetch_add(1, Relaxed));
            });
        }));
        assert_eq!(of_job.unwrap_err().downcast_ref(), Some(&3));
        assert_eq!(ran.load(Relaxed), 3);
    });
    assert_eq!(report.runs(), 50);
}

#[test]
fn loops_run_each_item_once_in_orders_that_differ() {
    let orders = results(200, || {
        let order = Mutex::new(Vec::new());
        pool::for_each(0..6, 2, |item| order.lock().unwrap().push(item));
        let order = order.into_inner().unwrap();
        assert_eq!(order.iter().sum::<usize>(), 15);
        assert_eq!(pool::map_reduce(0..100, 0, |n| n, |a, b| a + b), Some(4950));
        let found = pool::try_for_each(0..100, 1, |n| {
            if n == 77 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        assert!(found.is_break());
        order
    });
    assert_eq!(orders.len(), 4, "{orders:?}");
}

#[test]
fn a_broadcast_reaches_each_worker_in_any_order() {
    let firsts = results(100, || {
        let first = AtomicUsize::new(usize::MAX);
        let indexes = pool::broadcast(|context| {
            _ = first.compare_exchange(usize::MAX, context.index(), Relaxed, Relaxed);
            context.index()
        });
        assert_eq!(indexes, [0, 1, 2, 3]);
        first.into_inner()
    });
    assert_eq!(firsts, BTreeSet::from([0, 1, 2, 3]));
}

#[test]
fn detached_jobs_are_tasks() {
    let report = Builder::new().seeds(100).run(|| async {
        let count = Arc::new(AtomicUsize::new(0));
        let (in_pool, in_task) = (count.clone(), count.clone());
        let run = pool::run(move || {
            in_pool.fetch_add(1, Relaxed);
            thread::current().id()
        });
        assert_eq!(count.load(Relaxed), 0);
        let task = blitz_io::spawn(async move {
            sim::sometimes("before", in_task.load(Relaxed) == 0);
            sim::sometimes("after", in_task.load(Relaxed) == 1);
        });
        assert_eq!(run.await, thread::current().id());
        task.await.unwrap();
        task::spawn_blocking(|| pool::spawn(|| sim::sometimes("in a blocking closure", true)))
            .await
            .unwrap();
    });
    assert!(report.never().is_empty(), "{:?}", report.never());
}

#[test]
fn a_detached_job_that_panics_fails_the_run() {
    let failure = Builder::new()
        .check(|| async { pool::spawn(|| panic!("on purpose")) })
        .unwrap_err();
    let Cause::Panic(message) = failure.cause() else {
        panic!("{failure}");
    };
    assert!(message.contains("on purpose"), "{message}");
    let seen = Arc::new(AtomicUsize::new(0));
    let handled = seen.clone();
    Builder::new().seeds(10).run(move || {
        let handled = handled.clone();
        async move {
            let handler = move |_| _ = handled.fetch_add(1, Relaxed);
            let pool = ThreadPoolBuilder::new()
                .num_threads(2)
                .panic_handler(handler);
            let pool = pool.build().unwrap();
            pool.spawn(|| resume_unwind(Box::new(1)));
            _ = pool.run(|| 1).await;
        }
    });
    assert_eq!(seen.load(Relaxed), 10);
}

#[test]
fn a_worker_that_yields_runs_a_job() {
    Builder::new().seeds(50).run(|| async {
        pool::scope(|scope| {
            let done = AtomicUsize::new(0);
            let done = &done;
            assert_eq!(pool::current_thread_has_pending_tasks(), Some(false));
            pool::spawn(|| sim::sometimes("a detached job", true));
            assert_eq!(pool::current_thread_has_pending_tasks(), Some(true));
            assert_eq!(pool::yield_local(), Some(Yield::Executed));
            assert_eq!(pool::yield_now(), Some(Yield::Idle));
            _ = (scope, done);
        });
        assert_eq!(pool::yield_now(), None);
    });
}

#[test]
fn a_job_that_waits_for_another_one_is_no_deadlock() {
    let orders = results(100, || {
        let (sender, receiver) = blitz_io::sync::oneshot::channel();
        let event = locks::Event::new_auto(false);
        let barrier = locks::Barrier::new(2);
        let (value, ()) = pool::join(
            || receiver.blocking_recv().unwrap(),
            || sender.send(7).unwrap(),
        );
        pool::join(|| event.set(), || event.wait());
        pool::join(|| event.wait(), || event.set());
        let leaders = pool::join(|| barrier.wait().is_leader(), || barrier.wait().is_leader());
        assert!(leaders.0 != leaders.1);
        pool::scope(|scope| {
            scope.spawn(|_| event.wait());
            scope.spawn(|_| event.set());
            scope.spawn(|_| _ = pool::join(|| (), || ()));
        });
        (value, leaders.0)
    });
    assert_eq!(orders, BTreeSet::from([(7, false), (7, true)]));
}

/// A lock that is held across a call of the pool is no deadlock: no other job needs it before the caller goes on.
#[test]
fn a_detached_job_does_not_run_above_a_lock() {
    Builder::new().seeds(100).run(|| async {
        let shared = Arc::new(Mutex::new(0));
        let (same, blitz) = (shared.clone(), Arc::new(locks::Mutex::new(0)));
        let other = blitz.clone();
        pool::spawn(move || {
            *same.lock().unwrap() += 1;
            *other.lock() += 1;
        });
        {
            let (mut held, mut also) = (shared.lock().unwrap(), blitz.lock());
            pool::join(|| (), || ());
            (*held, *also) = (*held + 1, *also + 1);
            pool::scope(|scope| {
                pool::join(|| (), || ());
                scope.spawn(|_| ());
            });
        }
        while *blitz.lock() != 2 {
            task::yield_now().await;
        }
        assert_eq!(*shared.lock().unwrap(), 2);
    });
}

/// Splits as rayon's iterators do: a part that was stolen is split again. Returns the number of parts.
fn parts(len: usize, splits: usize, migrated: bool) -> usize {
    let splits = if migrated {
        splits.max(pool::current_num_threads())
    } else {
        splits
    };
    if len < 2 || splits == 0 {
        return 1;
    }
    let (left, right) = pool::join_context(
        |context| parts(len / 2, splits / 2, context.migrated()),
        |context| parts(len - len / 2, splits / 2, context.migrated()),
    );
    left + right
}

#[test]
fn thefts_decide_how_far_an_iterator_splits() {
    let counts = results(200, || parts(64, 4, false));
    assert!(counts.len() > 5, "{counts:?}");
    assert!(counts.iter().all(|count| (8..=64).contains(count)));
}
