//! Receivers as iterators.

use std::iter::FusedIterator;

use super::receiver::Receiver;
use blitz_io_core::debug_is_name;

/// Iterator returned by [`Receiver::iter`].
#[must_use = "iterators do nothing unless they are consumed"]
pub struct Iter<'a, T> {
    receiver: &'a Receiver<T>,
}

/// Iterator returned by [`Receiver::try_iter`].
#[must_use = "iterators do nothing unless they are consumed"]
pub struct TryIter<'a, T> {
    receiver: &'a Receiver<T>,
}

/// A receiver as an iterator; the thread waits for each value.
#[must_use = "iterators do nothing unless they are consumed"]
pub struct IntoIter<T> {
    receiver: Receiver<T>,
}

impl<T> Receiver<T> {
    /// Returns an iterator over the values to come; the thread waits for each. It
    /// ends when the channel is empty and closed.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project, each step of it: the task must not be
    /// blocked.
    ///
    /// ```
    /// let (sender, receiver) = blitz_io::sync::mpmc::unbounded();
    /// sender.try_send(1).unwrap();
    /// sender.try_send(2).unwrap();
    /// drop(sender);
    /// assert_eq!(receiver.iter().collect::<Vec<_>>(), [1, 2]);
    /// ```
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { receiver: self }
    }

    /// Returns an iterator over the values that can be received without waiting.
    ///
    /// ```
    /// let (sender, receiver) = blitz_io::sync::mpmc::unbounded();
    /// sender.try_send(1).unwrap();
    /// sender.try_send(2).unwrap();
    /// assert_eq!(receiver.try_iter().sum::<i32>(), 3);
    /// ```
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { receiver: self }
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { receiver: self }
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.blocking_recv().ok()
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

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.blocking_recv().ok()
    }
}

impl<T> FusedIterator for Iter<'_, T> {}
impl<T> FusedIterator for IntoIter<T> {}

debug_is_name!(impl<T> Iter<'_, T>, impl<T> TryIter<'_, T>, impl<T> IntoIter<T>);
