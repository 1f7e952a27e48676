//! The pools that are compared. Each is created once and kept, except fork_union's: its
//! threads never sleep, so a pool that waits for its turn would take the others'
//! processors.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use paralight::iter::{IntoExactParallelSource, RangeParallelSource};
use paralight::prelude::{
    CpuPinningPolicy, RangeStrategy, ThreadCount, ThreadPool, ThreadPoolBuilder,
};

/// Returns the pool of `threads` threads that `make` creates, one for each number of
/// threads.
fn cached<P>(pools: &'static [OnceLock<P>; 5], threads: usize, make: impl Fn() -> P) -> &'static P {
    pools[threads].get_or_init(make)
}

pub(super) fn ours(threads: usize) -> &'static blitz_io_pool::ThreadPool {
    static POOLS: [OnceLock<blitz_io_pool::ThreadPool>; 5] = [const { OnceLock::new() }; 5];
    cached(&POOLS, threads, || {
        let pool = blitz_io_pool::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().expect("threads can be started")
    })
}

pub(super) fn rayons(threads: usize) -> &'static rayon::ThreadPool {
    static POOLS: [OnceLock<rayon::ThreadPool>; 5] = [const { OnceLock::new() }; 5];
    cached(&POOLS, threads, || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().expect("threads can be started")
    })
}

pub(super) fn chilis(threads: usize) -> &'static chili::ThreadPool {
    static POOLS: [OnceLock<chili::ThreadPool>; 5] = [const { OnceLock::new() }; 5];
    cached(&POOLS, threads, || {
        let config = chili::Config {
            thread_count: std::num::NonZero::new(threads),
            ..Default::default()
        };
        chili::ThreadPool::with_config(config)
    })
}

/// Creates a pool that hands out equal shares, or lets its threads take from each other.
pub(super) fn paralights(
    threads: usize,
    strategy: RangeStrategy,
) -> MutexGuard<'static, ThreadPool> {
    static EQUAL: [OnceLock<Mutex<ThreadPool>>; 5] = [const { OnceLock::new() }; 5];
    static STEALING: [OnceLock<Mutex<ThreadPool>>; 5] = [const { OnceLock::new() }; 5];
    let pools = match strategy {
        RangeStrategy::Fixed => &EQUAL,
        RangeStrategy::WorkStealing => &STEALING,
    };
    let pool = cached(pools, threads, || {
        Mutex::new(
            ThreadPoolBuilder {
                num_threads: ThreadCount::try_from(threads).expect("there is a thread"),
                range_strategy: strategy,
                cpu_pinning: CpuPinningPolicy::No,
            }
            .build(),
        )
    });
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
