//! The readiness of a source, as bits of a word.

use blitz_io_aio::{Interest, Ready};

/// A set of the bits below.
pub type Bits = usize;

/// A read would not block.
pub const READABLE: Bits = 1;
/// A write would not block.
pub const WRITABLE: Bits = 1 << 1;
/// The peer writes no more.
pub const READ_CLOSED: Bits = 1 << 2;
/// The peer reads no more.
pub const WRITE_CLOSED: Bits = 1 << 3;
/// There is out-of-band data, or other data that the system reports as a priority event.
pub const PRIORITY: Bits = 1 << 4;
/// There is an error to be fetched.
pub const ERROR: Bits = 1 << 5;

/// The number of bits.
pub const COUNT: u32 = 6;
/// All bits.
pub const ALL: Bits = (1 << COUNT) - 1;
/// The bits that are never cleared once they are set.
pub const FINAL: Bits = READ_CLOSED | WRITE_CLOSED;

/// One of the two directions of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// The direction from the source to this process.
    Read,
    /// The direction from this process to the source.
    Write,
}

impl Direction {
    /// Returns the bits for which an operation in this direction waits.
    #[must_use]
    pub const fn mask(self) -> Bits {
        match self {
            // A connectionless socket learns from an error that there is no peer.
            Self::Read => READABLE | READ_CLOSED | ERROR,
            Self::Write => WRITABLE | WRITE_CLOSED,
        }
    }
}

/// Returns the bits for which an operation with this interest waits.
#[must_use]
pub const fn of_interest(interest: Interest) -> Bits {
    Ready::of_interest(interest).bits() as Bits
}

/// Converts the bits to the type that users see.
#[must_use]
pub const fn to_ready(bits: Bits) -> Ready {
    Ready::from_bits((bits & ALL) as u8)
}

/// Converts the interest to mio's. mio always reports errors, and has no empty interest.
#[cfg(not(loom))]
#[must_use]
pub fn to_mio(interest: Interest) -> mio::Interest {
    let mut all = None;
    let mut add = |is_wanted: bool, one: mio::Interest| {
        if is_wanted {
            all = Some(all.map_or(one, |all: mio::Interest| all | one));
        }
    };
    add(interest.is_readable(), mio::Interest::READABLE);
    add(interest.is_writable(), mio::Interest::WRITABLE);
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        add(interest.is_priority(), mio::Interest::PRIORITY);
        add(interest.is_error(), mio::Interest::READABLE);
    }
    all.unwrap_or(mio::Interest::READABLE)
}

/// Returns the bits that are set.
#[cfg(not(loom))]
pub(crate) fn of(pairs: &[(bool, Bits)]) -> Bits {
    (pairs.iter()).fold(
        0,
        |all, &(is_set, bit)| if is_set { all | bit } else { all },
    )
}
