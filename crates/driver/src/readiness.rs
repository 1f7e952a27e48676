//! The readiness word: what a source is ready for, and a tick.
//!
//! ```text
//!   tick                          | shut down | ready bits
//!   one more with every event     |     1     |     6
//! ```
//!
//! # Changes
//!
//! * *An event* sets its bits and counts the tick up, in one step.
//! * *A clear* takes bits away after an operation that would have blocked. It names the
//!   [`Event`] that made it try, and does nothing if there has been another since: the
//!   operation may have been made before that, and what has arrived must not be
//!   forgotten. The tick and the bits change in one step, so no event falls between
//!   the comparison and the change.
//! * *A shutdown* sets its bit. It stays.
//!
//! What is closed stays closed: no clear takes those bits away.
//!
//! The tick comes round after 2^57 events, or 2^25 where a word has 32 bits. A clear is
//! wrong only if exactly so many events arrive during one operation.

use std::fmt;

use blitz_futex::atomic::{AtomicUsize, Ordering};

use crate::bits::{self, Bits};
use crate::mutant::{Mutant, active};

const SHUT_DOWN: usize = 1 << bits::COUNT;
const TICK: usize = SHUT_DOWN << 1;

/// What a source was ready for at some moment.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    tick: usize,
    /// The bits that were asked for and set.
    pub bits: Bits,
    /// The driver has ended: there will be no events any more.
    pub is_shut_down: bool,
}

impl Event {
    /// The same event with only these of its bits.
    #[must_use]
    pub fn only(mut self, bits: Bits) -> Self {
        self.bits &= bits;
        self
    }

    fn of(word: usize, mask: Bits) -> Self {
        Self {
            tick: word / TICK,
            bits: word & mask & bits::ALL,
            is_shut_down: word & SHUT_DOWN != 0,
        }
    }

    /// Whether there is something to be done about it.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.bits != 0 || self.is_shut_down
    }
}

/// See the head of this file.
pub struct Readiness(AtomicUsize);

impl Readiness {
    pub fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// What it is ready for among `mask`. Sees what was done before the event.
    #[inline]
    pub fn get(&self, mask: Bits) -> Event {
        Event::of(self.0.load(Ordering::Acquire), mask)
    }

    /// An event has been reported.
    pub fn set(&self, bits: Bits) {
        self.update(|word| Some((word | bits).wrapping_add(TICK)));
    }

    /// Supposes that it is ready, until an operation says otherwise.
    pub fn suppose(&self, bits: Bits) {
        self.0.fetch_or(bits, Ordering::Relaxed);
    }

    /// The bits of the event are no longer so, unless there was a newer event.
    #[inline]
    pub fn clear(&self, event: Event) {
        let gone = event.bits & !bits::FINAL;
        self.update(|word| {
            let known = word / TICK == event.tick || active(Mutant::ClearsBlindly);
            known.then_some(word & !gone)
        });
    }

    /// There will be no more events.
    pub fn shut_down(&self) {
        self.0.fetch_or(SHUT_DOWN, Ordering::Release);
    }

    #[inline]
    fn update(&self, change: impl FnMut(usize) -> Option<usize>) {
        _ = (self.0).fetch_update(Ordering::AcqRel, Ordering::Acquire, change);
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.get(bits::ALL), f)
    }
}
