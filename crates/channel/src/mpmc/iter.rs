//! Receivers as iterators.

use std::fmt;
use std::iter::FusedIterator;

use super::receiver::Receiver;

/// What [`Receiver::iter`] returns.
pub struct Iter<'a, T> {
    receiver: &'a Receiver<T>,
}

/// What [`Receiver::try_iter`] returns.
pub struct TryIter<'a, T> {
    receiver: &'a Receiver<T>,
}

/// A receiver as an iterator; the thread waits for each value.
pub struct IntoIter<T> {
    receiver: Receiver<T>,
}

impl<'a, T> Iter<'a, T> {
    pub(super) fn new(receiver: &'a Receiver<T>) -> Self {
        Self { receiver }
    }
}

impl<'a, T> TryIter<'a, T> {
    pub(super) fn new(receiver: &'a Receiver<T>) -> Self {
        Self { receiver }
    }
}

impl<T> IntoIter<T> {
    pub(super) fn new(receiver: Receiver<T>) -> Self {
        Self { receiver }
    }
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

impl<T> fmt::Debug for Iter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for TryIter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TryIter").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for IntoIter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntoIter").finish_non_exhaustive()
    }
}
