//! `Interest`: the readiness that an operation waits for.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

const READABLE: u8 = 1;
const WRITABLE: u8 = 1 << 1;
#[cfg(any(target_os = "linux", target_os = "android"))]
const PRIORITY: u8 = 1 << 2;
const ERROR: u8 = 1 << 3;

/// A set of kinds of readiness to wait for.
///
/// ```
/// use blitz_io::io::Interest;
///
/// let both = Interest::READABLE | Interest::WRITABLE;
/// assert!(both.is_readable() && both.is_writable());
/// assert_eq!(both.remove(Interest::READABLE), Some(Interest::WRITABLE));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Interest(u8);

impl Interest {
    /// Interest in being readable, which includes that the read half is closed.
    pub const READABLE: Interest = Interest(READABLE);

    /// Interest in being writable, which includes that the write half is closed.
    pub const WRITABLE: Interest = Interest(WRITABLE);

    /// Interest in errors.
    pub const ERROR: Interest = Interest(ERROR);

    /// Interest in priority data, such as out-of-band bytes of TCP.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const PRIORITY: Interest = Interest(PRIORITY);

    /// Returns whether readability is of interest.
    pub const fn is_readable(self) -> bool {
        self.0 & READABLE != 0
    }

    /// Returns whether writability is of interest.
    pub const fn is_writable(self) -> bool {
        self.0 & WRITABLE != 0
    }

    /// Returns whether errors are of interest.
    pub const fn is_error(self) -> bool {
        self.0 & ERROR != 0
    }

    /// Returns whether priority data is of interest.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const fn is_priority(self) -> bool {
        self.0 & PRIORITY != 0
    }

    /// Returns the union of two interests.
    #[must_use = "this returns the result of the operation, without modifying the original"]
    #[allow(clippy::should_implement_trait)]
    pub const fn add(self, other: Interest) -> Interest {
        Interest(self.0 | other.0)
    }

    /// Returns the interest without the kinds in `other`, or `None` if none is left.
    #[must_use = "this returns the result of the operation, without modifying the original"]
    pub fn remove(self, other: Interest) -> Option<Interest> {
        let left = self.0 & !other.0;
        (left != 0).then_some(Interest(left))
    }
}

impl BitOr for Interest {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        self.add(other)
    }
}

impl BitOrAssign for Interest {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl fmt::Debug for Interest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (READABLE, "READABLE"),
            (WRITABLE, "WRITABLE"),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            (PRIORITY, "PRIORITY"),
            (ERROR, "ERROR"),
        ];
        let mut between = "";
        for (bit, name) in names {
            if self.0 & bit != 0 {
                write!(f, "{between}{name}")?;
                between = " | ";
            }
        }
        Ok(())
    }
}
