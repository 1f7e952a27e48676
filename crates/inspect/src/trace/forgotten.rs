//! `Forgotten`: permits that `forget` has kept from their semaphore until `add_permits` replaces them.
//!
//! Pools of connections do so: a connection that is in use has a permit, and no guard of it. A forgotten permit counts as
//! held until as many are added. If more are added than were forgotten, the semaphore has more permits than before.

use std::collections::HashMap;

/// The numbers of forgotten permits of semaphores, by their places in the recording.
#[derive(Default)]
pub(super) struct Forgotten(HashMap<usize, u64>);

impl Forgotten {
    /// Notes that permits are forgotten.
    pub(super) fn forget(&mut self, object: usize, count: u8) {
        *self.0.entry(object).or_default() += u64::from(count);
    }

    /// Notes that permits are added. Returns the number of forgotten ones that they replace.
    pub(super) fn added(&mut self, object: usize, count: u8) -> u64 {
        let Some(out) = self.0.get_mut(&object) else {
            return 0;
        };
        let replaced = u64::from(count).min(*out);
        *out -= replaced;
        replaced
    }
}
