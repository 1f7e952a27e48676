//! Primitives that block threads.

mod barrier;
mod countdown;
mod event;
mod fiber_waits;
mod latch;
mod lazy_lock;
#[cfg_attr(loom, path = "locks/model.rs")]
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
