//! The state of a current-thread scheduler that all threads share.
//!
//! No task is forgotten in its inject queue: a pusher writes the length and then unparks, and the
//! running thread looks at the length before it parks. Either it sees the length, or the
//! unpark comes later than its look, and the park returns (`driver.rs`).

use std::collections::BTreeMap;
use std::fmt;
#[cfg(feature = "sim")]
use std::sync::OnceLock;
use std::task::Waker;

use blitz_io_core::Lock;
use blitz_io_futex::atomic::{AtomicBool, Ordering};
#[cfg(feature = "sim")]
use blitz_io_observe::decisions;

use crate::api::common::Common;
use crate::api::metrics::Counters;
use crate::api::pool::Spawner;
use crate::api::scheduler::reference::Base;
#[cfg(feature = "sim")]
use crate::kernel::context;
use crate::kernel::driver::Driver;
use crate::kernel::inject::Inject;
#[cfg(feature = "sim")]
use crate::kernel::task::AbortHandle;
use crate::kernel::task::{Id, Notified};

/// The shared state of a current-thread scheduler; see the module documentation.
pub(crate) struct Shared {
    pub(super) inject: Inject<Notified>,
    /// Another thread has woken the future that `block_on` was given.
    pub(super) main_woken: AtomicBool,
    /// The parker of the running thread.
    pub(super) driver: Driver,
    pub(super) counters: Counters,
    /// Counters that stay at zero, of the other workers in a simulation.
    #[cfg(feature = "sim")]
    of_others: OnceLock<Counters>,
    /// The wakers of tasks that are pinned to a thread which does not run the tasks now, one for each.
    pub(super) set_aside: Lock<BTreeMap<Id, Waker>>,
    pub(crate) base: Base,
}

impl Shared {
    pub(super) fn new(common: Common, pool: Spawner) -> Self {
        Self {
            inject: Inject::new(),
            main_woken: AtomicBool::new(false),
            driver: Driver::of(&common),
            counters: Counters::new(&common.config),
            #[cfg(feature = "sim")]
            of_others: OnceLock::new(),
            set_aside: Lock::new(BTreeMap::new()),
            base: Base::new(common, pool),
        }
    }

    /// Wakes the future that `block_on` was given, from another thread.
    pub(super) fn wake_main(&self) {
        // The first one to wake it unparks.
        if !self.main_woken.swap(true, Ordering::AcqRel) {
            self.driver.unpark();
        }
    }

    /// Returns a handle of each task whose number `selects` accepts, if this thread runs the tasks and has spawned them.
    #[cfg(feature = "sim")]
    pub(crate) fn select_tasks(&self, selects: &dyn Fn(u64) -> bool) -> Vec<AbortHandle> {
        let address = std::ptr::from_ref(self).cast();
        if context::with(|context| context.worker_for(address)).is_null() {
            return Vec::new();
        }
        // SAFETY: this thread has the core, and with it the list.
        unsafe { self.base.owned.select_own(0, selects) }
    }

    /// Wakes the thread that runs the tasks, if it sleeps.
    pub(crate) fn unpark(&self, _: usize) {
        self.driver.unpark();
    }

    /// Returns the number of tasks that other threads have made ready and no thread has taken.
    pub(crate) fn injected(&self) -> usize {
        self.inject.len()
    }

    /// Returns the number of tasks in the running thread's queue.
    #[track_caller]
    pub(crate) fn queued(&self, worker: usize) -> usize {
        self.counters(worker).queued.get() as usize
    }

    /// Returns the counters of the running thread.
    #[track_caller]
    pub(crate) fn counters(&self, worker: usize) -> &Counters {
        #[cfg(feature = "sim")]
        if decisions::is_on() && (1..decisions::WORKERS as usize).contains(&worker) {
            // Worker 0 has the counts of all workers that the thread of a simulation plays.
            return self
                .of_others
                .get_or_init(|| Counters::new(&self.base.common.config));
        }
        assert_eq!(0, worker);
        &self.counters
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("current_thread::Handle { ... }")
    }
}
