//! Events with ids: how often each id was notified.
//!
//! Entry `id` counts the notifications of `id`. A notifier adds one, and then wakes the
//! waiters. A listener remembers, in its own memory, the counts that it has seen. The
//! difference between the two counts of an id is the number of notifications since then.
//!
//! **Every listener sees every notification.** A notification is one addition. A notifier
//! that is killed has made the addition, for all listeners alike, or has not. A listener
//! leaves nothing in the segment, so its death affects no other participant. No wake-up is
//! lost, as in `event_count.rs`: the addition is the change.
//!
//! **Hostile words.** Every value of an entry is a valid count.

use blitz_io_futex::atomic::Ordering;

use crate::kernel::memory::Memory;

/// The counts that a listener has seen.
pub struct Seen {
    counts: Box<[u64]>,
    /// The id at which the next search begins, so that a busy id does not hide the others.
    next: usize,
}

/// Counts a notification of `id`.
#[inline]
pub fn notify(memory: &Memory, id: usize) {
    memory.entry(id).add(1);
}

impl Seen {
    /// Starts with all notifications until now counted as seen.
    pub fn new(memory: &Memory, ids: usize) -> Self {
        let counts = (0..ids).map(|id| memory.entry(id).load(Ordering::Acquire));
        Self {
            counts: counts.collect(),
            next: 0,
        }
    }

    pub fn ids(&self) -> usize {
        self.counts.len()
    }

    /// Returns an id that was notified since it was last returned, and how often.
    #[inline]
    pub fn find(&mut self, memory: &Memory) -> Option<(usize, u64)> {
        let ids = self.counts.len();
        for id in (self.next..ids).chain(0..self.next) {
            let now = memory.entry(id).load(Ordering::Acquire);
            let count = now.wrapping_sub(self.counts[id]);
            if count != 0 {
                self.counts[id] = now;
                self.next = (id + 1) % ids;
                return Some((id, count));
            }
        }
        None
    }
}
