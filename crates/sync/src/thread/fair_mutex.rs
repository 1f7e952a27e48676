//! `FairMutex`: every release hands over to the thread that waits longest.

use std::time::{Duration, Instant};

use super::mutex::RawMutex;

/// The lock of a [`FairMutex`], for use with [`lock_api`].
pub struct RawFairMutex(RawMutex);

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

// SAFETY: all is `RawMutex`'s; only the release prefers who waits.
unsafe impl lock_api::RawMutex for RawFairMutex {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self(<RawMutex as lock_api::RawMutex>::INIT);

    type GuardMarker = super::GuardMarker;

    #[inline]
    fn lock(&self) {
        lock_api::RawMutex::lock(&self.0);
    }

    #[inline]
    fn try_lock(&self) -> bool {
        lock_api::RawMutex::try_lock(&self.0)
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: the caller owns the lock, as this function asks.
        unsafe { lock_api::RawMutexFair::unlock_fair(&self.0) }
    }

    #[inline]
    fn is_locked(&self) -> bool {
        lock_api::RawMutex::is_locked(&self.0)
    }
}

// SAFETY: as above.
unsafe impl lock_api::RawMutexFair for RawFairMutex {
    unsafe fn unlock_fair(&self) {
        // SAFETY: the caller owns the lock, as this function asks.
        unsafe { lock_api::RawMutexFair::unlock_fair(&self.0) }
    }

    unsafe fn bump(&self) {
        // SAFETY: the caller owns the lock, as this function asks.
        unsafe { lock_api::RawMutexFair::bump(&self.0) }
    }
}

// SAFETY: as above.
unsafe impl lock_api::RawMutexTimed for RawFairMutex {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_for(&self, timeout: Duration) -> bool {
        lock_api::RawMutexTimed::try_lock_for(&self.0, timeout)
    }

    fn try_lock_until(&self, deadline: Instant) -> bool {
        lock_api::RawMutexTimed::try_lock_until(&self.0, deadline)
    }
}
