//! `FairMutex`: every release hands over to the thread that waits longest.

use std::time::{Duration, Instant};

use super::mutex::raw_mutex;
use blitz_io_core::deadline;
use blitz_io_core::exclusive::{Exclusive, HELD};
use blitz_io_observe::{Acquirer, Blocking, Caller, Kind, Object};

/// The lock of a [`FairMutex`], for use with [`lock_api`].
pub struct RawFairMutex(Exclusive, Object);

/// A [`Mutex`](super::Mutex) whose every release is fair.
///
/// If a thread sleeps for the lock, a release hands it over. That costs a switch
/// to the other thread at each release under contention, several thousand times
/// the cost of an uncontended release. [`Mutex`](super::Mutex) bounds
/// the wait as well and is the better choice for nearly everything.
///
/// ```
/// use blitz_io::thread::FairMutex;
///
/// let turn = FairMutex::new(0);
/// *turn.lock() += 1;
/// assert_eq!(turn.into_inner(), 1);
/// ```
pub type FairMutex<T> = lock_api::Mutex<RawFairMutex, T>;

/// The right to use the value of a locked [`FairMutex`].
pub type FairMutexGuard<'a, T> = lock_api::MutexGuard<'a, RawFairMutex, T>;

/// A [`FairMutexGuard`] for a part of the value.
pub type MappedFairMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, RawFairMutex, T>;

/// A guard that keeps its [`FairMutex`] alive.
pub type ArcFairMutexGuard<T> = lock_api::ArcMutexGuard<RawFairMutex, T>;

/// Creates a fair mutex in a constant; the same as [`FairMutex::new`].
pub const fn const_fair_mutex<T>(value: T) -> FairMutex<T> {
    FairMutex::const_new(<RawFairMutex as lock_api::RawMutex>::INIT, value)
}

raw_mutex!(RawFairMutex, unlock_fair);
