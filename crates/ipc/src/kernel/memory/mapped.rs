//! The shared memory of a program: words in a mapped file.
//!
//! ```text
//! 0       header (what is fixed when the segment is made, and slow counters)
//! 1024    tail, next, restored, published, room, copiers: each 128 bytes from the next
//! 4096    one record of 128 bytes for each participant: senders, then receivers
//! …       one place for each message: stamp, length, bytes
//! ```
//!
//! All offsets come from a [`Layout`], which is computed from settings that were checked
//! once and are kept in private memory. Nothing that is read from the segment is used as an
//! offset, so no other participant can make this process access memory outside of it.

mod copy;

use std::ptr::NonNull;

use blitz_io_futex::atomic::{AtomicU32, AtomicU64};

use super::{SleepWord, Word};
use crate::kernel::step;

/// Words of the header, in bytes from the beginning.
pub mod header {
    pub const MAGIC: usize = 0;
    pub const VERSION: usize = 8;
    pub const LAYOUT: usize = 16;
    pub const SIZE: usize = 24;
    pub const READY: usize = 32;
    /// Not 0 after a participant has found that the segment was overwritten.
    pub const CORRUPT: usize = 40;
    pub const KIND: usize = 48;
    pub const CAPACITY: usize = 56;
    pub const MAX_LEN: usize = 64;
    pub const WHEN_FULL: usize = 72;
    pub const SENDERS: usize = 80;
    pub const RECEIVERS: usize = 88;
    pub const SENDERS_SEEN: usize = 96;
    pub const ID: usize = 104;
    /// The length of a file that holds the words above.
    pub const LEN: usize = 1024;
}

/// Words of a participant's record, in bytes from its beginning.
pub mod record {
    pub const ROLE: usize = 0;
    pub const PID: usize = 8;
    pub const STARTED: usize = 16;
    pub const ARMED: usize = 24;
    pub const DOORBELL: usize = 32;
    /// The cursor, on a line of its own: the receiver writes it for each message.
    pub const CURSOR: usize = 64;
    pub const LEN: usize = 128;
}

const TAIL: usize = 1024;
const NEXT: usize = 1152;
const RESTORED: usize = 1280;
const PUBLISHED: usize = 1408;
const ROOM: usize = 1536;
const COPIERS: usize = 1664;
const RECORDS: usize = 4096;
/// Stamp and length, before a message's bytes.
const PLACE_HEADER: usize = 16;
/// Bytes of an entry.
pub const ENTRY_LEN: usize = 8;
/// Two messages share no cache line.
const PLACE_ALIGN: usize = 64;

/// The offsets of all parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    capacity: usize,
    participants: usize,
    max_len: usize,
    places: usize,
    stride: usize,
    size: usize,
}

impl Layout {
    /// Returns `None` if it does not fit into the address space.
    pub fn new(capacity: usize, max_len: usize, participants: usize) -> Option<Self> {
        let stride =
            max_len.checked_add(PLACE_HEADER + PLACE_ALIGN - 1)? / PLACE_ALIGN * PLACE_ALIGN;
        let places = participants
            .checked_mul(record::LEN)?
            .checked_add(RECORDS)?;
        let size = stride.checked_mul(capacity)?.checked_add(places)?;
        let size = size.checked_next_multiple_of(4096)?;
        (size <= isize::MAX as usize).then_some(Self {
            capacity,
            participants,
            max_len,
            places,
            stride,
            size,
        })
    }

    /// Bytes of the whole segment.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Bytes before the first message.
    pub fn head(&self) -> usize {
        self.places
    }
}

/// Returns the word at `offset`.
pub fn word_at(bytes: &[u8], offset: usize) -> u64 {
    let word = bytes[offset..].first_chunk();
    u64::from_ne_bytes(*word.expect("a whole word"))
}

/// A copy of everything before the first message, for a process that does not take part.
pub struct Snapshot(Vec<u8>);

