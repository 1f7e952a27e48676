//! `Lock`: the small lock around the state of primitives, channels and schedulers.
//!
//! It is an [`Exclusive`](crate::exclusive::Exclusive), as `thread::Mutex` is, which has models of
//! its own. In the models of code above this lock, loom's mutex replaces it. That takes one step
//! where ours takes ten, so a model can try more of the orders that matter.
//!
//! Critical sections have a few instructions and run no user code. The halves of a split stream are
//! the exception: they poll the user's stream under the lock, as Tokio's do. A panic there releases
//! the lock, and the stream is in the state in which its own code left it.

use crate::const_unless_loom;

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
    use crate::debug_is_name;
    use crate::exclusive::{Exclusive, HELD};

    /// A lock and the data it guards; see the module documentation.
    #[derive(Default)]
    pub struct Lock<T = ()> {
        raw: Exclusive,
        value: UnsafeCell<T>,
    }

    /// Releases a [`Lock`] when it is dropped.
    #[must_use = "a lock whose guard is dropped is free again"]
    pub struct LockGuard<'a, T> {
        lock: &'a Lock<T>,
        /// A guard stays on its thread.
        _not_send: PhantomData<*mut ()>,
    }

    // SAFETY: a lock moves its value from thread to thread, and only one thread has it at any moment.
    unsafe impl<T: Send> Send for Lock<T> {}
    // SAFETY: only the one owner of `raw` reaches the value.
    unsafe impl<T: Send> Sync for Lock<T> {}
    // SAFETY: a shared guard gives shared access to the value.
    unsafe impl<T: Sync> Sync for LockGuard<'_, T> {}

    // Our code does not panic while it changes the value. For user code see the module documentation.
    impl<T> UnwindSafe for Lock<T> {}
    impl<T> RefUnwindSafe for Lock<T> {}

    impl<T> Lock<T> {
        /// Creates an unlocked lock.
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

        /// Acquires a busy lock. A thread that finds it taken backs off before it joins the
        /// waiters, unless the lock already has waiters.
        #[inline(always)]
        pub fn lock_with_backoff(&self) -> LockGuard<'_, T> {
            self.try_lock().unwrap_or_else(|| self.back_off())
        }

        /// Returns the value. No other thread has the lock.
        pub fn get_mut(&mut self) -> &mut T {
            self.value.get_mut()
        }

        /// Consumes the lock and returns the value.
        pub fn into_inner(self) -> T {
            self.value.into_inner()
        }

        #[inline]
        fn guard(&self) -> LockGuard<'_, T> {
            LockGuard {
                lock: self,
                _not_send: PhantomData,
            }
        }

        #[cold]
        fn back_off(&self) -> LockGuard<'_, T> {
            let mut backoff = Backoff::new();
            while !backoff.is_completed() && !self.raw.is_awaited() {
                backoff.snooze();
                if !self.raw.is_held() {
                    if let Some(guard) = self.try_lock() {
                        return guard;
                    }
                }
            }
            self.lock()
        }
    }

    impl<T> Deref for LockGuard<'_, T> {
        type Target = T;

        #[inline]
        fn deref(&self) -> &T {
            // SAFETY: the guard is the only one of a lock that it holds.
            unsafe { &*self.lock.value.get() }
        }
    }

    impl<T> DerefMut for LockGuard<'_, T> {
        #[inline]
        fn deref_mut(&mut self) -> &mut T {
            // SAFETY: the guard is the only one of a lock that it holds, and is borrowed mutably.
            unsafe { &mut *self.lock.value.get() }
        }
    }

    impl<T> Drop for LockGuard<'_, T> {
        #[inline]
        fn drop(&mut self) {
            self.lock.raw.unlock();
        }
    }

    impl<T: fmt::Debug> fmt::Debug for LockGuard<'_, T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            (**self).fmt(f)
        }
    }

    debug_is_name!(impl<T> Lock<T>);
}

#[cfg(loom)]
mod model {
    use std::panic::{RefUnwindSafe, UnwindSafe};
    use std::sync::{PoisonError, TryLockError};

    /// A lock and the data it guards; see the module documentation.
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

        /// Returns the value. No other thread has the lock.
        pub fn get_mut(&mut self) -> &mut T {
            self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
        }

        /// Consumes the lock and returns the value.
        pub fn into_inner(self) -> T {
            self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
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
