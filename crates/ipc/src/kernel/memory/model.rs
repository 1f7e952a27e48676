//! The shared memory of a model: loom's words instead of a mapped file.

use blitz_io_futex::atomic::{AtomicU32, AtomicU64, Ordering};
use loom::cell::UnsafeCell;

use super::{SleepWord, Word};

/// Each message has two words, so that a model can see a torn one.
const PAYLOAD_WORDS: usize = 2;
/// The number of entries of a segment that has no ring.
const ENTRIES: usize = 2;

/// The shared memory of a model.
pub struct Memory {
    tail: AtomicU64,
    next: AtomicU64,
    restored: AtomicU64,
    published: AtomicU32,
    room: AtomicU32,
    copiers: AtomicU64,
    stamps: Vec<AtomicU64>,
    payloads: Vec<[AtomicU64; PAYLOAD_WORDS]>,
    /// One cell for each place. Its accesses stand for plain writes and copies, so that
    /// loom reports their races.
    plain: Vec<UnsafeCell<()>>,
    cursors: Vec<AtomicU64>,
    roles: Vec<AtomicU64>,
    senders_seen: AtomicU64,
    corrupt: AtomicU64,
    entries: [AtomicU64; ENTRIES],
}

// SAFETY: the cells hold nothing. loom reports each access that races with another.
unsafe impl Sync for Memory {}

impl Memory {
    /// Creates the memory of a ring with a place for each of these stamps and a participant for each cursor.
    pub fn new(stamps: &[u64], cursors: &[u64]) -> Self {
        Self {
            tail: AtomicU64::new(0),
            next: AtomicU64::new(0),
            restored: AtomicU64::new(0),
            published: AtomicU32::new(0),
            room: AtomicU32::new(0),
            copiers: AtomicU64::new(0),
            stamps: stamps.iter().copied().map(AtomicU64::new).collect(),
            payloads: stamps
                .iter()
                .map(|_| [AtomicU64::new(0), AtomicU64::new(0)])
                .collect(),
            plain: stamps.iter().map(|_| UnsafeCell::new(())).collect(),
            cursors: cursors.iter().copied().map(AtomicU64::new).collect(),
            roles: cursors.iter().map(|_| AtomicU64::new(0)).collect(),
            senders_seen: AtomicU64::new(0),
            corrupt: AtomicU64::new(0),
            entries: [AtomicU64::new(0), AtomicU64::new(0)],
        }
    }

    pub fn tail(&self) -> Word<'_> {
        Word(&self.tail)
    }

    pub fn next(&self) -> Word<'_> {
        Word(&self.next)
    }

    pub fn restored(&self) -> Word<'_> {
        Word(&self.restored)
    }

    pub fn published(&self) -> SleepWord<'_> {
        SleepWord(&self.published)
    }

    pub fn room(&self) -> SleepWord<'_> {
        SleepWord(&self.room)
    }

    pub fn copiers(&self) -> Word<'_> {
        Word(&self.copiers)
    }

    pub fn stamp(&self, index: u64) -> Word<'_> {
        Word(&self.stamps[index as usize])
    }

    pub fn cursor(&self, participant: usize) -> Word<'_> {
        Word(&self.cursors[participant])
    }

    pub fn role(&self, participant: usize) -> Word<'_> {
        Word(&self.roles[participant])
    }

    pub fn senders_seen(&self) -> Word<'_> {
        Word(&self.senders_seen)
    }

    pub fn corrupt(&self) -> Word<'_> {
        Word(&self.corrupt)
    }

    pub fn entry(&self, number: usize) -> Word<'_> {
        Word(&self.entries[number])
    }

    /// Writes the message `value` at `index`.
    pub fn write(&self, index: u64, value: u64) {
        for word in &self.payloads[index as usize] {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// Writes the message `value` at `index` as plain bytes.
    pub fn write_plain(&self, index: u64, value: u64) {
        self.plain[index as usize].with_mut(|_| self.write(index, value));
    }

    /// Returns the message at `index` as a copier reads it.
    pub fn copy(&self, index: u64) -> [u64; PAYLOAD_WORDS] {
        self.plain[index as usize].with(|_| self.read(index))
    }

    /// Returns the message at `index`, word by word.
    pub fn read(&self, index: u64) -> [u64; PAYLOAD_WORDS] {
        let [first, second] = &self.payloads[index as usize];
        [
            first.load(Ordering::Relaxed),
            second.load(Ordering::Relaxed),
        ]
    }
}
