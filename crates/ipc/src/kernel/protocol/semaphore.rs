//! Permits: which participant has which.
//!
//! Entry `i` belongs to permit `i`: 0 if it is free, or else one more than the number of
//! the participant that has it.
//!
//! ```text
//!           acquire                       release, or reap
//!   free ─────────────► participant + 1 ───────────────────► free
//! ```
//!
//! Each arrow is one compare-and-swap, which changes the permit and its owner together. So
//! at every instruction at which a process can be killed, each permit is free or has an
//! owner. The participant that finds the owner dead (see `endpoint.rs`) frees its permits.
//!
//! **No permit has two owners.** Only a free entry is acquired, and only the holder of the
//! lock on the owner's record, which is the owner or its reaper, frees it. A participant's
//! number is used again only by the next holder of that lock, after it has reaped.
//!
//! **No wake-up is lost**, as in `event_count.rs`. A search that finds no permit may have
//! passed one that was freed afterwards. That happened after the waiter's announcement, so
//! the participant that freed it sees the flag.

use blitz_io_futex::atomic::Ordering;

use crate::kernel::memory::Memory;
use crate::kernel::ring::Corrupt;

/// The permits of a segment.
#[derive(Clone, Copy)]
pub struct Permits<'a> {
    pub memory: &'a Memory,
    pub count: usize,
    pub participants: usize,
}

impl Permits<'_> {
    /// Acquires a free permit for participant `me`, searching from `first`.
    #[inline]
    pub fn try_acquire(self, me: usize, first: usize) -> Result<Option<usize>, Corrupt> {
        for permit in (first..self.count).chain(0..first) {
            let entry = self.memory.entry(permit);
            let owner = entry.load(Ordering::Acquire);
            if owner > self.participants as u64 {
                return Err(Corrupt);
            }
            if owner == 0 && entry.replace(0, me as u64 + 1) {
                return Ok(Some(permit));
            }
        }
        Ok(None)
    }

    /// Frees a permit of participant `me`. The caller notifies afterwards.
    #[inline]
    pub fn release(self, me: usize, permit: usize) -> Result<(), Corrupt> {
        if self.memory.entry(permit).replace(me as u64 + 1, 0) {
            Ok(())
        } else {
            Err(Corrupt)
        }
    }

    /// Returns how many permits are free at the moment.
    pub fn free(self) -> usize {
        let owners = (0..self.count).map(|permit| self.memory.entry(permit));
        owners
            .filter(|entry| entry.load(Ordering::Relaxed) == 0)
            .count()
    }

    /// Frees the permits of participant `dead`. The caller holds the lock on its record,
    /// and notifies afterwards.
    pub fn reap(self, dead: usize) {
        for permit in 0..self.count {
            let entry = self.memory.entry(permit);
            if entry.load(Ordering::Acquire) == dead as u64 + 1 {
                entry.replace(dead as u64 + 1, 0);
            }
        }
    }
}
