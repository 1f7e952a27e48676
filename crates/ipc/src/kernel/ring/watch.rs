//! The questions of a reader of another thread, for reports.

use super::{Phase, Ring};

impl Ring {
    /// Returns another value for the same ring.
    ///
    /// # Safety
    ///
    /// The mapping of the ring outlives the result.
    pub(crate) unsafe fn share(&self) -> Self {
        Self { ..*self }
    }

    /// Returns the participant that writes or has taken the message at `position`.
    pub(crate) fn owner(&self, position: u64) -> Option<usize> {
        let stamp = self.stamp(position);
        let is_owned = matches!(stamp.phase(), Phase::Claimed | Phase::Taken);
        (is_owned && stamp.position() == position).then(|| stamp.owner())
    }
}
