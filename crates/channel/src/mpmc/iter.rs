//! Receivers as iterators.

use std::iter::FusedIterator;

use super::receiver::Receiver;
use crate::macros::opaque_debug;

/// Iterator returned by [`Receiver::iter`].
#[must_use = "iterators do nothing unless they are consumed"]
pub struct Iter<'a, T> {
    pub(super) receiver: &'a Receiver<T>,
}

/// Iterator returned by [`Receiver::try_iter`].
#[must_use = "iterators do nothing unless they are consumed"]
pub struct TryIter<'a, T> {
    pub(super) receiver: &'a Receiver<T>,
}

/// A receiver as an iterator; the thread waits for each value.
#[must_use = "iterators do nothing unless they are consumed"]
pub struct IntoIter<T> {
    pub(super) receiver: Receiver<T>,
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.receiver.recv_blocking().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.receiver.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.receiver.recv_blocking().ok()
    }
}

impl<T> FusedIterator for Iter<'_, T> {}
impl<T> FusedIterator for IntoIter<T> {}

opaque_debug!(impl<T> Iter<'_, T>, impl<T> TryIter<'_, T>, impl<T> IntoIter<T>);
