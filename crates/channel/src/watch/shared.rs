//! State shared by both ends of a channel.
//!
//! # States
//!
//! * The *value*, in a reader-writer lock.
//! * The *version*: a word with the number of changes of the value, and [`CLOSED`] when all
//!   senders have been dropped. Receivers wait for it to change. A sender changes it while it
//!   holds the lock to write. So a reader that holds the lock knows the version of the value. The
//!   last sender changes it at its end.
//! * The number of *receivers*. Senders wait for it to become zero.
//! * The number of *senders*.
//!
//! How the two words are waited for, and why no wake-up is lost, is in
//! `awaited.rs`.
//!
//! A receiver remembers the version that it has seen last. It has something to see
//! when the version is another one. So a value is never missed, but when several
//! are sent between two looks, only the last is seen.
//!
//! The version wraps around after a quarter of the range of a word. A receiver that has not
//! looked for exactly as many changes would take the value for the old one; on 64-bit systems
//! that takes centuries.
//!
//! # Costs
//!
//! To send, when no receiver waits, takes the lock's two steps, of which only one is a
//! read-modify-write, and another one for the version. Waiters are woken
//! when the lock has been released.

use std::fmt;

use blitz_io_futex::atomic::{AtomicUsize, Ordering};

use blitz_io_core::coop;

use super::awaited::Awaited;
use super::lock::Lock;

/// In the version: all senders have been dropped.
pub const CLOSED: usize = 2;
/// From one version to the next; above the bits.
const STEP: usize = 4;
/// One receiver. The bit below belongs to [`Awaited`].
const RECEIVER: usize = 2;

/// See the head of this file.
pub struct Shared<T> {
    pub value: Lock<T>,
    pub version: Awaited,
    receivers: Awaited,
    senders: AtomicUsize,
}

/// How often the value was changed, without the bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Version(usize);

impl Version {
    pub const FIRST: Self = Self(0);

    pub fn of(word: usize) -> Self {
        Self(word & !CLOSED)
    }

    /// Returns a version that differs from the current one, if this is the current one.
    pub fn before(self) -> Self {
        Self(self.0.wrapping_sub(STEP))
    }
}

impl fmt::Debug for Version {
    /// Counts in steps of two, as Tokio's, also below zero.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let half = (self.0 as isize >> 1) as usize;
        f.debug_tuple("Version").field(&half).finish()
    }
}

impl<T> Shared<T> {
    /// With one sender and one receiver.
    pub fn new(value: T) -> Self {
        Self {
            value: Lock::new(value),
            version: Awaited::new(0),
            receivers: Awaited::new(RECEIVER),
            senders: AtomicUsize::new(1),
        }
    }

    pub fn current(&self) -> Version {
        Version::of(self.version.load())
    }

    pub fn is_closed(&self) -> bool {
        self.version.load() & CLOSED != 0
    }

    /// Changes the value, and wakes the receivers, if `modify` says that it has.
    #[inline]
    pub fn modify(&self, modify: impl FnOnce(&mut T) -> bool) -> bool {
        let mut value = self.value.write();
        if !modify(&mut value) {
            return false;
        }
        let waiting = self.version.change(|version| version.wrapping_add(STEP));
        drop(value);
        self.version.wake(waiting);
        true
    }

    #[inline]
    pub fn receiver_count(&self) -> usize {
        self.receivers.load() / RECEIVER
    }

    pub fn add_receiver(&self) {
        self.receivers.add(RECEIVER);
    }

    pub fn remove_receiver(&self) {
        let (before, waiting) = self.receivers.subtract(RECEIVER);
        if before == RECEIVER {
            self.receivers.wake(waiting);
        }
    }

    /// Waits until there is no receiver.
    pub async fn closed(&self) {
        coop::cooperative(self.receivers.until(|count| count == 0)).await;
    }

    /// The same for a thread. Returns whether that has happened before the deadline.
    pub fn block_until_closed(&self, deadline: Option<std::time::Instant>) -> bool {
        let closed = self.receivers.block_until(|count| count == 0, deadline);
        closed.is_some()
    }

    pub fn sender_count(&self) -> usize {
        self.senders.load(Ordering::Relaxed)
    }

    pub fn add_sender(&self) {
        self.senders.fetch_add(1, Ordering::Relaxed);
    }

    pub fn remove_sender(&self) {
        if self.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            // No sender is left that could change the version at the same time.
            let waiting = self.version.change(|version| version | CLOSED);
            self.version.wake(waiting);
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("value", &ShownLock(&self.value))
            .field("version", &self.current())
            .field("is_closed", &self.is_closed())
            .field("ref_count_rx", &self.receiver_count())
            .finish()
    }
}

/// A lock, shown as Tokio's is.
struct ShownLock<'a, T>(&'a Lock<T>);

impl<T: fmt::Debug> fmt::Debug for ShownLock<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Inner<'a, T>(&'a Lock<T>);

        impl<T: fmt::Debug> fmt::Debug for Inner<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut shown = f.debug_struct("RwLock");
                match self.0.try_read() {
                    Some(value) => shown.field("data", &&*value),
                    None => shown.field("data", &format_args!("<locked>")),
                };
                shown.field("poisoned", &false).finish_non_exhaustive()
            }
        }

        f.debug_tuple("RwLock").field(&Inner(self.0)).finish()
    }
}
