//! A count that is taken back.

use std::cell::Cell;

/// A number that is one higher until this is dropped; then it is what it was before.
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
