//! Primitives that block threads.

mod barrier;
mod countdown;
mod event;
#[cfg(not(loom))]
mod fiber_waits;
mod latch;
mod lazy_lock;
#[cfg(not(loom))]
mod locks;
mod notify_queue;
mod once;
mod once_lock;
mod parker;
mod rounds;
mod semaphore;
mod shared;
mod spin_barrier;
mod spin_wait;
mod wait_group;

pub use barrier::{Barrier, BarrierTimedOut, BarrierWaitResult};
pub use event::Event;
pub use latch::{CountDownError, Latch};
pub use lazy_lock::LazyLock;
#[cfg(not(loom))]
pub use locks::*;
pub use once::{Once, OnceState};
pub use once_lock::OnceLock;
pub use parker::{Parker, Unparker};
pub use semaphore::{
    AcquireError, OverRelease, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError,
};
pub use spin_barrier::SpinBarrier;
pub use spin_wait::SpinWait;
pub use wait_group::WaitGroup;

/// The cores of the locks, for models: `lock_api`'s constants cannot be made of
/// the model checker's atomics.
#[cfg(loom)]
pub mod core {
    pub use super::notify_queue::{Ended, NotifyQueue};
    pub use super::shared::Shared;
}
