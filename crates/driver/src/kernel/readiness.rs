//! The readiness word: the readiness of a source, and a tick.
//!
//! ```text
//!   tick                          | shut down | ready bits
//!   one more with every event     |     1     |     6
//! ```
//!
//! # Changes
//!
//! * *An event* sets its bits and increments the tick, in one step.
//! * *A clear* removes bits after an operation that would have blocked. It names the
//!   [`Event`] that made the operation try, and does nothing if there has been another
//!   event since. The operation may precede that event, whose readiness must not be lost.
//!   The tick and the bits change in one step, so no event falls between the comparison
//!   and the change.
//! * *A shutdown* sets its bit, which is never cleared.
//!
//! The closed bits are never removed by a clear.
//!
//! The tick wraps around after 2^57 events, or 2^25 where a word has 32 bits. A clear is
//! wrong only if exactly that many events arrive during one operation.

use std::fmt;

use blitz_io_futex::atomic::{AtomicUsize, Ordering};

use crate::kernel::bits::{self, Bits};

const SHUT_DOWN: usize = 1 << bits::COUNT;
const TICK: usize = SHUT_DOWN << 1;

/// The readiness of a source at some moment.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    tick: usize,
    /// The requested bits that are set.
    pub bits: Bits,
    /// The driver has ended: there will be no events any more.
    pub is_shut_down: bool,
}

impl Event {
    /// Returns the same event with only these of its bits.
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

    /// Returns `true` if there is anything to act on.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.bits != 0 || self.is_shut_down
    }
}

/// The readiness word. The top of this file shows its fields.
pub struct Readiness(AtomicUsize);

impl Readiness {
    pub fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Clears all bits, for another source.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Returns the readiness among `mask`, and acquires the writes that precede the
    /// event.
    #[inline]
    pub fn get(&self, mask: Bits) -> Event {
        Event::of(self.0.load(Ordering::Acquire), mask)
    }

    /// Records an event that has been reported.
    pub fn set(&self, bits: Bits) {
        self.update(|word| Some((word | bits).wrapping_add(TICK)));
    }

    /// Sets bits that are assumed to be ready, until an operation finds otherwise.
    pub fn suppose(&self, bits: Bits) {
        self.0.fetch_or(bits, Ordering::Relaxed);
    }

    /// Clears the bits of the event, unless there was a newer event.
    #[inline]
    pub fn clear(&self, event: Event) {
        let gone = event.bits & !bits::FINAL;
        self.update(|word| {
            let known = word / TICK == event.tick;
            known.then_some(word & !gone)
        });
    }

    /// Records that there will be no more events.
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
