//! More threads than processors do everything at once, and the sums are right.

use std::sync::atomic::{AtomicU64, Ordering};

use blitz_io_pool::{ThreadPool, for_each, join, scope};

use crate::join::pool;

fn mixed(depth: u32, seed: u64, sum: &AtomicU64) {
    if depth == 0 {
        sum.fetch_add(1, Ordering::Relaxed);
        if seed % 61 == 0 {
            std::thread::yield_now();
        }
        return;
    }
    let next = |n: u64| {
        seed.wrapping_mul(6364136223846793005)
            .wrapping_add(n * 2 + 1)
    };
    match seed % 5 {
        0 => scope(|scope| {
            for n in 0..2 {
                scope.spawn(move |_| mixed(depth - 1, next(n), sum));
            }
        }),
        1 => for_each(0..2, 1, |n| mixed(depth - 1, next(n as u64), sum)),
        _ => {
            join(
                || mixed(depth - 1, next(0), sum),
                || mixed(depth - 1, next(1), sum),
            );
        }
    }
}

fn run(pool: &ThreadPool, rounds: u64) {
    for round in 0..rounds {
        let sum = AtomicU64::new(0);
        pool.install(|| mixed(10, round * 7919 + 3, &sum));
        assert_eq!(sum.into_inner(), 1024);
    }
}

#[test]
fn joins_scopes_and_loops_mixed() {
    for threads in [1, 2, 4, 16] {
        run(&pool(threads), 25);
    }
}

#[test]
fn several_outsiders_use_one_pool() {
    let pool = pool(4);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| run(&pool, 10));
        }
    });
}

#[test]
fn pauses_between_bursts_lose_nobody() {
    let pool = pool(3);
    let sum = AtomicU64::new(0);
    for round in 0..200_u64 {
        if round % 3 == 0 {
            std::thread::sleep(std::time::Duration::from_micros(round * 13));
        }
        pool.for_each(0..16, 1, |_| {
            sum.fetch_add(1, Ordering::Relaxed);
        });
        pool.install(|| join(|| (), || ()));
    }
    assert_eq!(sum.into_inner(), 3200);
}
