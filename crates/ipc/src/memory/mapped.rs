//! The shared memory of a program: words laid over a mapped file.
//!
//! ```text
//! 0       header (what is fixed when the segment is made, and slow counters)
//! 1024    tail, next, restored, published, room: each 128 bytes from the next
//! 4096    one record of 128 bytes for each participant: senders, then receivers
//! …       one place for each message: stamp, length, bytes
//! ```
//!
//! All offsets come from a [`Layout`], which is computed from settings that were checked
//! once and are kept in private memory. Nothing that is read from the segment is used as
//! an offset, so no other participant can make this process touch memory outside.

use std::ptr::NonNull;

use blitz_futex::atomic::{AtomicU32, AtomicU64};

use super::{SleepWord, Word};
use crate::step;

/// Words of the header, in bytes from the beginning.
pub(crate) mod header {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const VERSION: usize = 8;
    pub(crate) const LAYOUT: usize = 16;
    pub(crate) const SIZE: usize = 24;
    pub(crate) const READY: usize = 32;
    pub(crate) const KIND: usize = 48;
    pub(crate) const CAPACITY: usize = 56;
    pub(crate) const MAX_LEN: usize = 64;
    pub(crate) const WHEN_FULL: usize = 72;
    pub(crate) const SENDERS: usize = 80;
    pub(crate) const RECEIVERS: usize = 88;
    pub(crate) const SENDERS_SEEN: usize = 96;
    /// How much of a file must be there to hold the words above.
    pub(crate) const LEN: usize = 1024;
}

/// Words of a participant's record, in bytes from its beginning.
pub(crate) mod record {
    pub(crate) const ROLE: usize = 0;
    pub(crate) const PID: usize = 8;
    pub(crate) const STARTED: usize = 16;
    pub(crate) const ARMED: usize = 24;
    pub(crate) const DOORBELL: usize = 32;
    /// On a line of its own: the receiver writes it for each message.
    pub(crate) const CURSOR: usize = 64;
    pub(crate) const LEN: usize = 128;
}

const TAIL: usize = 1024;
const NEXT: usize = 1152;
const RESTORED: usize = 1280;
const PUBLISHED: usize = 1408;
const ROOM: usize = 1536;
const RECORDS: usize = 4096;
/// Stamp and length, before a message's bytes.
const PLACE_HEADER: usize = 16;
/// Bytes of an entry.
pub(crate) const ENTRY_LEN: usize = 8;
/// Two messages share no cache line.
const PLACE_ALIGN: usize = 64;

/// Where everything lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    capacity: usize,
    participants: usize,
    max_len: usize,
    places: usize,
    stride: usize,
    size: usize,
}

impl Layout {
    /// `None` if it does not fit into the address space.
    pub(crate) fn new(capacity: usize, max_len: usize, participants: usize) -> Option<Self> {
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
    pub(crate) fn size(&self) -> usize {
        self.size
    }
}

/// A mapped segment. It does not own the mapping; the segment does.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    base: NonNull<u8>,
    layout: Layout,
}

