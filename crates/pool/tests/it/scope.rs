//! Scopes and detached jobs: order, panics, broadcasts.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use blitz_io_pool::{ScopeFifo, ThreadPoolBuilder, in_place_scope, scope, scope_fifo};

use crate::join::pool;

#[test]
fn a_scope_waits_for_all_of_its_jobs_and_theirs() {
    let count = AtomicUsize::new(0);
    pool(3).scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|scope| {
                for _ in 0..10 {
                    scope.spawn(|_| {
                        count.fetch_add(1, Ordering::Relaxed);
                    });
                }
            });
        }
    });
    assert_eq!(count.into_inner(), 1000);
}

#[test]
fn more_jobs_than_a_worker_has_room_for() {
    let count = AtomicUsize::new(0);
    pool(2).scope(|scope| {
        for _ in 0..20_000 {
            scope.spawn(|_| {
                count.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(count.into_inner(), 20_000);
}

#[test]
fn one_worker_runs_the_last_job_first_and_a_fifo_scope_the_first() {
    let order = Mutex::new(Vec::new());
    let one = pool(1);
    one.scope(|scope| {
        for n in 0..5 {
            let order = &order;
            scope.spawn(move |_| order.lock().unwrap().push(n));
        }
    });
    assert_eq!(*order.lock().unwrap(), [4, 3, 2, 1, 0]);
    order.lock().unwrap().clear();
    one.scope_fifo(|scope: &ScopeFifo<'_>| {
        for n in 0..5 {
            let order = &order;
            scope.spawn_fifo(move |_| order.lock().unwrap().push(n));
        }
    });
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4]);
}

#[test]
fn a_panic_of_a_job_goes_on_when_all_have_ended() {
    let count = AtomicUsize::new(0);
    let result = panic::catch_unwind(AssertUnwindSafe(|| {
        pool(2).scope(|scope| {
            for n in 0..50 {
                let count = &count;
                scope.spawn(move |_| {
                    count.fetch_add(1, Ordering::Relaxed);
                    assert_ne!(n, 25, "this one");
                });
            }
        });
    }));
    assert!(result.is_err());
    assert_eq!(count.into_inner(), 50);
}

#[test]
fn scopes_nest_and_run_where_they_are() {
    let here = std::thread::current().id();
    let sum = in_place_scope(|_| {
        assert_eq!(std::thread::current().id(), here);
        scope(|_| scope_fifo(|_| 1)) + in_place_scope(|_| 1)
    });
    assert_eq!(sum, 2);
}

#[test]
fn a_broadcast_reaches_every_worker_once_even_while_one_waits_in_a_join() {
    let two = pool(2);
    let from_inside = two.install(|| {
        let (a, b) =
            blitz_io_pool::join(|| 0, || blitz_io_pool::broadcast(|context| context.index()));
        (a, b)
    });
    assert_eq!(from_inside.1, [0, 1]);
    assert_eq!(two.broadcast(|context| context.num_threads()), [2, 2]);
}

#[test]
fn a_detached_job_that_panics_tells_the_handler() {
    let (sender, receiver) = mpsc::channel();
    let sender = Mutex::new(sender);
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .panic_handler(move |payload| {
            let text = payload.downcast_ref::<&str>().copied().unwrap_or("?");
            sender.lock().unwrap().send(text).unwrap();
        })
        .build()
        .unwrap();
    pool.spawn(|| panic!("nobody waits for me"));
    assert_eq!(receiver.recv().unwrap(), "nobody waits for me");
    assert_eq!(pool.install(|| 1), 1);
}

#[test]
fn jobs_that_are_spawned_run_even_if_the_pool_is_dropped_meanwhile() {
    let (sender, receiver) = mpsc::channel();
    let pool = pool(2);
    for n in 0..100 {
        let sender = sender.clone();
        pool.spawn(move || sender.send(n).unwrap());
    }
    drop((pool, sender));
    assert_eq!(receiver.into_iter().count(), 100);
}
