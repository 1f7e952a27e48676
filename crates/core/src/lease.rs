//! A lease: a fiber has a reference to a value whose owner it may outlast.
//!
//! # The protocol
//!
//! 1. The fiber gets the reference while it runs within a call of the owner, on one thread. If it suspends
//!    while it has the reference, it *holds* the lease before that call ends.
//! 2. The owner may then go to another thread. There it looks whether the lease is held before it
//!    takes, or drops, the value. So it sees what its own thread did: that the lease is held, unless
//!    the holder has given it back since.
//! 3. The holder gives the lease back when it no longer uses the reference, with release ordering, and the
//!    owner looks with acquire ordering. So every use of the reference comes before the end of the
//!    value.
//! 4. A value that only one thread may use at any moment has holders of one thread only: the owner does
//!    not pass on references where the lease is held elsewhere.

use blitz_io_futex::atomic::{AtomicUsize, Ordering};

use crate::{ThreadId, const_unless_loom};

/// The fibers that have waited with a reference to a value, which its owner must keep until they give it
/// back. All are fibers of one thread.
#[derive(Debug)]
pub struct Lease {
    holders: AtomicUsize,
    /// Their thread, if there are any.
    thread: AtomicUsize,
}

impl Lease {
    const_unless_loom! {
        /// Creates a lease that is not held.
        #[must_use]
        #[allow(clippy::new_without_default, reason = "nobody needs it")]
        pub const fn new() -> Self {
            Self {
                holders: AtomicUsize::new(0),
                thread: AtomicUsize::new(0),
            }
        }
    }

    /// Counts one more fiber of this thread as a holder.
    pub fn hold(&self) {
        self.thread.store(here(), Ordering::Relaxed);
        self.holders.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends the hold of a fiber that does not use the reference any more.
    ///
    /// # Safety
    ///
    /// `this` is held. Its memory may be freed when this returns.
    pub unsafe fn give_back(this: *const Self) {
        // SAFETY: by this function's contract, the lease is held, so its owner has not freed it.
        unsafe { &*this }.holders.fetch_sub(1, Ordering::Release);
    }

    /// Returns `true` if the owner must keep the value.
    #[inline]
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.holders.load(Ordering::Acquire) != 0
    }

    /// Returns `true` if the owner must keep the value for another thread, and this thread must not share it.
    #[inline]
    #[must_use]
    pub fn is_held_elsewhere(&self) -> bool {
        self.is_held() && self.thread.load(Ordering::Relaxed) != here()
    }
}

fn here() -> usize {
    ThreadId::current().get().get()
}
