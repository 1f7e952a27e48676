use std::error::Error;
use std::fmt;
use std::time::Instant;

use crate::atomic::AtomicU32;
use crate::{Scope, Unsupported, sys};

/// The largest number of words that one `wait_any` accepts, on every system. It is
/// Linux's limit.
pub const WAIT_ANY_MAX: usize = 128;

/// Describes how a wait on several words ended. The numbers are positions in the list of
/// words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum WaitAny {
    /// The thread slept and was woken through this word. As with
    /// [`WaitResult::Woken`](crate::WaitResult::Woken), the wake may be spurious.
    Woken(usize),
    /// This word did not hold the expected value, so the thread did not sleep.
    ValueChanged(usize),
    /// The deadline passed while all words held their expected values.
    TimedOut,
}

impl WaitAny {
    /// Returns the position of the word that ended the wait, or `None` after a timeout.
    ///
    /// ```
    /// use blitz_io::futex::WaitAny;
    ///
    /// assert_eq!(WaitAny::Woken(3).index(), Some(3));
    /// assert_eq!(WaitAny::TimedOut.index(), None);
    /// ```
    pub fn index(self) -> Option<usize> {
        match self {
            WaitAny::Woken(index) | WaitAny::ValueChanged(index) => Some(index),
            WaitAny::TimedOut => None,
        }
    }
}

/// The reason why `wait_any` could not start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum WaitAnyError {
    /// The list of words is empty, so nothing could ever end the wait.
    Empty,
    /// The list has this many words, which is more than [`WAIT_ANY_MAX`].
    TooMany(usize),
    /// The system lacks words of [`Scope::Shared`].
    Unsupported(Unsupported),
}

impl fmt::Display for WaitAnyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitAnyError::Empty => f.write_str("there is no word to wait on"),
            WaitAnyError::TooMany(count) => write!(
                f,
                "cannot wait on {count} words at once, the limit is {WAIT_ANY_MAX}"
            ),
            WaitAnyError::Unsupported(unsupported) => unsupported.fmt(f),
        }
    }
}

impl Error for WaitAnyError {}

/// Sleeps while each word holds the value beside it, until `deadline`.
///
/// Returns which word ended the wait. If several words did, one of them is reported. The
/// same word may be listed more than once. As with [`wait_deadline`](crate::wait_deadline), the
/// words are compared before the clock is read, `None` means forever, and the wait may end
/// spuriously.
///
/// Linux does this itself since version 5.16 (`futex_waitv`). Elsewhere the thread sleeps
/// in a table of this process, which every wake consults; no wake-up is lost there and
/// nothing is polled. (For words shared between processes see [`Scope::wait_any`].)
///
/// # Errors
///
/// Returns [`WaitAnyError::Empty`] for an empty list, and [`WaitAnyError::TooMany`] for one
/// longer than [`WAIT_ANY_MAX`].
///
/// ```
/// use blitz_io::futex::atomic::AtomicU32;
/// use blitz_io::futex::{WaitAny, WaitAnyError, wait_any};
///
/// let (a, b) = (AtomicU32::new(1), AtomicU32::new(2));
/// assert_eq!(wait_any(&[(&a, 1), (&b, 7)], None), Ok(WaitAny::ValueChanged(1)));
/// assert_eq!(wait_any(&[], None), Err(WaitAnyError::Empty));
/// ```
pub fn wait_any(
    words: &[(&AtomicU32, u32)],
    deadline: impl Into<Option<Instant>>,
) -> Result<WaitAny, WaitAnyError> {
    Scope::Private.wait_any(words, deadline)
}

impl Scope {
    /// Sleeps until one of several words changes; see
    /// [`wait_any`](crate::wait_any()).
    ///
    /// Where the system cannot wait on many words, this scope's `wait_any` sleeps on the first
    /// word and compares the others every few milliseconds. There, it does not notice a wake of
    /// one of the others that comes without a change of the word.
    ///
    /// # Errors
    ///
    /// Returns [`WaitAnyError::Unsupported`] if the system lacks this scope, and
    /// [`WaitAnyError::Empty`] or [`WaitAnyError::TooMany`] as
    /// [`wait_any`](crate::wait_any()) does.
    pub fn wait_any(
        self,
        words: &[(&AtomicU32, u32)],
        deadline: impl Into<Option<Instant>>,
    ) -> Result<WaitAny, WaitAnyError> {
        self.check().map_err(WaitAnyError::Unsupported)?;
        check_count(words.len())?;
        Ok(sys::wait_any(words, deadline.into(), self))
    }
}

fn check_count(count: usize) -> Result<(), WaitAnyError> {
    match count {
        0 => Err(WaitAnyError::Empty),
        1..=WAIT_ANY_MAX => Ok(()),
        _ => Err(WaitAnyError::TooMany(count)),
    }
}