impl Snapshot {
    /// `head` has as many bytes as [`Layout::head`] says.
    pub fn new(head: Vec<u8>) -> Self {
        Self(head)
    }

    pub fn tail(&self) -> u64 {
        word_at(&self.0, TAIL)
    }

    /// Returns a word of a participant's record (see [`record`]).
    pub fn record(&self, participant: usize, offset: usize) -> u64 {
        word_at(&self.0, RECORDS + participant * record::LEN + offset)
    }
}

/// A mapped segment. It does not own the mapping; the segment does.
///
/// Invariants:
///
/// 1. `base` is the page-aligned beginning of a mapping of at least `layout.size()` bytes,
///    which outlives this value and everything made from it.
/// 2. Every word outside of the messages is at a multiple of its size, and is accessed
///    atomically only.
/// 3. The bytes of a message begin at a multiple of 16, with room for `max_len` bytes,
///    rounded up to whole words. The ring's protocol keeps plain accesses to them from
///    racing (`ring/exclusive.rs`). All other accesses are atomic, by whole words.
#[derive(Clone, Copy)]
pub struct Memory {
    base: NonNull<u8>,
    layout: Layout,
}

// SAFETY: invariants 2 and 3: accesses of several threads are atomic or do not race.
unsafe impl Send for Memory {}
// SAFETY: invariants 2 and 3, as a `&Memory` permits the same accesses as a `Memory`.
unsafe impl Sync for Memory {}

impl Memory {
    /// # Safety
    ///
    /// `base` is the page-aligned beginning of a readable and writable mapping of at least
    /// `layout.size()` bytes, which outlives the result and everything made from it.
    pub unsafe fn new(base: NonNull<u8>, layout: Layout) -> Self {
        Self { base, layout }
    }

    fn at(&self, offset: usize) -> NonNull<u8> {
        debug_assert!(offset < self.layout.size);
        // SAFETY: every offset is made of constants and of indices that were checked
        // against the layout, so it lies within the mapping (invariant 1).
        unsafe { self.base.add(offset) }
    }

