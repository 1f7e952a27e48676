//! `PoolMetrics`: the figures of a pool.

use std::sync::Arc;

use blitz_io_core::debug_fields;

use crate::global::started_global;
use crate::registry::Registry;
use crate::thread_pool::ThreadPool;

/// The metrics of a pool. They keep its memory, but not its threads.
///
/// Returned by [`ThreadPool::metrics`] and [`global_metrics`]. The figures are read one after the other
/// while the pool runs, so they may not match each other exactly.
///
/// ```
/// let pool = blitz_io::pool::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
/// let metrics = pool.metrics();
/// assert_eq!(metrics.num_threads(), 2);
/// assert!(metrics.sleeping_threads() <= 2);
/// assert_eq!(metrics.queued_jobs(), 0);
/// ```
#[derive(Clone)]
pub struct PoolMetrics {
    registry: Arc<Registry>,
}

impl PoolMetrics {
    /// Returns the number of workers, which does not change.
    #[must_use]
    pub fn num_threads(&self) -> usize {
        self.registry.num_threads()
    }

    /// Returns how many workers sleep for want of work. One that waits for the end of a job is not
    /// among them.
    #[must_use]
    pub fn sleeping_threads(&self) -> usize {
        self.registry.sleep.sleeping()
    }

    /// Returns how many jobs from other threads no worker has taken yet.
    #[must_use]
    pub fn queued_jobs(&self) -> usize {
        self.registry.injector.len()
    }
}

debug_fields! {
    impl PoolMetrics, |this| {
        num_threads: this.num_threads(),
        sleeping_threads: this.sleeping_threads(),
        queued_jobs: this.queued_jobs(),
    }
}

impl ThreadPool {
    /// Returns the pool's metrics.
    #[must_use]
    pub fn metrics(&self) -> PoolMetrics {
        PoolMetrics {
            registry: self.registry.clone(),
        }
    }
}

/// Returns the metrics of the global pool; `None` while it has not been started, which this does not
/// do.
///
/// ```
/// use blitz_io::pool;
///
/// pool::join(|| (), || ());
/// assert!(pool::global_metrics().is_some());
/// ```
#[must_use]
pub fn global_metrics() -> Option<PoolMetrics> {
    let registry = started_global()?.clone();
    Some(PoolMetrics { registry })
}
