//! `Ready`: the readiness that the operating system has reported for a source.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign, Sub};

use crate::Interest;

const READABLE: u8 = 1;
const WRITABLE: u8 = 1 << 1;
const READ_CLOSED: u8 = 1 << 2;
const WRITE_CLOSED: u8 = 1 << 3;
#[cfg(any(target_os = "linux", target_os = "android"))]
const PRIORITY: u8 = 1 << 4;
const ERROR: u8 = 1 << 5;

/// A set of kinds of readiness.
///
/// The set holds the readiness that an event has reported, which may have ended since. An
/// operation then gets [`WouldBlock`](std::io::ErrorKind::WouldBlock) and waits for the
/// next event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ready(u8);

impl Ready {
    /// The empty set.
    pub const EMPTY: Ready = Ready(0);

    /// Bytes can be read.
    pub const READABLE: Ready = Ready(READABLE);

    /// Bytes can be written.
    pub const WRITABLE: Ready = Ready(WRITABLE);

    /// The peer sends no more data.
    pub const READ_CLOSED: Ready = Ready(READ_CLOSED);

    /// The peer accepts no more data.
    pub const WRITE_CLOSED: Ready = Ready(WRITE_CLOSED);

    /// There is priority data.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const PRIORITY: Ready = Ready(PRIORITY);

    /// There is an error to be fetched.
    pub const ERROR: Ready = Ready(ERROR);

    /// Every kind of readiness.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const ALL: Ready =
        Ready(READABLE | WRITABLE | READ_CLOSED | WRITE_CLOSED | ERROR | PRIORITY);

    /// Every kind of readiness.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub const ALL: Ready = Ready(READABLE | WRITABLE | READ_CLOSED | WRITE_CLOSED | ERROR);

    /// Returns whether the set is empty.
    ///
    /// ```
    /// use blitz_io::io::Ready;
    ///
    /// assert!(Ready::EMPTY.is_empty());
    /// assert!(!Ready::READABLE.is_empty());
    /// ```
    pub fn is_empty(self) -> bool {
        self == Ready::EMPTY
    }

    /// Returns whether a read would not block, whether it returns bytes or the end.
    ///
    /// ```
    /// use blitz_io::io::Ready;
    ///
    /// assert!(Ready::READABLE.is_readable());
    /// assert!(Ready::READ_CLOSED.is_readable());
    /// assert!(!Ready::WRITABLE.is_readable());
    /// ```
    pub fn is_readable(self) -> bool {
        self.0 & (READABLE | READ_CLOSED) != 0
    }

    /// Returns whether a write would not block. It may succeed, or fail because the peer
    /// has closed the connection.
    ///
    /// ```
    /// use blitz_io::io::Ready;
    ///
    /// assert!(Ready::WRITABLE.is_writable());
    /// assert!(Ready::WRITE_CLOSED.is_writable());
    /// assert!(!Ready::READABLE.is_writable());
    /// ```
    pub fn is_writable(self) -> bool {
        self.0 & (WRITABLE | WRITE_CLOSED) != 0
    }

    /// Returns whether the peer sends no more data.
    ///
    /// ```
    /// use blitz_io::io::Ready;
    ///
    /// assert!(Ready::READ_CLOSED.is_read_closed());
    /// assert!(!Ready::READABLE.is_read_closed());
    /// ```
    pub fn is_read_closed(self) -> bool {
        self.contains(Ready::READ_CLOSED)
    }

    /// Returns whether the peer accepts no more data.
    ///
    /// ```
    /// use blitz_io::io::Ready;
    ///
    /// assert!(Ready::WRITE_CLOSED.is_write_closed());
    /// assert!(!Ready::WRITABLE.is_write_closed());
    /// ```
    pub fn is_write_closed(self) -> bool {
        self.contains(Ready::WRITE_CLOSED)
    }

    /// Returns whether there is priority data.
    ///
    /// ```
    /// use blitz_io::io::Ready;
    ///
    /// assert!(Ready::PRIORITY.is_priority());
    /// assert!(!Ready::READABLE.is_priority());
    /// ```
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn is_priority(self) -> bool {
        self.contains(Ready::PRIORITY)
    }

    /// Returns whether there is an error to be fetched.
    ///
    /// ```
    /// use blitz_io::io::Ready;
    ///
    /// assert!(Ready::ERROR.is_error());
    /// assert!(!Ready::READABLE.is_error());
    /// ```
    pub fn is_error(self) -> bool {
        self.contains(Ready::ERROR)
    }

    const fn contains(self, other: Ready) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the set as bits, for a driver that keeps it in a word.
    #[doc(hidden)]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Creates a set from bits. Unknown bits are ignored.
    #[doc(hidden)]
    pub const fn from_bits(bits: u8) -> Ready {
        Ready(bits & Ready::ALL.0)
    }

    /// Returns the kinds of readiness that an interest waits for.
    #[doc(hidden)]
    pub const fn of_interest(interest: Interest) -> Ready {
        let mut bits = 0;
        if interest.is_readable() {
            bits |= READABLE | READ_CLOSED;
        }
        if interest.is_writable() {
            bits |= WRITABLE | WRITE_CLOSED;
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if interest.is_priority() {
            bits |= PRIORITY | READ_CLOSED;
        }
        if interest.is_error() {
            bits |= ERROR;
        }
        Ready(bits)
    }

    /// Returns the part of the set that an interest waits for.
    #[doc(hidden)]
    pub const fn intersection(self, interest: Interest) -> Ready {
        Ready(self.0 & Ready::of_interest(interest).0)
    }

    /// Returns whether the set contains anything that an interest waits for.
    #[doc(hidden)]
    pub const fn satisfies(self, interest: Interest) -> bool {
        self.intersection(interest).0 != 0
    }
}

impl BitOr for Ready {
    type Output = Ready;

    #[inline]
    fn bitor(self, other: Ready) -> Ready {
        Ready(self.0 | other.0)
    }
}

impl BitOrAssign for Ready {
    #[inline]
    fn bitor_assign(&mut self, other: Ready) {
        self.0 |= other.0;
    }
}

impl BitAnd for Ready {
    type Output = Ready;

    #[inline]
    fn bitand(self, other: Ready) -> Ready {
        Ready(self.0 & other.0)
    }
}

impl Sub for Ready {
    type Output = Ready;

    #[inline]
    fn sub(self, other: Ready) -> Ready {
        Ready(self.0 & !other.0)
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Ready");
        f.field("is_readable", &self.is_readable())
            .field("is_writable", &self.is_writable())
            .field("is_read_closed", &self.is_read_closed())
            .field("is_write_closed", &self.is_write_closed())
            .field("is_error", &self.is_error());
        #[cfg(any(target_os = "linux", target_os = "android"))]
        f.field("is_priority", &self.is_priority());
        f.finish()
    }
}
