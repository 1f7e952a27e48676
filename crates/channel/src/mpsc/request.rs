//! The request of a sender that waits for permits.

use std::cell::Cell;
use std::ptr::NonNull;

/// The request of a waiting sender, and its result.
pub struct Request<T> {
    pub permits: u32,
    /// `true` if it has its permits. If it was chosen without, the channel is closed.
    pub granted: Cell<bool>,
    /// The value of a thread that waits to send it. Taken when the request is granted.
    pub value: Option<NonNull<T>>,
}

// SAFETY: the value is the waiting thread's, which does not touch it while its node
// is linked; it is taken under the queue's lock by another thread.
unsafe impl<T: Send> Send for Request<T> {}

impl<T> Request<T> {
    pub fn new(permits: u32) -> Self {
        Self {
            permits,
            granted: Cell::new(false),
            value: None,
        }
    }
}
