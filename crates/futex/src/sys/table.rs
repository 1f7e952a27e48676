//! A table of sleepers, for systems that have no futex and for the model
//! checker.
//!
//! The table is an array of buckets. A bucket is a mutex around a queue of entries, each of
//! which is an address and a sleeper. The address decides the bucket. The file is generic
//! over its locks: `prim` is the standard library's or loom's.
//!
//! **Sleeping.** A thread locks the bucket, compares the word, adds an entry for it, and
//! waits on its own condition variable, which lives on its stack and uses the bucket's
//! mutex. **Waking.** A thread locks the bucket, takes the first entries with the address
//! out of the queue, marks their sleepers as woken, and notifies them. It never reads the
//! word.
//!
//! **No wake-up is lost.** A waker changes the word, then locks the bucket. If it gets the lock
//! before the sleeper, the sleeper's comparison, under the same lock, sees the change. If it gets
//! the lock after the sleeper, the entry is in the queue. A sleeper leaves only with the lock
//! held, either woken (the waker removed the entry) or timed out (it removes the entry itself).
//! So no wake is spent on a sleeper that has left, and counts are exact.
//!
//! **Many words.** A thread that waits on many words would need many locks. All such threads use
//! one bucket instead, [`MANY`], with one entry for each word. A waker looks into the word's own
//! bucket and then into `MANY`. So that most wakes need not take that second lock, a counter
//! holds the number of such threads. This is Dekker's pattern: the sleeper raises the counter,
//! then compares; the waker changes the word, then reads the counter. A sequentially consistent
//! fence between the two steps on both sides makes sure that at least one of them sees the other.
//! The first wake that finds one of the entries removes all of them, so a thread is woken once.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::time::Instant;

use super::prim::{self, BUCKETS, Clock, Condvar, Mutex};
use crate::word::Word;
use crate::{Group, WaitAny, WaitResult};

/// The bucket of all threads that wait on many words. It serves ordinary sleepers too,
/// which matters in the model: there it is the only one.
const MANY: usize = 0;

pub(super) struct Table {
    buckets: [Bucket; BUCKETS],
    /// Counts the threads that are in [`MANY`] with many words, or about to be. Not one of
    /// `prim`'s atomics: the model has one bucket and never reads this counter.
    waiting_on_many: AtomicUsize,
}

/// Each bucket has cache lines of its own, so that locking one does not slow down its
/// neighbours.
#[repr(align(64))]
pub(super) struct Bucket(pub(super) Mutex<Queue>);

pub(super) struct Queue {
    entries: Vec<Entry>,
    clock: Clock,
}

struct Entry {
    address: usize,
    /// The index of the entry's word in the sleeper's list.
    index: usize,
    /// An entry without a group is woken with either group.
    group: Option<Group>,
    sleeper: *const Sleeper,
}

// SAFETY: only threads that hold the lock of the bucket use the pointer. Its target stays on the
// stack of the sleeping thread while the entry is in the queue. The sleeper leaves only after it
// has removed its entries, or has seen under the lock that a waker has.
unsafe impl Send for Entry {}

struct Sleeper {
    condvar: Condvar,
    /// The index of the word through which the thread was woken. Guarded by the bucket's
    /// lock.
    woken_by: Cell<Option<usize>>,
    timed: bool,
}

impl Table {
    pub(super) const fn new(buckets: [Bucket; BUCKETS]) -> Self {
        Self {
            buckets,
            waiting_on_many: AtomicUsize::new(0),
        }
    }

    /// Sleeps on one word.
    #[cfg_attr(loom, track_caller)]
    pub(super) fn wait<W: Word>(
        &self,
        word: &W,
        expected: u32,
        deadline: Option<Instant>,
        group: Option<Group>,
    ) -> WaitResult {
        let bucket = &self.buckets[bucket_of(word.address().addr(), BUCKETS)];
        match sleep(bucket, &[(word, expected)], deadline, group) {
            WaitAny::Woken(_) => WaitResult::Woken,
            WaitAny::ValueChanged(_) => WaitResult::ValueChanged,
            WaitAny::TimedOut => WaitResult::TimedOut,
        }
    }

    /// Sleeps on many words.
    pub(super) fn wait_any<W: Word>(
        &self,
        words: &[(&W, u32)],
        deadline: Option<Instant>,
    ) -> WaitAny {
        self.waiting_on_many.fetch_add(1, Ordering::Relaxed);
        // Dekker: either the comparison in `sleep` sees the new value of a word, or the
        // thread that changed the word sees the counter.
        fence(Ordering::SeqCst);
        let result = sleep(&self.buckets[MANY], words, deadline, None);
        self.waiting_on_many.fetch_sub(1, Ordering::Relaxed);
        result
    }

    /// Wakes up to `n` sleepers of either kind, members of `group` or of any group.
    pub(super) fn wake(&self, address: *const (), n: usize, group: Option<Group>) -> usize {
        let bucket = bucket_of(address.addr(), BUCKETS);
        let woken = self.buckets[bucket].wake(address.addr(), n, group);
        if bucket == MANY {
            return woken;
        }
        woken + self.wake_many(address, n - woken)
    }

