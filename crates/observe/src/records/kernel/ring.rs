//! `Ring`: the last events of a thread. The thread writes them, and any thread copies them at any time.
//!
//! # Protocol
//!
//! Event `n`, counted from 0, is in slot `n` modulo the capacity. Only the owner of the ring writes:
//!
//! 1. It stores `n + 1` in `begun`, and makes a release fence.
//! 2. It stores the words of the event in the slot.
//! 3. It stores `n + 1` in `written`, a release.
//!
//! A reader loads `written`, an acquire, and copies the events before that number, as many as the ring has. It
//! makes an acquire fence, and loads `begun`. It gives up the events with a number below `begun` less the
//! capacity, as lost.
//!
//! # A copy is whole
//!
//! Let the reader keep event `n`.
//!
//! 1. By its load of `written` it sees the stores of step 2 for event `n`, or later ones to the slot.
//! 2. If a word that it has copied is a later one, that is of event `m`, and `m` is at least `n` plus the
//!    capacity. The fence of step 1 comes before the store of that word, and the reader's fence after the load.
//!    So the reader's load of `begun` sees `m + 1` or more. Then `n` is below `begun` less the capacity, and the
//!    reader does not keep event `n`.
//!
//! The owner waits for no reader. A reader that is slower than the owner loses events, and knows how many.
//!
//! # One owner after the other
//!
//! A thread that ends gives its ring away, and the next owner continues the numbers. The lock of the free rings
//! (`trace/rings.rs`) orders the last store of the one before the first load of the other.

use blitz_io_futex::atomic::{AtomicU64, Ordering, fence};

/// The number of words of an event.
pub const WORDS: usize = 4;

/// The words of an event.
pub type Words = [u64; WORDS];

/// The last events of a thread; see the module documentation.
pub struct Ring {
    /// Number of events whose writing has begun.
    begun: AtomicU64,
    /// Number of events that are complete.
    written: AtomicU64,
    slots: Box<[[AtomicU64; WORDS]]>,
    mask: u64,
}

impl Ring {
    /// Creates a ring without events. The capacity is rounded up to a power of two.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.next_power_of_two();
        Self {
            begun: AtomicU64::new(0),
            written: AtomicU64::new(0),
            slots: slots(capacity),
            mask: capacity as u64 - 1,
        }
    }

    /// Returns the number of events that it has room for.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// Adds an event. Only the owner calls this.
    #[inline]
    pub fn push(&self, words: Words) {
        let number = self.written.load(Ordering::Relaxed);
        self.begun.store(number + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        let slot = &self.slots[(number & self.mask) as usize];
        for (place, word) in slot.iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
        self.written.store(number + 1, Ordering::Release);
    }

    /// Adds copies of the events to `into`, the oldest first. Returns the number of events that are lost: those
    /// before the first copy.
    pub fn read(&self, into: &mut Vec<Words>) -> u64 {
        let capacity = self.mask + 1;
        let end = self.written.load(Ordering::Acquire);
        let begin = end.saturating_sub(capacity);
        let from = into.len();
        for number in begin..end {
            let slot = &self.slots[(number & self.mask) as usize];
            into.push(slot.each_ref().map(|word| word.load(Ordering::Relaxed)));
        }
        fence(Ordering::Acquire);
        let begun = self.begun.load(Ordering::Relaxed);
        let first = begun.saturating_sub(capacity).clamp(begin, end);
        into.drain(from..from + (first - begin) as usize);
        first
    }
}

/// Returns slots of zeros. The system makes each page when it is first written, so that the first event of a thread
/// does not pay for all of them.
fn slots(capacity: usize) -> Box<[[AtomicU64; WORDS]]> {
    use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
    use std::ptr;

    if cfg!(loom) {
        // Zeros are no values of the model checker's types.
        let slot = |_| [(); WORDS].map(|()| AtomicU64::new(0));
        return (0..capacity).map(slot).collect();
    }
    let layout = Layout::array::<[AtomicU64; WORDS]>(capacity).expect("the capacity has a limit");
    // SAFETY: the layout has a size, as the capacity is a power of two.
    let memory = unsafe { alloc_zeroed(layout) };
    if memory.is_null() {
        handle_alloc_error(layout);
    }
    let slots = ptr::slice_from_raw_parts_mut(memory.cast::<[AtomicU64; WORDS]>(), capacity);
    // SAFETY: the memory is the program's allocator's, has this layout, and is owned by nothing else. Zeros are values of
    // these types.
    unsafe { Box::from_raw(slots) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_events_are_lost_and_counted() {
        let ring = Ring::new(3);
        let read = || {
            let mut events = vec![[9; WORDS]];
            let lost = ring.read(&mut events);
            let numbers: Vec<u64> = events.iter().map(|event| event[0]).collect();
            (lost, numbers)
        };
        assert_eq!(read(), (0, vec![9]));
        (0..4).for_each(|number| ring.push([number; WORDS]));
        assert_eq!(read(), (0, vec![9, 0, 1, 2, 3]));
        (4..6).for_each(|number| ring.push([number; WORDS]));
        assert_eq!(read(), (2, vec![9, 2, 3, 4, 5]));
    }
}
