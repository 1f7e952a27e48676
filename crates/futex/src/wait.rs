use std::time::Instant;

use crate::atomic::{AtomicU32, Ordering};
use crate::{Scope, Unsupported, WaitResult, sys};

/// Sleeps while `word` holds `expected`.
///
/// The comparison and falling asleep are one step: a wake that follows a change of the word is
/// never lost. Returns at once if the word holds another value. May return spuriously. A signal
/// handler that runs in between does not end the wait.
///
/// ```
/// use blitz_io::futex::atomic::{AtomicU32, Ordering};
/// use blitz_io::futex::{wait, wake_one};
///
/// let word = AtomicU32::new(0);
/// std::thread::scope(|s| {
///     s.spawn(|| {
///         word.store(1, Ordering::Release);
///         wake_one(&word);
///     });
///     while word.load(Ordering::Acquire) == 0 {
///         wait(&word, 0);
///     }
/// });
/// ```
#[inline]
#[cfg_attr(loom, track_caller)]
pub fn wait(word: &AtomicU32, expected: u32) {
    sys::wait(word, expected, None, Scope::Private);
}

/// Sleeps while `word` holds `expected`, until `deadline`.
///
/// `None` means forever, and so does a deadline that the system's clock cannot express. The
/// word is compared before the clock is read: with a deadline in the past this returns
/// [`ValueChanged`](WaitResult::ValueChanged) if the word holds another value, and
/// [`TimedOut`](WaitResult::TimedOut) otherwise, at once. Never times out early. Signals
/// neither end nor prolong the wait.
///
/// ```
/// use std::time::{Duration, Instant};
/// use blitz_io::futex::atomic::AtomicU32;
/// use blitz_io::futex::{WaitResult, wait_deadline};
///
/// let word = AtomicU32::new(0);
/// let deadline = Instant::now() + Duration::from_millis(5);
/// while wait_deadline(&word, 0, deadline) != WaitResult::TimedOut {}
/// assert!(Instant::now() >= deadline);
/// ```
#[inline]
#[doc(alias = "wait_until")]
#[cfg_attr(loom, track_caller)]
pub fn wait_deadline(
    word: &AtomicU32,
    expected: u32,
    deadline: impl Into<Option<Instant>>,
) -> WaitResult {
    sys::wait(word, expected, deadline.into(), Scope::Private)
}

/// Wakes one thread that sleeps on `word`, and returns how many threads are known to have
/// been woken.
///
/// Only the address is used: the word is never read, and may have been freed. Waking a word on
/// which no thread sleeps does nothing and is not remembered.
///
/// The returned count is exact on Linux, Android, OpenBSD and with the portable table.
/// Windows, FreeBSD and Apple's systems do not report it: there the count is a lower bound
/// and usually 0, however many threads were woken. See
/// [`system::counts_wakes`](crate::system::counts_wakes).
///
/// ```
/// use blitz_io::futex::atomic::AtomicU32;
///
/// let word = AtomicU32::new(0);
/// assert_eq!(blitz_io::futex::wake_one(&word), 0);
/// ```
#[inline]
pub fn wake_one(word: *const AtomicU32) -> usize {
    wake_n(word, 1)
}

/// Wakes up to `n` threads that sleep on `word`, and returns how many are known to have
/// been woken (see [`wake_one`]).
///
/// `n` may be 0; then nothing happens.
///
/// ```
/// use blitz_io::futex::atomic::AtomicU32;
///
/// let word = AtomicU32::new(0);
/// assert_eq!(blitz_io::futex::wake_n(&word, 3), 0);
/// ```
#[inline]
pub fn wake_n(word: *const AtomicU32, n: usize) -> usize {
    sys::wake(word.cast(), n, Scope::Private)
}

/// Wakes all threads that sleep on `word`, and returns how many are known to
/// have been woken (see [`wake_one`]).
///
/// ```
/// use blitz_io::futex::atomic::AtomicU32;
///
/// let word = AtomicU32::new(0);
/// assert_eq!(blitz_io::futex::wake_all(&word), 0);
/// ```
#[inline]
pub fn wake_all(word: *const AtomicU32) -> usize {
    wake_n(word, usize::MAX)
}

/// Sleeps until `word` no longer holds `previous`, and returns the new value.
///
/// Unlike [`wait`], it never returns early. The new value is read with
/// [`Acquire`](Ordering::Acquire). A word that changes and changes back may do so
/// unnoticed: code that publishes events through a word must give the word a new value for
/// each event.
///
/// ```
/// use blitz_io::futex::atomic::{AtomicU32, Ordering};
/// use blitz_io::futex::{block_until_different, wake_all};
///
/// let word = AtomicU32::new(7);
/// std::thread::scope(|s| {
///     s.spawn(|| {
///         word.store(8, Ordering::Release);
///         wake_all(&word);
///     });
///     assert_eq!(block_until_different(7, &word), 8);
/// });
/// ```
#[inline]
#[cfg_attr(loom, track_caller)]
pub fn block_until_different(previous: u32, word: &AtomicU32) -> u32 {
    until_different(previous, word, Scope::Private)
}

impl Scope {
    /// Sleeps while `word` holds `expected`; see [`wait`](crate::wait()).
    ///
    /// # Errors
    ///
    /// Returns [`Unsupported`] if the system lacks this scope.
    pub fn wait(self, word: &AtomicU32, expected: u32) -> Result<(), Unsupported> {
        self.wait_deadline(word, expected, None).map(|_| ())
    }

    /// Sleeps while `word` holds `expected`, until `deadline`; see
    /// [`wait_deadline`](crate::wait_deadline).
    ///
    /// # Errors
    ///
    /// Returns [`Unsupported`] if the system lacks this scope.
    #[doc(alias = "wait_until")]
    pub fn wait_deadline(
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
        Ok(until_different(previous, word, self))
    }
}

#[inline]
#[cfg_attr(loom, track_caller)]
fn until_different(previous: u32, word: &AtomicU32, scope: Scope) -> u32 {
    loop {
        let current = word.load(Ordering::Acquire);
        if current != previous {
            return current;
        }
        sys::wait(word, previous, None, scope);
    }
}