    /// Wakes up to `n` of the threads that sleep in [`Table::wait_any`].
    pub(super) fn wake_many(&self, address: *const (), n: usize) -> usize {
        // Dekker: the other half of the fence in `wait_any`.
        fence(Ordering::SeqCst);
        if self.waiting_on_many.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        self.buckets[MANY].wake(address.addr(), n, None)
    }
}

/// Returns which of `buckets` an address has. A multiplication spreads words that lie in a row
/// (Fibonacci hashing); another one maps 32 of its bits to a bucket.
pub(crate) fn bucket_of(address: usize, buckets: usize) -> usize {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let hash = (address as u64).wrapping_mul(GOLDEN) >> 32;
    ((hash * buckets as u64) >> 32) as usize
}

#[cfg_attr(loom, track_caller)]
fn sleep<W: Word>(
    bucket: &Bucket,
    words: &[(&W, u32)],
    deadline: Option<Instant>,
    group: Option<Group>,
) -> WaitAny {
    let mut queue = prim::lock(&bucket.0);
    if let Some(index) = first_changed(words) {
        return WaitAny::ValueChanged(index);
    }
    if deadline.is_some_and(|deadline| queue.clock.has_passed(deadline)) {
        return WaitAny::TimedOut;
    }
    let sleeper = Sleeper {
        condvar: Condvar::new(),
        woken_by: Cell::new(None),
        timed: deadline.is_some(),
    };
    queue.add(words, group, &sleeper);
    loop {
        queue = prim::sleep(&sleeper.condvar, queue, deadline);
        if let Some(index) = sleeper.woken_by.get() {
            return WaitAny::Woken(index);
        }
        if deadline.is_some_and(|deadline| queue.clock.has_passed(deadline)) {
            queue.remove(&sleeper);
            return WaitAny::TimedOut;
        }
    }
}

/// Returns the index of the first word that does not hold its expected value.
pub(super) fn first_changed<W: Word>(words: &[(&W, u32)]) -> Option<usize> {
    words
        .iter()
        .position(|(word, expected)| !word.holds(*expected))
}

impl Bucket {
    fn wake(&self, address: usize, n: usize, group: Option<Group>) -> usize {
        let mut queue = prim::lock(&self.0);
        let mut woken = 0;
        while woken < n {
            let Some(entry) = queue.find(address, group) else {
                break;
            };
            // SAFETY: the entry is in the queue and this thread holds the lock, so the
            // sleeper is still there (see `Entry`). It cannot leave before the lock is
            // released.
            let sleeper = unsafe { &*entry.sleeper };
            sleeper.woken_by.set(Some(entry.index));
            queue.remove(sleeper);
            sleeper.condvar.notify_one();
            woken += 1;
        }
        woken
    }
}

impl Queue {
    pub(super) const fn new(clock: Clock) -> Self {
        Self {
            entries: Vec::new(),
            clock,
        }
    }

    /// Returns the first entry that a wake of `group` matches.
    fn find(&self, address: usize, group: Option<Group>) -> Option<&Entry> {
        let is_meant = |entry: &&Entry| {
            let same = entry.group == group || entry.group.is_none() || group.is_none();
            entry.address == address && same
        };
        self.entries.iter().find(is_meant)
    }

    fn add<W: Word>(&mut self, words: &[(&W, u32)], group: Option<Group>, sleeper: &Sleeper) {
        let entries = words.iter().enumerate().map(|(index, (word, _))| Entry {
            address: word.address().addr(),
            index,
            group,
            sleeper,
        });
        self.entries.extend(entries);
    }

    fn remove(&mut self, sleeper: &Sleeper) {
        self.entries
            .retain(|entry| !ptr::eq(entry.sleeper, sleeper));
    }
}

#[cfg(test)]
impl Table {
    /// Locks all buckets, until the result is dropped.
    pub(super) fn lock_all(&self) -> Vec<prim::MutexGuard<'_, Queue>> {
        self.buckets
            .iter()
            .map(|bucket| prim::lock(&bucket.0))
            .collect()
    }

    /// Counts the entries for this address.
    pub(super) fn entries_of(&self, address: *const ()) -> usize {
        let is_meant = |entry: &&Entry| entry.address == address.addr();
        let count = |queue: &mut Queue| queue.entries.iter().filter(is_meant).count();
        let counts = |bucket: &Bucket| count(&mut prim::lock(&bucket.0));
        self.buckets.iter().map(counts).sum()
    }
}

#[cfg(loom)]
impl Table {
    /// Makes all deadlines pass.
    pub(super) fn expire(&self) {
        for bucket in &self.buckets {
            let mut queue = prim::lock(&bucket.0);
            queue.clock.expire();
            for entry in &queue.entries {
                // SAFETY: the bucket is locked, so the entry's sleeper is alive.
                let sleeper = unsafe { &*entry.sleeper };
                if sleeper.timed {
                    sleeper.condvar.notify_one();
                }
            }
        }
    }
}
