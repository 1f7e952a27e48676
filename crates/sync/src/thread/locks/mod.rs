//! The locks of `lock_api`, and the condition variable. The model checker sees their cores: `lock_api`'s
//! constants cannot be made of its atomics.

mod condvar;
mod fair_mutex;
mod mutex;
mod reentrant_mutex;
mod rwlock;

/// Guards that keep their lock alive, and name its raw lock, as parking_lot's do:
/// `ArcMutexGuard<RawMutex, T>`.
pub use lock_api::{
    ArcMutexGuard, ArcReentrantMutexGuard, ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard,
    ArcRwLockWriteGuard,
};

/// The crate of which the locks are made, for code that names its traits.
pub use ::lock_api;

pub use condvar::{Condvar, WaitTimeoutResult};
pub use fair_mutex::{
    ArcFairMutexGuard, FairMutex, FairMutexGuard, MappedFairMutexGuard, RawFairMutex,
    const_fair_mutex,
};
pub use mutex::{MappedMutexGuard, Mutex, MutexGuard, RawMutex, const_mutex};
pub use reentrant_mutex::{
    MappedReentrantMutexGuard, RawThreadId, ReentrantMutex, ReentrantMutexGuard,
    const_reentrant_mutex,
};
pub use rwlock::{
    MappedRwLockReadGuard, MappedRwLockWriteGuard, RawRwLock, RwLock, RwLockReadGuard,
    RwLockUpgradableReadGuard, RwLockWriteGuard, const_rwlock,
};

/// The marker that decides whether another thread than the owner may release a guard.
#[cfg(feature = "send_guard")]
type GuardMarker = lock_api::GuardSend;
#[cfg(not(feature = "send_guard"))]
type GuardMarker = lock_api::GuardNoSend;
