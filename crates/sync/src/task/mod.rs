//! Primitives whose waiters are tasks.

mod guard_traits;
mod mutex;
#[cfg(not(loom))]
mod notify;
#[cfg(loom)]
pub mod notify;
mod permits;
#[cfg(not(loom))]
mod permits_mutant;
#[cfg(loom)]
#[doc(hidden)]
pub mod permits_mutant;
mod rwlock;
mod semaphore;

pub use mutex::{
    MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard, TryLockError,
};
pub use rwlock::{
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};
pub use notify::{Notified, Notify, OwnedNotified};
pub use semaphore::{
    AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError,
};
