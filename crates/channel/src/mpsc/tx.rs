//! A sender's share of the channel.

use std::fmt;
use std::sync::Arc;

use blitz_futex::atomic::Ordering;

use super::chan::Chan;
use super::mutant::{Mutant, active, model_failed};

/// Counted: when the last one goes, the receiver is told.
pub struct Tx<T>(Arc<Chan<T>>);

/// Counted, but does not keep the channel open.
pub struct WeakTx<T>(Arc<Chan<T>>);

impl<T> Tx<T> {
    /// For the one that the count begins with.
    pub(super) fn new(chan: Arc<Chan<T>>) -> Self {
        Self(chan)
    }

    #[inline(always)]
    pub fn chan(&self) -> &Chan<T> {
        &self.0
    }

    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub fn downgrade(&self) -> WeakTx<T> {
        self.0.weak_senders.fetch_add(1, Ordering::Relaxed);
        WeakTx(self.0.clone())
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
        if model_failed() {
            return;
        }
        // The release is for the receiver: who sees that no sender is left sees
        // all that they have sent.
        let last = self.0.senders.fetch_sub(1, Ordering::AcqRel) == 1;
        if last && !active(Mutant::LastSenderLeavesQuietly) {
            self.0.seat.0.wake();
        }
    }
}

impl<T> WeakTx<T> {
    pub fn chan(&self) -> &Chan<T> {
        &self.0
    }

    pub fn upgrade(&self) -> Option<Tx<T>> {
        self.0
            .senders
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |senders| {
                (senders != 0).then(|| senders + 1)
            })
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
        if model_failed() {
            return;
        }
        self.0.weak_senders.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<T> Chan<T> {
    pub fn strong_count(&self) -> usize {
        self.senders.load(Ordering::Acquire)
    }

    pub fn weak_count(&self) -> usize {
        self.weak_senders.load(Ordering::Relaxed)
    }
}

impl<T> fmt::Debug for Tx<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
