//! Counted senders: the last one wakes the receiver when it is dropped.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use blitz_io_core::coop;
use blitz_io_futex::atomic::Ordering;

use super::chan::Chan;
use crate::model::model_has_failed;

/// A counted sender.
pub struct Tx<T>(Arc<Chan<T>>);

/// A counted sender that does not keep the channel open.
pub struct WeakTx<T>(pub Arc<Chan<T>>);

impl<T> Tx<T> {
    /// Creates the first sender, with which the count begins.
    pub fn new(chan: Arc<Chan<T>>) -> Self {
        Self(chan)
    }

    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub fn downgrade(&self) -> WeakTx<T> {
        self.0.weak_senders.fetch_add(1, Ordering::Relaxed);
        WeakTx(self.0.clone())
    }
}

impl<T> Deref for Tx<T> {
    type Target = Chan<T>;

    #[inline(always)]
    fn deref(&self) -> &Chan<T> {
        &self.0
    }
}

impl<T> Clone for Tx<T> {
    fn clone(&self) -> Self {
        self.0.senders.fetch_add(1, Ordering::Relaxed);
        Self(self.0.clone())
    }
}

impl<T> Drop for Tx<T> {
    fn drop(&mut self) {
        if model_has_failed() {
            return;
        }
        // The release is for the receiver: if it sees that no sender is left, it sees
        // all that they have sent.
        let last = self.0.senders.fetch_sub(1, Ordering::AcqRel) == 1;
        coop::acted();
        if last {
            self.0.rx_waiter.0.wake();
        }
    }
}

impl<T> fmt::Debug for Tx<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> WeakTx<T> {
    /// Returns a sender, unless all have been dropped.
    pub fn upgrade(&self) -> Option<Tx<T>> {
        let more = |senders: usize| (senders != 0).then(|| senders + 1);
        let senders = &self.0.senders;
        senders
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, more)
            .ok()
            .map(|_| Tx(self.0.clone()))
    }
}

impl<T> Clone for WeakTx<T> {
    fn clone(&self) -> Self {
        self.0.weak_senders.fetch_add(1, Ordering::Relaxed);
        Self(self.0.clone())
    }
}

impl<T> Drop for WeakTx<T> {
    fn drop(&mut self) {
        if !model_has_failed() {
            self.0.weak_senders.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
