use std::error::Error;
use std::fmt;
use std::time::Instant;

use crate::atomic::AtomicU32;
use crate::wait_any::{self, WaitAny, WaitAnyError};
use crate::{WaitResult, sys, wait};

/// The users of a word: the threads of one process, or several processes.
///
/// Waits and wakes meet only when they name the same scope. The free functions
/// of this crate are those of [`Scope::Private`].
///
/// ```
/// use blitz_io::futex::Scope;
/// use blitz_io::futex::atomic::AtomicU32;
///
/// let word = AtomicU32::new(0);
/// match Scope::Shared.wake_all(&word) {
///     Ok(woken) => assert_eq!(woken, 0),
///     Err(unsupported) => println!("{unsupported}"),
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Scope {
    /// The word is used only by the threads of this process, through one address. This
    /// scope is the faster one, and every system supports it.
    #[default]
    Private,
    /// The word may lie in memory that several processes have mapped, each at its own
    /// address. Not every system supports this scope: see
    /// [`system::supports_shared`](crate::system::supports_shared).
    Shared,
}

/// The error for a system that has no futex words shared between processes.
///
/// Only operations of [`Scope::Shared`] return it.
///
/// ```
/// use blitz_io::futex::{Scope, system};
/// use blitz_io::futex::atomic::AtomicU32;
///
/// let word = AtomicU32::new(0);
/// assert_eq!(Scope::Shared.wake_one(&word).is_ok(), system::supports_shared());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Unsupported {
    backend: &'static str,
}

impl Unsupported {
    /// Returns the name of the mechanism that lacks shared words, as
    /// [`system::backend`](crate::system::backend) reports it.
    pub fn backend(&self) -> &'static str {
        self.backend
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "futex words shared between processes are not supported by {}",
            self.backend
        )
    }
}

impl Error for Unsupported {}

impl Scope {
    /// Sleeps while `word` holds `expected`; see [`wait`](crate::wait()).
    ///
    /// # Errors
    ///
    /// Returns [`Unsupported`] if the system lacks this scope.
    pub fn wait(self, word: &AtomicU32, expected: u32) -> Result<(), Unsupported> {
        self.wait_until(word, expected, None).map(|_| ())
    }

    /// Sleeps while `word` holds `expected`, until `deadline`; see
    /// [`wait_until`](crate::wait_until).
    ///
    /// # Errors
    ///
    /// Returns [`Unsupported`] if the system lacks this scope.
    pub fn wait_until(
        self,
        word: &AtomicU32,
        expected: u32,
        deadline: impl Into<Option<Instant>>,
    ) -> Result<WaitResult, Unsupported> {
        self.check()?;
        Ok(sys::wait(word, expected, deadline.into(), self))
    }

    /// Wakes one sleeper; see [`wake_one`](crate::wake_one).
    ///
    /// # Errors
    ///
    /// Returns [`Unsupported`] if the system lacks this scope.
    pub fn wake_one(self, word: *const AtomicU32) -> Result<usize, Unsupported> {
        self.wake_n(word, 1)
    }

    /// Wakes up to `n` sleepers; see [`wake_n`](crate::wake_n).
    ///
    /// # Errors
    ///
    /// Returns [`Unsupported`] if the system lacks this scope.
    pub fn wake_n(self, word: *const AtomicU32, n: usize) -> Result<usize, Unsupported> {
        self.check()?;
        Ok(sys::wake(word.cast(), n, self))
    }

    /// Wakes every sleeper; see [`wake_all`](crate::wake_all).
    ///
    /// # Errors
    ///
    /// Returns [`Unsupported`] if the system lacks this scope.
    pub fn wake_all(self, word: *const AtomicU32) -> Result<usize, Unsupported> {
        self.wake_n(word, usize::MAX)
    }

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
        wait_any::check_count(words.len())?;
        Ok(sys::wait_any(words, deadline.into(), self))
    }

    /// Sleeps until `word` no longer holds `previous`, and returns the new
    /// value; see [`block_until_different`](crate::block_until_different).
    ///
    /// # Errors
    ///
    /// Returns [`Unsupported`] if the system lacks this scope.
    pub fn block_until_different(
        self,
        previous: u32,
        word: &AtomicU32,
    ) -> Result<u32, Unsupported> {
        self.check()?;
        Ok(wait::until_different(previous, word, self))
    }

    fn check(self) -> Result<(), Unsupported> {
        match self {
            Scope::Private => Ok(()),
            Scope::Shared if sys::supports_shared() => Ok(()),
            Scope::Shared => Err(Unsupported {
                backend: sys::name(),
            }),
        }
    }
}
