//! The word for a message's length: what it has beside the length.
//!
//! ```text
//! bits 63..62   the mark of a program that carries messages between machines
//! bits 61..41   the fingerprint of the type that was sent, 0 if it is unknown
//! bits 40..0    the length: no message is longer than 2^40 bytes
//! ```
//!
//! With a mark there is no fingerprint, and a gap has its count in the lower bits.

use crate::api::fingerprint::Fingerprint;

const LEN_BITS: u32 = 41;
const _: () = assert!(LEN_BITS + Fingerprint::BITS == Mark::LIMIT.ilog2());

/// Returns the word of a local message. `len` is at most the segment's `max_len`.
#[inline]
pub(crate) fn word_of(len: usize, fingerprint: Fingerprint) -> u64 {
    u64::from(fingerprint.bits()) << LEN_BITS | len as u64
}

/// Returns length and fingerprint of a local message; `None` if the word is something else.
#[inline]
pub(crate) fn local_message(word: u64, max_len: usize) -> Option<(usize, u32)> {
    let len = word & ((1 << LEN_BITS) - 1);
    let is_local = word < Mark::LIMIT && len <= max_len as u64;
    is_local.then_some((len as usize, (word >> LEN_BITS) as u32))
}

/// The meaning of a length word that is not one of a local message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    /// A message of this length from another machine.
    Imported(u64),
    /// No message: this many of another machine are missing.
    Gap(u64),
    /// A value that this library never writes.
    Unknown,
}

const IMPORTED: u64 = 1 << 62;
const GAP: u64 = 1 << 63;

impl Mark {
    /// Lengths and counts are smaller than this.
    pub(crate) const LIMIT: u64 = IMPORTED;

    pub(crate) fn of(word: u64) -> Self {
        let value = word & (Self::LIMIT - 1);
        match word & (IMPORTED | GAP) {
            IMPORTED => Self::Imported(value),
            GAP => Self::Gap(value),
            _ => Self::Unknown,
        }
    }

    pub(crate) fn word(self) -> u64 {
        match self {
            Self::Imported(len) => len | IMPORTED,
            Self::Gap(count) => count | GAP,
            Self::Unknown => u64::MAX,
        }
    }
}
