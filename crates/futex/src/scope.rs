//! The threads that wait at a word: those of one process, or several processes.

use std::error::Error;
use std::fmt;

use crate::sys;

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
    /// Fails if the system lacks this scope.
    #[inline]
    pub(crate) fn check(self) -> Result<(), Unsupported> {
        match self {
            Scope::Private => Ok(()),
            Scope::Shared if sys::supports_shared() => Ok(()),
            Scope::Shared => Err(Unsupported {
                backend: sys::name(),
            }),
        }
    }
}
