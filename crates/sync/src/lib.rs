//! Primitives for threads and tasks that wait, on one small futex core.
//!
//! [`task`] has the primitives that a task awaits, with Tokio's names. [`thread`](mod@thread) has
//! those that block a thread, with the names of parking_lot, std and crossbeam. Both use the same
//! queue of waiters, and the primitives in `task` can also block a thread.
//!
//! ```
//! use std::sync::Arc;
//!
//! use blitz_io::{sync, thread}; // `sync` has the contents of `task` here
//!
//! let permits = Arc::new(sync::Semaphore::new(1));
//! let total = Arc::new(thread::Mutex::new(0));
//!
//! let (p, t) = (permits.clone(), total.clone());
//! let worker = std::thread::spawn(move || {
//!     let _permit = p.blocking_acquire().unwrap();
//!     *t.lock() += 1;
//! });
//! pollster::block_on(async { // the crate pollster
//!     let _permit = permits.acquire().await.unwrap();
//!     *total.lock() += 1;
//! });
//! worker.join().unwrap();
//! assert_eq!(*total.lock(), 2);
//! ```

#[cfg(all(loom, not(feature = "loom")))]
compile_error!("`--cfg loom` needs the feature `loom` too: see .ci/loom");

#[cfg(all(any(target_os = "linux", target_os = "android"), not(loom)))]
mod affinity;
mod attempts;
mod awake;
mod backoff;
mod biased_lock;
mod coop;
mod deadline;
mod fences;
mod lock;
mod macros;
#[cfg(not(loom))]
mod mutant;
#[cfg(loom)]
pub mod mutant;
mod panics;
mod processors;
mod random;
mod semaphores;
mod spin;
pub mod task;
pub mod thread;
mod thread_id;
mod timers;
mod wait_queue;
mod watched;

/// For the other crates of this workspace: not part of the public interface, and
/// free to change with any release.
#[doc(hidden)]
pub mod internals {
    /// How many workers of runtimes are awake.
    pub mod awake {
        pub use crate::awake::{Registered, Workers, awake, register};
    }
    /// How much a task may do before it lets others run.
    pub mod coop {
        pub use crate::coop::{
            Budget, Coop, RestoreOnPending, assert_may_block, attempt, attempt_with, budget,
            cooperative, forced_yields, has_budget_remaining, poll_proceed, poll_with, set, stop,
            unconstrained,
        };
    }
    /// From a time-out to the moment at which it ends.
    pub mod deadline {
        pub use crate::deadline::{after, is_past, now};
    }
    /// The fence between a change and a look.
    pub mod fences {
        pub use crate::fences::{after_rmw, heavy, light, publish};
    }
    pub use crate::attempts::Attempts;
    pub use crate::backoff::Backoff;
    pub use crate::biased_lock::BiasedLock;
    pub use crate::lock::{ListLock, Lock, LockGuard};
    pub use crate::panics::Panics;
    pub use crate::processors::{processors, this_processor};
    pub use crate::random::{Random, entropy};
    pub use crate::spin::{EventSpin, HandoffSpin, LockSpin, Owners, yield_now};
    pub use crate::thread_id::ThreadId;
    /// Timers, which are a runtime's.
    pub mod timers {
        pub use crate::timers::{NO_RUNTIME, Timer, Timers, install, installed};
    }
    pub use crate::wait_queue::{List, Node, WaitQueue, Wake, Wakes};
    pub use crate::watched::Watched;
}

/// Returns how a lock's release is kept in order before its look for waiters:
///
/// - `"membarrier"`: waiters make the system run the fence, and the release is a plain store.
/// - `"fence"`: the same would be possible, but the system refuses the call.
/// - `"sequentially consistent store"`: other systems and processors.
pub fn release_fence() -> &'static str {
    fences::mechanism()
}

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
