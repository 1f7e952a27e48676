//! A work-stealing runtime for tasks, under Tokio's names.

// The model checker sees only the parts that have models, and they leave much unused.
#![cfg_attr(loom, allow(dead_code, unused_imports))]

mod blocking;
mod bolt;
mod cancellation_token;
#[cfg(not(loom))]
mod common;
mod context;
mod driver;
#[cfg(all(feature = "hyper", not(loom)))]
pub mod hyper;
#[cfg(all(feature = "macros", not(loom)))]
pub mod macros;
mod random;
#[cfg(not(loom))]
pub mod runtime;
mod scheduler;
pub mod task;
#[cfg(not(loom))]
mod task_local;
mod task_tracker;
#[cfg(not(loom))]
mod thread_id;
pub mod time;
#[cfg(not(loom))]
mod trace;

#[cfg(all(feature = "macros", not(loom)))]
pub use macros::{join, main, pin, test, try_join};

/// What tasks tell each other, beside what `blitz_sync` has.
pub mod sync {
    pub use crate::cancellation_token::{
        CancellationToken, DropGuard, DropGuardRef, WaitForCancellationFuture,
        WaitForCancellationFutureOwned,
    };
}

/// For the models of this crate: not part of the public interface.
#[cfg(loom)]
#[doc(hidden)]
#[allow(missing_docs)]
pub mod model {
    pub mod cancellation_token {
        pub use crate::cancellation_token::mutant;
    }
    pub mod task_tracker {
        pub use crate::task_tracker::mutant;
    }
    pub mod bolt {
        pub use crate::bolt::mutant;
    }
    pub mod blocking {
        pub use crate::blocking::{desk, mutant};
    }
    pub use crate::task::model as task;
    pub mod time {
        pub use crate::time::wheel::{Timer, Wheel, mutant};
    }
    pub mod current_thread {
        pub use crate::scheduler::current_thread::{mutant, place};
    }
    pub mod scheduler {
        pub use crate::driver::Driver;
        pub use crate::scheduler::multi_thread::{idle, inject, mutant, queue, sleep, slot, tray};
    }
}
