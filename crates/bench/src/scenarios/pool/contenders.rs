//! The pools that are compared. Each is created once and kept, except fork_union's: its
//! threads never sleep, so a pool that waits for its turn would take the others'
//! processors.

use std::num::NonZero;
use std::sync::{Mutex, MutexGuard, PoisonError};

use paralight::iter::{IntoExactParallelSource, RangeParallelSource};
use paralight::prelude::{
    CpuPinningPolicy, RangeStrategy, ThreadCount, ThreadPool, ThreadPoolBuilder,
};

#[cfg(target_env = "musl")]
use super::no_fork_union as fork_union;
use crate::runtimes::kept;

/// Keeps a pool for ever.
fn leak<P>(pool: P) -> &'static P {
    Box::leak(Box::new(pool))
}

pub(super) fn ours(threads: usize) -> &'static blitz_io_pool::ThreadPool {
    kept::<blitz_io_pool::ThreadPool, _>(threads, 0, |threads| {
        let pool = blitz_io_pool::ThreadPoolBuilder::new().num_threads(threads);
        leak(pool.build().expect("threads can be started"))
    })
}

pub(super) fn rayons(threads: usize) -> &'static rayon::ThreadPool {
    kept::<rayon::ThreadPool, _>(threads, 0, |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        leak(pool.build().expect("threads can be started"))
    })
}

pub(super) fn chilis(threads: usize) -> &'static chili::ThreadPool {
    kept::<chili::ThreadPool, _>(threads, 0, |threads| {
        leak(chili::ThreadPool::with_config(chili::Config {
            thread_count: NonZero::new(threads),
            ..Default::default()
        }))
    })
}

/// Returns the pool that hands out equal shares, or lets its threads take from each other.
pub(super) fn paralights(threads: usize, steals: bool) -> MutexGuard<'static, ThreadPool> {
    fn start(threads: usize, range_strategy: RangeStrategy) -> &'static Mutex<ThreadPool> {
        let builder = ThreadPoolBuilder {
            num_threads: ThreadCount::try_from(threads).expect("there is a thread"),
            range_strategy,
            cpu_pinning: CpuPinningPolicy::No,
        };
        leak(Mutex::new(builder.build()))
    }
    let pool = if steals {
        kept::<ThreadPool, _>(threads, 1, |threads| {
            start(threads, RangeStrategy::WorkStealing)
        })
    } else {
        kept::<ThreadPool, _>(threads, 0, |threads| start(threads, RangeStrategy::Fixed))
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
