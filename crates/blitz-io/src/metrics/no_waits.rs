//! Waits without the feature `inspect`: there are none.

use super::Round;

/// See `waits.rs`.
#[derive(Default)]
pub(super) struct Waits;

impl Waits {
    /// Does nothing.
    pub(super) fn record(&mut self, _round: &mut Round) {}
}
