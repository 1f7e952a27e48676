//! The locks of `blitz-io-sync` under the name of parking_lot 0.12.

#[cfg(feature = "deadlock_detection")]
pub mod deadlock;
// As in parking_lot: a guard that has moved does not identify its thread.
#[cfg(all(feature = "send_guard", feature = "deadlock_detection"))]
compile_error!(
    "the features `send_guard` and `deadlock_detection` of `parking_lot` exclude each other"
);

// Linked for its report to `blitz sim`, which it offers by itself.
#[cfg(feature = "sim")]
use blitz_io_inspect as _;
#[cfg(feature = "arc_lock")]
pub use blitz_io_sync::thread::{
    ArcMutexGuard, ArcReentrantMutexGuard, ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard,
    ArcRwLockWriteGuard,
};
pub use blitz_io_sync::thread::{
    Condvar, FairMutex, FairMutexGuard, MappedFairMutexGuard, MappedMutexGuard,
    MappedReentrantMutexGuard, MappedRwLockReadGuard, MappedRwLockWriteGuard, Mutex, MutexGuard,
    Once, OnceState, RawFairMutex, RawMutex, RawRwLock, RawThreadId, ReentrantMutex,
    ReentrantMutexGuard, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard,
    WaitTimeoutResult, const_fair_mutex, const_mutex, const_reentrant_mutex, const_rwlock,
    lock_api,
};
