//! `Lock`: the small lock around the state of primitives, channels and schedulers.
//!
//! It is an [`Exclusive`](crate::exclusive::Exclusive), as `thread::Mutex` is, which has models of
//! its own. In the models of code above this lock, loom's mutex replaces it. That takes one step
//! where ours takes ten, so a model can try more of the orders that matter.
//!
//! Critical sections have a few instructions and run no user code. The halves of a split stream are
//! the exception: they poll the user's stream under the lock, as Tokio's do. A panic there releases
//! the lock, and the stream is in the state in which its own code left it.

#[cfg_attr(loom, path = "lock/model.rs")]
mod real;

use crate::const_unless_loom;

pub use real::{Lock, LockGuard};

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
