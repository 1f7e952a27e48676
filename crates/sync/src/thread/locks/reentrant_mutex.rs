//! `ReentrantMutex`: the owner may lock again.

use std::num::NonZeroUsize;

use super::mutex::RawMutex;
use blitz_io_core::ThreadId;

/// Names the owner of a [`ReentrantMutex`].
pub struct RawThreadId;

// SAFETY: no two threads have the same number, and none is zero.
unsafe impl lock_api::GetThreadId for RawThreadId {
    const INIT: Self = Self;

    #[inline]
    fn nonzero_thread_id(&self) -> NonZeroUsize {
        ThreadId::current().get()
    }
}

/// A mutex that its owner may lock again, without waiting for itself.
///
/// As several guards can live at once, they give shared access only; wrap the
/// value in a `Cell` or a `RefCell` to change it.
///
/// ```
/// use blitz_io::thread::ReentrantMutex;
/// use std::cell::Cell;
///
/// let depth = ReentrantMutex::new(Cell::new(0));
/// let outer = depth.lock();
/// let inner = depth.lock();
/// inner.set(outer.get() + 1);
/// assert_eq!(outer.get(), 1);
/// ```
pub type ReentrantMutex<T> = lock_api::ReentrantMutex<RawMutex, RawThreadId, T>;

/// The right to look at the value of a locked [`ReentrantMutex`].
pub type ReentrantMutexGuard<'a, T> = lock_api::ReentrantMutexGuard<'a, RawMutex, RawThreadId, T>;

/// A [`ReentrantMutexGuard`] for a part of the value.
pub type MappedReentrantMutexGuard<'a, T> =
    lock_api::MappedReentrantMutexGuard<'a, RawMutex, RawThreadId, T>;

/// Creates a reentrant mutex in a constant; the same as
/// [`ReentrantMutex::new`].
pub const fn const_reentrant_mutex<T>(value: T) -> ReentrantMutex<T> {
    ReentrantMutex::const_new(
        <RawMutex as lock_api::RawMutex>::INIT,
        <RawThreadId as lock_api::GetThreadId>::INIT,
        value,
    )
}
