//! `Lock`: the small lock around what the primitives, channels and schedulers keep.
//!
//! It owns its data and gives it out through a guard. It is the core of our own mutex.
//! That has models of its own; in the models of what is built on this lock, loom's mutex
//! stands for it, which takes one step where ours takes ten, so that more of the orders
//! that matter can be tried.
//!
//! It is meant for sections of a few instructions, in which no user code runs.

use crate::macros::const_unless_loom;

#[cfg(not(loom))]
pub use real::{Lock, LockGuard};

#[cfg(loom)]
pub use model::{Lock, LockGuard};

#[cfg(not(loom))]
mod real {
    use std::cell::UnsafeCell;
    use std::fmt;
    use std::marker::PhantomData;
    use std::ops::{Deref, DerefMut};
    use std::panic::{RefUnwindSafe, UnwindSafe};

    use crate::backoff::Backoff;
    use crate::thread::exclusive::{Exclusive, HELD};

    /// A lock and the data it guards. See the head of this file.
    pub struct Lock<T = ()> {
        raw: Exclusive,
        value: UnsafeCell<T>,
    }

    // SAFETY: the value moves with the lock.
    unsafe impl<T: Send> Send for Lock<T> {}
    // SAFETY: only the thread that holds the lock uses the value.
    unsafe impl<T: Send> Sync for Lock<T> {}

    // No user code runs under the lock, so a panic cannot leave the value half changed.
    impl<T> UnwindSafe for Lock<T> {}
    impl<T> RefUnwindSafe for Lock<T> {}

    /// Releases a [`Lock`] when it is dropped.
    #[must_use = "the lock is released at once if the guard is not kept"]
    pub struct LockGuard<'a, T> {
        lock: &'a Lock<T>,
        /// It stays on its thread, and shares the value as `&mut T` does.
        _value: PhantomData<(&'a mut T, *mut ())>,
    }

    impl<T> Lock<T> {
        /// Creates a lock that nobody holds.
        pub const fn new(value: T) -> Self {
            Self {
                raw: Exclusive::new(),
                value: UnsafeCell::new(value),
            }
        }

        /// Acquires the lock, blocking until it is free.
        #[inline]
        pub fn lock(&self) -> LockGuard<'_, T> {
            self.raw.lock(HELD);
            self.guard()
        }

        /// Acquires the lock if it is free.
        #[inline]
        pub fn try_lock(&self) -> Option<LockGuard<'_, T>> {
            self.raw.try_lock(HELD).then(|| self.guard())
        }

        /// Acquires the lock where many threads come again and again: one that finds it
        /// taken backs off before it waits in turn, unless others wait in turn already.
        #[inline]
        pub fn lock_with_backoff(&self) -> LockGuard<'_, T> {
            if !self.raw.try_lock(HELD) {
                self.back_off();
            }
            self.guard()
        }

        /// Returns the value, which nobody else can use.
        pub fn get_mut(&mut self) -> &mut T {
            self.value.get_mut()
        }

        #[inline]
        fn guard(&self) -> LockGuard<'_, T> {
            LockGuard {
                lock: self,
                _value: PhantomData,
            }
        }

        #[cold]
        fn back_off(&self) {
            let mut backoff = Backoff::new();
            while !backoff.is_completed() && !self.raw.is_awaited() {
                backoff.snooze();
                if !self.raw.is_held() && self.raw.try_lock(HELD) {
                    return;
                }
            }
            self.raw.lock(HELD);
        }
    }

    impl<T: Default> Default for Lock<T> {
        fn default() -> Self {
            Self::new(T::default())
        }
    }

    impl<T> fmt::Debug for Lock<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("Lock").finish_non_exhaustive()
        }
    }

    impl<T> Deref for LockGuard<'_, T> {
        type Target = T;

        #[inline]
        fn deref(&self) -> &T {
            // SAFETY: the guard's owner holds the lock.
            unsafe { &*self.lock.value.get() }
        }
    }

    impl<T> DerefMut for LockGuard<'_, T> {
        #[inline]
        fn deref_mut(&mut self) -> &mut T {
            // SAFETY: the guard's owner holds the lock, and the guard is borrowed mutably.
            unsafe { &mut *self.lock.value.get() }
        }
    }

    impl<T> Drop for LockGuard<'_, T> {
        #[inline]
        fn drop(&mut self) {
            self.lock.raw.unlock();
        }
    }
}

#[cfg(loom)]
mod model {
    use std::ops::{Deref, DerefMut};
    use std::panic::{RefUnwindSafe, UnwindSafe};
    use std::sync::PoisonError;

    /// A lock and the data it guards. See the head of this file.
    #[derive(Debug, Default)]
    pub struct Lock<T = ()>(loom::sync::Mutex<T>);

    impl<T> UnwindSafe for Lock<T> {}
    impl<T> RefUnwindSafe for Lock<T> {}

    /// Releases a [`Lock`] when it is dropped.
    pub struct LockGuard<'a, T>(loom::sync::MutexGuard<'a, T>);

    impl<T> Lock<T> {
        /// Creates a lock that nobody holds.
        pub fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        /// Acquires the lock, blocking until it is free.
        pub fn lock(&self) -> LockGuard<'_, T> {
            LockGuard(self.0.lock().unwrap_or_else(PoisonError::into_inner))
        }

        /// Acquires the lock if it is free.
        pub fn try_lock(&self) -> Option<LockGuard<'_, T>> {
            use std::sync::TryLockError;

            match self.0.try_lock() {
                Ok(guard) => Some(LockGuard(guard)),
                Err(TryLockError::Poisoned(error)) => Some(LockGuard(error.into_inner())),
                Err(TryLockError::WouldBlock) => None,
            }
        }

        /// Acquires the lock.
        pub fn lock_with_backoff(&self) -> LockGuard<'_, T> {
            self.lock()
        }

        /// Returns the value, which nobody else can use.
        pub fn get_mut(&mut self) -> &mut T {
            self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
        }
    }

    impl<T> Deref for LockGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            &self.0
        }
    }

    impl<T> DerefMut for LockGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            &mut self.0
        }
    }
}

/// A [`Lock`] without data, for what keeps its data beside the lock.
#[derive(Debug, Default)]
pub struct ListLock(Lock);

impl ListLock {
    const_unless_loom! {
        /// Creates a lock that nobody holds.
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

    /// Runs `with` under the lock, which many threads want.
    #[inline]
    pub fn locked_among_many<R>(&self, with: impl FnOnce() -> R) -> R {
        let _guard = self.0.lock_with_backoff();
        with()
    }
}
