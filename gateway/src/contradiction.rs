//! Evidence that the frames of an exporter contradict each other.
//!
//! A forged frame can move an importer ahead of its exporter. No frame of the exporter fits any more then, and the importer has
//! to forget what it knows. But a frame that does not fit may also be late: it was sent again, or later ones have overtaken it.
//! An importer that forgot what it knows because of such a frame would lose messages in silence, or report them twice.
//!
//! **The rule.** An exporter that is alive gives a sign of life in each interval. So its frames contradict each other if none
//! has fitted for `lost-after-ms`, and half of the intervals since then had one that did not fit. Late frames are no evidence
//! unless they are late for half of that time.

use std::time::Duration;

/// The time in which frames did not fit, since the last one that did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Contradiction {
    /// Such a frame came in this interval.
    is_seen: bool,
    lasted: Duration,
}

impl Contradiction {
    /// Notes a frame that fits, or that the importer could not look at any.
    pub fn over(&mut self) {
        *self = Self::default();
    }

    /// Notes a frame that does not fit.
    pub fn seen(&mut self) {
        self.is_seen = true;
    }

    /// Notes that an interval of this nominal length has passed.
    pub fn lasts(&mut self, interval: Duration) {
        if std::mem::take(&mut self.is_seen) {
            self.lasted = self.lasted.saturating_add(interval);
        }
    }

    /// Returns `true` if the frames contradict each other, and not only some of them were late. A host is lost after
    /// `lost_after` without a frame that fits.
    pub fn is_shown(self, lost_after: Duration) -> bool {
        self.lasted >= lost_after / 2
    }
}
