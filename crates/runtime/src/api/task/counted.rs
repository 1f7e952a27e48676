//! A counter with a guard.

use std::cell::Cell;

/// Increments a counter; decrements it on drop.
pub(super) struct Counted<'a> {
    count: &'a Cell<usize>,
    before: usize,
}

impl<'a> Counted<'a> {
    #[inline]
    pub(super) fn new(count: &'a Cell<usize>) -> Self {
        let before = count.get();
        count.set(before + 1);
        Self { count, before }
    }
}

impl Drop for Counted<'_> {
    #[inline]
    fn drop(&mut self) {
        self.count.set(self.before);
    }
}
