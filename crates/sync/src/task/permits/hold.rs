//! Permits that return when they are dropped: the parts of guards.

use super::Permits;

/// One permit.
pub struct One<'a>(&'a Permits);

/// All permits of a batch.
pub struct All<'a> {
    permits: &'a Permits,
    count: u32,
}

impl<'a> One<'a> {
    /// Creates the holder of one permit that has been taken.
    #[inline]
    pub fn new(permits: &'a Permits) -> Self {
        Self(permits)
    }
}

impl<'a> All<'a> {
    /// Creates the holder of all `count` permits, which have been taken.
    #[inline]
    pub fn new(permits: &'a Permits, count: u32) -> Self {
        Self { permits, count }
    }

    /// Gives back all but one.
    #[inline]
    pub fn keep_one(self) -> One<'a> {
        let permits = self.permits;
        let count = self.count as usize;
        permits.observed.object.downgraded();
        // The one is a guard already if a waker panics.
        let one = One(permits);
        std::mem::forget(self);
        if count > 1 {
            permits.give_back(count - 1);
        }
        one
    }
}

impl Drop for One<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.observed.object.released_by_any();
        self.0.give_back(1);
    }
}

impl Drop for All<'_> {
    #[inline]
    fn drop(&mut self) {
        self.permits.observed.object.released();
        self.permits.give_back(self.count as usize);
    }
}
