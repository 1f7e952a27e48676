//! The random walk: each alternative is equally likely.

use super::What;

/// The clock moves early in one of so many decisions about it: mostly, code is faster than a timeout.
const EARLY: u32 = 32;

/// A sequence of random decisions.
pub(in crate::sim) struct Random(blitz_io_core::Random);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(blitz_io_core::Random::seeded(seed))
    }

    /// Returns a number below `below`.
    #[inline]
    pub(super) fn below(&mut self, below: u32) -> u32 {
        self.0.below(below)
    }

    #[inline]
    pub(super) fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    #[inline]
    pub(in crate::sim) fn choose(&mut self, what: What, of: u32) -> u32 {
        match what {
            What::Timer => u32::from(self.below(EARLY) == 0),
            _ => self.below(of),
        }
    }
}
