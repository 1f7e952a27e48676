//! The lock around a list of waiting threads.
//!
//! It is the core of our own mutex. That has models of its own; in the models of
//! what is built on the list, loom's mutex stands for it, which takes one step
//! where ours takes ten, so that more of the orders that matter can be tried.

#[cfg(not(loom))]
pub use real::ListLock;

#[cfg(loom)]
pub use model::ListLock;

#[cfg(not(loom))]
mod real {
    use crate::defeats::Defeats;
    use crate::thread::exclusive::{Exclusive, HELD};

    /// See the head of this file.
    pub struct ListLock(Exclusive);

    impl Default for ListLock {
        fn default() -> Self {
            Self::new()
        }
    }

    impl ListLock {
        /// A lock that nobody holds.
        pub const fn new() -> Self {
            Self(Exclusive::new())
        }

        /// Runs `with` under the lock. It must not panic.
        #[inline]
        pub fn locked<R>(&self, with: impl FnOnce() -> R) -> R {
            self.0.lock(HELD);
            let result = with();
            self.0.unlock();
            result
        }

        /// The same, where many come again and again: who finds the lock taken leaves
        /// it alone for a while, before it waits like everybody else, in turn. If others
        /// do so already, it joins them at once.
        #[inline]
        pub fn locked_among_many<R>(&self, with: impl FnOnce() -> R) -> R {
            if !self.0.try_lock(HELD) {
                self.lock_after_defeat();
            }
            let result = with();
            self.0.unlock();
            result
        }

        #[cold]
        fn lock_after_defeat(&self) {
            let mut defeats = Defeats::new();
            while !defeats.are_many() && !self.0.is_awaited() {
                defeats.rest();
                if !self.0.is_held() && self.0.try_lock(HELD) {
                    return;
                }
            }
            self.0.lock(HELD);
        }
    }
}

#[cfg(loom)]
mod model {
    use std::sync::PoisonError;

    /// See the head of this file.
    pub struct ListLock(loom::sync::Mutex<()>);

    impl Default for ListLock {
        fn default() -> Self {
            Self::new()
        }
    }

    impl ListLock {
        /// A lock that nobody holds.
        pub fn new() -> Self {
            Self(loom::sync::Mutex::new(()))
        }

        /// Runs `with` under the lock.
        pub fn locked<R>(&self, with: impl FnOnce() -> R) -> R {
            let _lock = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            with()
        }

        /// The same.
        pub fn locked_among_many<R>(&self, with: impl FnOnce() -> R) -> R {
            self.locked(with)
        }
    }
}