    fn word(&self, offset: usize) -> Word<'_> {
        // SAFETY: the word lies within the mapping (invariant 1). Its offset is a multiple
        // of 8, and it is accessed atomically only (invariant 2).
        Word(unsafe { self.at(offset).cast::<AtomicU64>().as_ref() })
    }

    fn sleep_word(&self, offset: usize) -> SleepWord<'_> {
        // SAFETY: the word lies within the mapping (invariant 1). Its offset is a multiple
        // of 4, and it is accessed atomically only (invariant 2).
        SleepWord(unsafe { self.at(offset).cast::<AtomicU32>().as_ref() })
    }

    /// Returns a word of the header (see [`header`]).
    pub fn header(&self, offset: usize) -> Word<'_> {
        assert!(offset < header::LEN);
        self.word(offset)
    }

    /// Returns a word of a participant's record (see [`record`]).
    #[inline]
    pub fn record(&self, participant: usize, offset: usize) -> Word<'_> {
        assert!(participant < self.layout.participants && offset < record::LEN);
        self.word(RECORDS + participant * record::LEN + offset)
    }

    #[inline]
    pub fn tail(&self) -> Word<'_> {
        self.word(TAIL)
    }

    #[inline]
    pub fn next(&self) -> Word<'_> {
        self.word(NEXT)
    }

    #[inline]
    pub fn restored(&self) -> Word<'_> {
        self.word(RESTORED)
    }

    #[inline]
    pub fn published(&self) -> SleepWord<'_> {
        self.sleep_word(PUBLISHED)
    }

    #[inline]
    pub fn room(&self) -> SleepWord<'_> {
        self.sleep_word(ROOM)
    }

    #[inline]
    pub fn copiers(&self) -> Word<'_> {
        self.word(COPIERS)
    }

    /// Returns the role of a participant, which is 0 if its record is empty.
    #[inline]
    pub fn role(&self, participant: usize) -> Word<'_> {
        self.record(participant, record::ROLE)
    }

    /// Returns the count of senders that have joined: see `ring/senders.rs`.
    pub fn senders_seen(&self) -> Word<'_> {
        self.header(header::SENDERS_SEEN)
    }

    /// Returns the note that the segment was overwritten: see `ring/overwritten.rs`.
    pub fn corrupt(&self) -> Word<'_> {
        self.header(header::CORRUPT)
    }

    #[inline]
    pub fn cursor(&self, participant: usize) -> Word<'_> {
        self.record(participant, record::CURSOR)
    }

    #[inline]
    fn place(&self, index: u64) -> usize {
        assert!(index < self.layout.capacity as u64);
        self.layout.places + index as usize * self.layout.stride
    }

    #[inline]
    pub fn stamp(&self, index: u64) -> Word<'_> {
        self.word(self.place(index))
    }

    /// Returns an entry of a segment that has no ring: see `protocol`. Entries lie where
    /// the bytes of the only message would be.
    #[inline]
    pub fn entry(&self, number: usize) -> Word<'_> {
        assert!(number < self.layout.max_len / ENTRY_LEN);
        self.word(self.layout.places + PLACE_HEADER + number * ENTRY_LEN)
    }

    /// Returns the length of the message at `index`. It may be any value.
    #[inline]
    pub fn length(&self, index: u64) -> Word<'_> {
        self.word(self.place(index) + 8)
    }

    /// Returns where the message at `index` begins: 16-aligned, with room for `max_len`
    /// bytes.
    #[inline]
    pub fn bytes(&self, index: u64) -> NonNull<u8> {
        self.at(self.place(index) + PLACE_HEADER)
    }

    /// Copies `bytes` to the place at `index`. If `exclusive`, no other participant that
    /// keeps the protocol accesses the place during the copy; otherwise receivers may copy
    /// it.
    #[inline]
    pub fn write(&self, index: u64, bytes: &[u8], exclusive: bool) {
        assert!(bytes.len() <= self.layout.max_len);
        let target = self.bytes(index);
        if cfg!(feature = "stepping") {
            // A point between two halves of the bytes.
            let (first, second) = bytes.split_at(bytes.len() / 2 / copy::WORD * copy::WORD);
            step::point();
            // SAFETY: the first half of `bytes`, for which the argument at the end of this
            // function holds. It is a number of whole words.
            unsafe { write_to(target, first, exclusive) };
            step::point();
            // SAFETY: the second half of `bytes`, for which the same argument holds. It
            // begins after whole words, so at a multiple of `WORD`.
            unsafe { write_to(target.add(first.len()), second, exclusive) };
            return;
        }
        // SAFETY: `bytes` is at most `max_len` long, so its words exist and are aligned
        // (invariant 3). The caller's claim of the place orders this write before the reads
        // of every reader that keeps the protocol. A reader that does not keep it may read
        // other bytes, but only damages its own process.
        unsafe { write_to(target, bytes, exclusive) };
    }

    /// Copies the beginning of the message at `index` into `target`. A sender may overwrite
    /// the message during the copy, so the caller checks the stamp again before it uses the
    /// bytes.
    #[inline]
    pub fn read(&self, index: u64, target: &mut [u8]) {
        assert!(target.len() <= self.layout.max_len);
        // SAFETY: `target` is at most `max_len` long, so its words exist and are aligned. A
        // sender that overwrites them now does not have the place for itself, and writes
        // them atomically (invariant 3).
        unsafe { copy::read(self.bytes(index), target) };
    }
}

/// # Safety
///
/// As for [`copy::write`]; if the memory is `exclusive`, nothing else accesses it.
#[inline]
unsafe fn write_to(target: NonNull<u8>, bytes: &[u8], exclusive: bool) {
    if exclusive {
        // SAFETY: the caller's promise.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), target.as_ptr(), bytes.len());
        }
    } else {
        // SAFETY: the caller's promise.
        unsafe { copy::write(target, bytes) };
    }
}
