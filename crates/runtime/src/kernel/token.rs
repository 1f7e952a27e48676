//! `Token`, which the queues of ready tasks hand from thread to thread: one word, so that a place of a
//! queue can be atomic.

use std::ptr::NonNull;

/// A value that is one word while it is in a queue.
///
/// # Safety
///
/// `from_raw` gives back the value that `into_raw` made a pointer.
pub unsafe trait Token: Send {
    /// Makes the value a pointer. It is lost unless [`from_raw`](Self::from_raw) follows.
    fn into_raw(self) -> NonNull<()>;

    /// Returns the value that was made a pointer.
    ///
    /// # Safety
    ///
    /// The pointer comes from [`into_raw`](Self::into_raw), and this is done once.
    unsafe fn from_raw(raw: NonNull<()>) -> Self;
}
