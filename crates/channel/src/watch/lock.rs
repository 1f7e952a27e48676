//! The lock around the value. It has models of its own.

use blitz_io_sync::thread::{RwLockReadGuard, RwLockWriteGuard};

/// Covariant in the value, as the standard library's guard is. `RwLockReadGuard` is not.
pub use blitz_io_sync::thread::MappedRwLockReadGuard as ReadGuard;
pub use blitz_io_sync::thread::RwLock;

#[inline]
#[track_caller]
pub fn read<T>(lock: &RwLock<T>) -> ReadGuard<'_, T> {
    RwLockReadGuard::map(lock.read(), |value| value)
}

pub fn try_read<T>(lock: &RwLock<T>) -> Option<RwLockReadGuard<'_, T>> {
    lock.try_read()
}

#[inline]
#[track_caller]
pub fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write()
}
