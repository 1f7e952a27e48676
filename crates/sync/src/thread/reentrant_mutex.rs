//! `ReentrantMutex`: the owner may lock again.

use std::num::NonZeroUsize;

use super::mutex::RawMutex;

/// Tells threads apart by the address of a thread-local, which is the cheapest
/// name that no two living threads share.
pub struct RawThreadId;

// SAFETY: two living threads have thread-locals at different addresses, and an
// address is never zero. A thread that has ended can not own the lock any more
// in a way that matters: its guards were not `Send`.
unsafe impl lock_api::GetThreadId for RawThreadId {
    const INIT: Self = Self;

    #[inline]
    fn nonzero_thread_id(&self) -> NonZeroUsize {
        thread_local!(static NAME: u8 = const { 0 });
        NAME.with(|name| NonZeroUsize::MIN.saturating_add(std::ptr::from_ref(name).addr() - 1))
    }
}

/// A mutex that its owner may lock again, without waiting for itself.
///
/// As several guards can live at once, they give shared access only; wrap the
/// value in a `Cell` or a `RefCell` to change it.
///
/// ```
/// use blitz_sync::thread::ReentrantMutex;
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

/// A reentrant mutex in a constant; the same as [`ReentrantMutex::new`].
pub const fn const_reentrant_mutex<T>(value: T) -> ReentrantMutex<T> {
    ReentrantMutex::const_new(
        <RawMutex as lock_api::RawMutex>::INIT,
        <RawThreadId as lock_api::GetThreadId>::INIT,
        value,
    )
}
