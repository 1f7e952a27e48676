//! What all threads know of a multi-thread scheduler.

use std::fmt;
use std::sync::Arc;

use blitz_futex::atomic::{AtomicBool, AtomicUsize, Ordering};
use blitz_sync::internals::Lock;
use blitz_sync::internals::awake::{self, Registered};

use super::core::Core;
use super::idle::Idle;
use crate::common::Common;
use crate::core::{Header, Notified};
use crate::metrics::Counters;
use crate::pool::Spawner;
use crate::scheduler::inject::Inject;
use crate::scheduler::reference::Base;

/// See the head of this file.
pub(crate) struct Shared {
    /// Dropped first: until then `idle` is asked how many workers are awake.
    registered: Lock<Option<Registered>>,
    /// One for each worker.
    pub(super) cores: Box<[Core]>,
    pub(super) inject: Inject<Header>,
    pub(super) idle: Idle,
    /// The runtime is about to end.
    closed: AtomicBool,
    /// How many workers have shut down.
    pub(super) shut_down: AtomicUsize,
    pub(crate) base: Base,
}

impl Shared {
    pub(super) fn new(common: Common, pool: Spawner) -> Self {
        let workers = common.config.worker_threads;
        let processors = blitz_sync::internals::processors();
        Self {
            registered: Lock::new(None),
            cores: (0..workers)
                .map(|index| Core::new(&common, index))
                .collect(),
            inject: Inject::new(),
            idle: Idle::new(workers, processors),
            closed: AtomicBool::new(false),
            shut_down: AtomicUsize::new(0),
            base: Base::new(common, pool),
        }
    }

    /// Lets others in this process know how many workers are awake.
    pub(super) fn register(this: &Arc<Self>) {
        // SAFETY: neither moves, and `registered` is dropped before `idle`.
        let registered = unsafe { awake::register(&this.idle) };
        *this.registered.lock() = Some(registered);
    }

    /// Whether events of the system may happen.
    pub(super) fn has_sources(&self) -> bool {
        self.cores.iter().any(|core| core.driver.has_sources())
    }

    /// Takes the next task of the inject queue.
    #[inline]
    pub(super) fn next_injected(&self) -> Option<Notified> {
        let task = self.inject.pop()?;
        // SAFETY: tokens are put in, and each is taken out once.
        Some(unsafe { Notified::from_raw(task) })
    }

    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Begins the end: the workers cancel all tasks and shut down.
    pub(crate) fn close(&self) {
        if !self.closed.swap(true, Ordering::SeqCst) {
            drop(self.registered.lock().take());
            self.idle
                .wake_all(|index| self.cores[index].driver.unpark());
        }
    }

    /// How many tasks wait in the queue that no worker owns.
    pub(crate) fn injected(&self) -> usize {
        self.inject.len()
    }

    /// How many tasks wait in a worker's own queue.
    #[track_caller]
    pub(crate) fn queued(&self, worker: usize) -> usize {
        self.cores[worker].queue_depth()
    }

    /// What a worker counts.
    #[track_caller]
    pub(crate) fn counters(&self, worker: usize) -> &Counters {
        &self.cores[worker].counters
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("multi_thread::Handle { ... }")
    }
}
