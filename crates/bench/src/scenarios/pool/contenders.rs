//! The pools that are compared. Each is created once and kept, except fork_union's: its
//! threads never sleep, so a pool that waits for its turn would take the others'
//! processors.

use std::num::NonZero;
use std::sync::{Mutex, MutexGuard, PoisonError};

use paralight::iter::{IntoExactParallelSource, RangeParallelSource};
use paralight::prelude::{
    CpuPinningPolicy, RangeStrategy, ThreadCount, ThreadPool, ThreadPoolBuilder,
};

use crate::runtimes::Cache;

/// Keeps a pool for ever.
fn leak<P>(pool: P) -> &'static P {
    Box::leak(Box::new(pool))
}

pub(super) fn ours(threads: usize) -> &'static blitz_io_pool::ThreadPool {
    static POOLS: Cache<&blitz_io_pool::ThreadPool> = Cache::new();
    POOLS.get(threads, 0, |threads| {
        let pool = blitz_io_pool::ThreadPoolBuilder::new().num_threads(threads);
        leak(pool.build().expect("threads can be started"))
    })
}

pub(super) fn rayons(threads: usize) -> &'static rayon::ThreadPool {
    static POOLS: Cache<&rayon::ThreadPool> = Cache::new();
    POOLS.get(threads, 0, |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        leak(pool.build().expect("threads can be started"))
    })
}

pub(super) fn chilis(threads: usize) -> &'static chili::ThreadPool {
    static POOLS: Cache<&chili::ThreadPool> = Cache::new();
    POOLS.get(threads, 0, |threads| {
        leak(chili::ThreadPool::with_config(chili::Config {
            thread_count: NonZero::new(threads),
            ..Default::default()
        }))
    })
}

/// Returns the pool that hands out equal shares, or lets its threads take from each other.
pub(super) fn paralights(
    threads: usize,
    strategy: RangeStrategy,
) -> MutexGuard<'static, ThreadPool> {
    static EQUAL: Cache<&Mutex<ThreadPool>> = Cache::new();
    static STEALING: Cache<&Mutex<ThreadPool>> = Cache::new();
    fn start(threads: usize, range_strategy: RangeStrategy) -> &'static Mutex<ThreadPool> {
        let builder = ThreadPoolBuilder {
            num_threads: ThreadCount::try_from(threads).expect("there is a thread"),
            range_strategy,
            cpu_pinning: CpuPinningPolicy::No,
        };
        leak(Mutex::new(builder.build()))
    }
    let pool = match strategy {
        RangeStrategy::Fixed => EQUAL.get(threads, 0, |n| start(n, RangeStrategy::Fixed)),
        RangeStrategy::WorkStealing => {
            STEALING.get(threads, 0, |n| start(n, RangeStrategy::WorkStealing))
        }
    };
    pool.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a pool for one measurement.
pub(super) fn fork_unions(threads: usize) -> fork_union::ThreadPool {
    fork_union::ThreadPool::try_spawn(threads).expect("threads can be started")
}

/// Returns the numbers below `end`, for paralight. (Its traits have methods with the names
/// of rayon's.)
pub(super) fn range(end: usize) -> RangeParallelSource<usize> {
    (0..end).into_par_iter()
}
