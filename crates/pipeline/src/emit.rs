//! The output of a stage: `Emit`, and the results of one item.

use std::collections::VecDeque;
use std::fmt;

/// Takes the values that a stage makes of an item.
pub struct Emit<'a, T> {
    /// Number of sinks of the pipeline.
    sinks: usize,
    to: &'a mut dyn FnMut(usize, T),
}

impl<'a, T> Emit<'a, T> {
    pub(crate) fn new(sinks: usize, to: &'a mut dyn FnMut(usize, T)) -> Self {
        Self { sinks, to }
    }

    /// Returns how many sinks the pipeline has.
    pub(crate) fn sinks(&self) -> usize {
        self.sinks
    }

    /// Passes a value on to the next stage, or to the (first) sink.
    #[inline]
    pub fn push(&mut self, value: T) {
        (self.to)(0, value);
    }

    /// Passes a value on to one of several sinks, counted from 0.
    ///
    /// # Panics
    ///
    /// Panics if the pipeline has no such sink.
    #[inline]
    #[track_caller]
    pub fn push_to(&mut self, sink: usize, value: T) {
        assert!(sink < self.sinks, "there is no sink {sink}");
        (self.to)(sink, value);
    }
}

impl<T> fmt::Debug for Emit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emit").finish_non_exhaustive()
    }
}

/// The results of one item for one sink, usually one.
pub struct Results<T> {
    first: Option<T>,
    rest: VecDeque<T>,
}

impl<T> Results<T> {
    pub const fn new() -> Self {
        Self {
            first: None,
            rest: VecDeque::new(),
        }
    }

    #[inline]
    pub fn push(&mut self, value: T) {
        match self.first {
            None => self.first = Some(value),
            Some(_) => self.rest.push_back(value),
        }
    }

    #[inline]
    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        self.first.take().into_iter().chain(self.rest.drain(..))
    }

    /// Takes the next result.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.first.take().or_else(|| self.rest.pop_front())
    }
}
