//! Primitives that block threads.

mod barrier;
#[cfg(not(loom))]
mod condvar;
mod countdown;
mod event;
#[cfg(not(loom))]
mod fair_mutex;
#[cfg(not(loom))]
mod fiber_waits;
mod latch;
mod lazy_lock;
#[cfg(not(loom))]
mod mutex;
mod notify_queue;
mod once;
mod once_lock;
mod parker;
#[cfg(not(loom))]
mod reentrant_mutex;
mod rounds;
#[cfg(not(loom))]
mod rwlock;
mod semaphore;
mod shared;
mod spin_barrier;
mod wait_group;

pub use barrier::{Barrier, BarrierTimedOut, BarrierWaitResult};
#[cfg(not(loom))]
pub use condvar::{Condvar, WaitTimeoutResult};
pub use event::Event;
pub use latch::{CountDownError, Latch};
pub use lazy_lock::LazyLock;
pub use once::{Once, OnceState};
pub use once_lock::OnceLock;
pub use parker::{Parker, Unparker};
pub use semaphore::{
    AcquireError, OverRelease, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError,
};
pub use spin_barrier::SpinBarrier;
pub use wait_group::WaitGroup;

/// Guards that keep their lock alive, and name its raw lock, as parking_lot's do:
/// `ArcMutexGuard<RawMutex, T>`.
#[cfg(not(loom))]
pub use lock_api::{
    ArcMutexGuard, ArcReentrantMutexGuard, ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard,
    ArcRwLockWriteGuard,
};

/// The crate of which the locks are made, for code that names its traits.
#[cfg(not(loom))]
pub use ::lock_api;

#[cfg(not(loom))]
pub use fair_mutex::{
    ArcFairMutexGuard, FairMutex, FairMutexGuard, MappedFairMutexGuard, RawFairMutex,
    const_fair_mutex,
};
#[cfg(not(loom))]
pub use mutex::{MappedMutexGuard, Mutex, MutexGuard, RawMutex, const_mutex};
#[cfg(not(loom))]
pub use reentrant_mutex::{
    MappedReentrantMutexGuard, RawThreadId, ReentrantMutex, ReentrantMutexGuard,
    const_reentrant_mutex,
};
#[cfg(not(loom))]
pub use rwlock::{
    MappedRwLockReadGuard, MappedRwLockWriteGuard, RawRwLock, RwLock, RwLockReadGuard,
    RwLockUpgradableReadGuard, RwLockWriteGuard, const_rwlock,
};

/// The cores of the locks, for models: `lock_api`'s constants cannot be made of
/// the model checker's atomics.
#[cfg(loom)]
pub mod core {
    pub use super::notify_queue::{Ended, NotifyQueue};
    pub use super::shared::Shared;
}

/// The marker that decides whether another thread than the owner may release a guard.
#[cfg(all(not(loom), feature = "send_guard"))]
type GuardMarker = lock_api::GuardSend;
#[cfg(all(not(loom), not(feature = "send_guard")))]
type GuardMarker = lock_api::GuardNoSend;
