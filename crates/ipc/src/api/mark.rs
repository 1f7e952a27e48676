//! Marks of programs that carry messages between machines.
//!
//! The word for a message's length has room for a mark in its two highest bits, since no
//! message is longer than 2^40 bytes. A receiver looks at the mark only if the word is larger
//! than `max_len`, so messages of local senders cost nothing more.

/// The meaning of a length word that is larger than `max_len`.
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
