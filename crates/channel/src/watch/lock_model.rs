//! loom's lock, for the models of this channel: with it they can try more of the orders
//! that matter.

use std::sync::PoisonError;

use loom::sync::RwLockWriteGuard;
pub use loom::sync::{RwLock, RwLockReadGuard as ReadGuard};

pub fn read<T>(lock: &RwLock<T>) -> ReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

pub fn try_read<T>(lock: &RwLock<T>) -> Option<ReadGuard<'_, T>> {
    lock.try_read().ok()
}

pub fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