// SAFETY: all of it is reached through atomics, and message bytes through raw copies that
// the ring's protocol orders.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// # Safety
    ///
    /// `base` is the page-aligned beginning of a mapping, readable and writable, of at least
    /// `layout.size()` bytes, that outlives the result and all that is made of it.
    pub(crate) unsafe fn new(base: NonNull<u8>, layout: Layout) -> Self {
        Self { base, layout }
    }

    fn at(&self, offset: usize) -> NonNull<u8> {
        debug_assert!(offset < self.layout.size);
        // SAFETY: every offset is made of constants and of indices that were checked
        // against the layout, and so lies within the mapping (`new`).
        unsafe { self.base.add(offset) }
    }

    fn word(&self, offset: usize) -> Word<'_> {
        // SAFETY: within the mapping, which outlives `self`; offsets of words are multiples
        // of 8. Shared memory is only ever accessed atomically, or as message bytes, which
        // are disjoint from the words.
        Word(unsafe { self.at(offset).cast::<AtomicU64>().as_ref() })
    }

    fn sleep_word(&self, offset: usize) -> SleepWord<'_> {
        // SAFETY: as in `word`.
        SleepWord(unsafe { self.at(offset).cast::<AtomicU32>().as_ref() })
    }

    /// A word of the header (see [`header`]).
    pub(crate) fn header(&self, offset: usize) -> Word<'_> {
        assert!(offset < header::LEN);
        self.word(offset)
    }

    /// A word of a participant's record (see [`record`]).
    #[inline]
    pub(crate) fn record(&self, participant: usize, offset: usize) -> Word<'_> {
        assert!(participant < self.layout.participants && offset < record::LEN);
        self.word(RECORDS + participant * record::LEN + offset)
    }

    #[inline]
    pub(crate) fn tail(&self) -> Word<'_> {
        self.word(TAIL)
    }

    #[inline]
    pub(crate) fn next(&self) -> Word<'_> {
        self.word(NEXT)
    }

    #[inline]
    pub(crate) fn restored(&self) -> Word<'_> {
        self.word(RESTORED)
    }

    #[inline]
    pub(crate) fn published(&self) -> SleepWord<'_> {
        self.sleep_word(PUBLISHED)
    }

    #[inline]
    pub(crate) fn room(&self) -> SleepWord<'_> {
        self.sleep_word(ROOM)
    }

    #[inline]
    pub(crate) fn cursor(&self, participant: usize) -> Word<'_> {
        self.record(participant, record::CURSOR)
    }

    #[inline]
    fn place(&self, index: u64) -> usize {
        assert!(index < self.layout.capacity as u64);
        self.layout.places + index as usize * self.layout.stride
    }

    #[inline]
    pub(crate) fn stamp(&self, index: u64) -> Word<'_> {
        self.word(self.place(index))
    }

    /// An entry of a segment that has no ring: see `protocol`. They lie where the bytes of
    /// the only message would be.
    #[inline]
    pub(crate) fn entry(&self, number: usize) -> Word<'_> {
        assert!(number < self.layout.max_len / ENTRY_LEN);
        self.word(self.layout.places + PLACE_HEADER + number * ENTRY_LEN)
    }

    /// How long the message at `index` is. Anything may stand there.
    #[inline]
    pub(crate) fn length(&self, index: u64) -> Word<'_> {
        self.word(self.place(index) + 8)
    }

    /// Where the message at `index` begins: 16-aligned, room for `max_len` bytes.
    #[inline]
    pub(crate) fn bytes(&self, index: u64) -> NonNull<u8> {
        self.at(self.place(index) + PLACE_HEADER)
    }

    /// Copies `bytes` to the place at `index`.
    #[inline]
    pub(crate) fn write(&self, index: u64, bytes: &[u8]) {
        assert!(bytes.len() <= self.layout.max_len);
        let target = self.bytes(index).as_ptr();
        if cfg!(feature = "stepping") {
            // One point in the middle of the bytes.
            let (first, second) = bytes.split_at(bytes.len() / 2);
            step::point();
            // SAFETY: see below; the two halves are the whole.
            unsafe { std::ptr::copy_nonoverlapping(first.as_ptr(), target, first.len()) };
            step::point();
            // SAFETY: as above.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    second.as_ptr(),
                    target.add(first.len()),
                    second.len(),
                );
            }
            return;
        }
        // SAFETY: the place has room for `max_len` bytes. The caller's claim of it orders
        // this against every reader that keeps the protocol; one that does not reads other
        // bytes, but memory of its own process only.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len()) };
    }

    /// Copies the beginning of the message at `index` into `target`.
    #[inline]
    pub(crate) fn read(&self, index: u64, target: &mut [u8]) {
        assert!(target.len() <= self.layout.max_len);
        // SAFETY: as in `write`. Bytes that a sender overwrites meanwhile are thrown away by
        // the caller, who looks at the stamp again.
        unsafe {
            std::ptr::copy_nonoverlapping(
                self.bytes(index).as_ptr(),
                target.as_mut_ptr(),
                target.len(),
            );
        }
    }
}
