//! The lock around the value: `blitz_io_sync`'s. It has models of its own; in the
//! models of this channel, loom's stands for it, so that more of the orders that
//! matter can be tried.

#[cfg(loom)]
pub use model::{Lock, ReadGuard};
#[cfg(not(loom))]
pub use real::{Lock, ReadGuard};

#[cfg(not(loom))]
mod real {
    use std::ops::Deref;
    use std::panic::{RefUnwindSafe, UnwindSafe};
    use std::ptr::NonNull;

    use blitz_io_sync::thread::{RawRwLock, RwLock, RwLockWriteGuard};
    use lock_api::RawRwLock as _;

    /// A value for one writer or many readers. A panic does not poison it.
    pub struct Lock<T>(RwLock<T>);

    // As the standard library has it: a lock is where a panic is expected.
    impl<T> UnwindSafe for Lock<T> {}
    impl<T> RefUnwindSafe for Lock<T> {}

    /// Shared access to the value. It is bound to its thread, and covariant, as the
    /// standard library's is; `lock_api`'s is not.
    pub struct ReadGuard<'a, T> {
        raw: &'a RawRwLock,
        value: NonNull<T>,
    }

    // SAFETY: it gives out shared references to the value.
    unsafe impl<T: Sync> Sync for ReadGuard<'_, T> {}

    impl<T> Lock<T> {
        pub fn new(value: T) -> Self {
            Self(RwLock::new(value))
        }

        #[inline]
        pub fn read(&self) -> ReadGuard<'_, T> {
            self.raw().lock_shared();
            self.read_guard()
        }

        pub fn try_read(&self) -> Option<ReadGuard<'_, T>> {
            self.raw().try_lock_shared().then(|| self.read_guard())
        }

        #[inline]
        pub fn write(&self) -> RwLockWriteGuard<'_, T> {
            self.0.write()
        }

        #[inline]
        fn raw(&self) -> &RawRwLock {
            // SAFETY: a `ReadGuard` was made for a read lock, and only its drop unlocks it.
            unsafe { self.0.raw() }
        }

        #[inline]
        fn read_guard(&self) -> ReadGuard<'_, T> {
            ReadGuard {
                raw: self.raw(),
                // SAFETY: the value has an address.
                value: unsafe { NonNull::new_unchecked(self.0.data_ptr()) },
            }
        }
    }

    impl<T> Deref for ReadGuard<'_, T> {
        type Target = T;

        #[inline]
        fn deref(&self) -> &T {
            // SAFETY: the lock is held, by a reader.
            unsafe { self.value.as_ref() }
        }
    }

    impl<T> Drop for ReadGuard<'_, T> {
        #[inline]
        fn drop(&mut self) {
            // SAFETY: the guard was made when the lock was taken, by a reader.
            unsafe { self.raw.unlock_shared() };
        }
    }
}

#[cfg(loom)]
mod model {
    use std::sync::PoisonError;

    use loom::sync::{RwLock, RwLockWriteGuard};

    pub use loom::sync::RwLockReadGuard as ReadGuard;

    /// A value for one writer or many readers.
    pub struct Lock<T>(RwLock<T>);

    impl<T> Lock<T> {
        pub fn new(value: T) -> Self {
            Self(RwLock::new(value))
        }

        pub fn read(&self) -> ReadGuard<'_, T> {
            self.0.read().unwrap_or_else(PoisonError::into_inner)
        }

        pub fn try_read(&self) -> Option<ReadGuard<'_, T>> {
            self.0.try_read().ok()
        }

        pub fn write(&self) -> RwLockWriteGuard<'_, T> {
            self.0.write().unwrap_or_else(PoisonError::into_inner)
        }
    }
}
