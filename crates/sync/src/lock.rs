//! `Lock`: the small lock around the state of primitives, channels and schedulers.
//!
//! It is our own mutex, which has models of its own. In the models of code above this lock,
//! loom's mutex replaces it. That takes one step where ours takes ten, so a model can try more of
//! the orders that matter.
//!
//! Critical sections have a few instructions and run no user code.

use crate::macros::const_unless_loom;

#[cfg(not(loom))]
pub use real::{Lock, LockGuard};

#[cfg(loom)]
pub use model::{Lock, LockGuard};

#[cfg(not(loom))]
mod real {
    use std::panic::{RefUnwindSafe, UnwindSafe};

    use crate::backoff::Backoff;
    use crate::macros::debug_is_name;
    use crate::thread::{Mutex, MutexGuard};

    /// A lock and the data it guards. See the head of this file.
    #[derive(Default)]
    pub struct Lock<T = ()>(Mutex<T>);

    /// Releases a [`Lock`] when it is dropped.
    pub type LockGuard<'a, T> = MutexGuard<'a, T>;

    // No user code runs under the lock, so a panic cannot leave the value half changed.
    impl<T> UnwindSafe for Lock<T> {}
    impl<T> RefUnwindSafe for Lock<T> {}

    impl<T> Lock<T> {
        /// Creates an unlocked lock.
        pub const fn new(value: T) -> Self {
            Self(Mutex::new(value))
        }

        /// Acquires the lock, blocking until it is free.
        #[inline]
        pub fn lock(&self) -> LockGuard<'_, T> {
            self.0.lock()
        }

        /// Acquires the lock if it is free.
        #[inline]
        pub fn try_lock(&self) -> Option<LockGuard<'_, T>> {
            self.0.try_lock()
        }

        /// Acquires a busy lock. A thread that finds it taken backs off before it joins the
        /// waiters, unless the lock already has waiters.
        #[inline(always)]
        pub fn lock_with_backoff(&self) -> LockGuard<'_, T> {
            self.try_lock().unwrap_or_else(|| self.back_off())
        }

        /// Returns the value. The caller is the only one that has the lock.
        pub fn get_mut(&mut self) -> &mut T {
            self.0.get_mut()
        }

        #[cold]
        fn back_off(&self) -> LockGuard<'_, T> {
            // SAFETY: it is only looked at.
            let raw = &unsafe { self.0.raw() }.0;
            let mut backoff = Backoff::new();
            while !backoff.is_completed() && !raw.is_awaited() {
                backoff.snooze();
                if !raw.is_held() {
                    if let Some(guard) = self.try_lock() {
                        return guard;
                    }
                }
            }
            self.lock()
        }
    }

    debug_is_name!(Lock<T>);
}

#[cfg(loom)]
mod model {
    use std::panic::{RefUnwindSafe, UnwindSafe};
    use std::sync::{PoisonError, TryLockError};

    /// A lock and the data it guards. See the head of this file.
    #[derive(Debug, Default)]
    pub struct Lock<T = ()>(loom::sync::Mutex<T>);

    /// Releases a [`Lock`] when it is dropped.
    pub type LockGuard<'a, T> = loom::sync::MutexGuard<'a, T>;

    impl<T> UnwindSafe for Lock<T> {}
    impl<T> RefUnwindSafe for Lock<T> {}

    impl<T> Lock<T> {
        /// Creates an unlocked lock.
        pub fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        /// Acquires the lock, blocking until it is free.
        pub fn lock(&self) -> LockGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }

        /// Acquires the lock if it is free.
        pub fn try_lock(&self) -> Option<LockGuard<'_, T>> {
            match self.0.try_lock() {
                Ok(guard) => Some(guard),
                Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            }
        }

        /// Acquires the lock.
        pub fn lock_with_backoff(&self) -> LockGuard<'_, T> {
            self.lock()
        }

        /// Returns the value. The caller is the only one that has the lock.
        pub fn get_mut(&mut self) -> &mut T {
            self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
        }
    }
}

/// A [`Lock`] without data, for a type that keeps its data beside the lock.
#[derive(Debug, Default)]
pub struct ListLock(Lock);

impl ListLock {
    const_unless_loom! {
        /// Creates an unlocked lock.
        pub const fn new() -> Self {
            Self(Lock::new(()))
        }
    }

    /// Runs `with` under the lock.
    #[inline]
    pub fn locked<R>(&self, with: impl FnOnce() -> R) -> R {
        let _guard = self.0.lock();
        with()
    }

    /// Runs `with` under the lock, which many threads want. Always inlined: the shorter the
    /// way from a release to the same thread's next acquire, the more rarely the lock and its
    /// data change processors.
    #[inline(always)]
    pub fn locked_among_many<R>(&self, with: impl FnOnce() -> R) -> R {
        let _guard = self.0.lock_with_backoff();
        with()
    }
}
