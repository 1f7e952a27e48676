//! A futex word whose four bytes are separate atomics.
//!
//! A lock may want to change one byte of its word with a plain exchange while other threads
//! work on the byte beside it. Rust's memory model does not cover accesses to the same
//! memory that happen at the same time, one as a byte and the other as a 32-bit number. So
//! this process only ever accesses single bytes, and the system makes the 32-bit
//! comparison, on its side of the call.
//!
//! # Comparing bytes without the system's help
//!
//! The table of the portable back end and of the model checker compares in this process, and must
//! do it byte by byte, under the lock of the table. A wake takes that lock too, so a single byte
//! behaves like a whole word. The comparison sees a change whose wake came before it, and a wake
//! that comes later finds the sleeper in the table.
//!
//! The four reads are no snapshot, though. Consider two bytes, `locked` and `waiters`, and an
//! owner that wakes only if it sees `waiters` set:
//!
//! 1. A thread reads `locked` as set.
//! 2. The owner releases the lock without a wake, as `waiters` is clear.
//! 3. Another thread sets `waiters`.
//! 4. The first thread reads that as set, too, and sleeps on a state that never existed, perhaps
//!    forever.
//!
//! Therefore all bytes are read *twice*, in the same order, by loads that cannot be reordered
//! (acquire). And protocols keep one rule: *at most one byte may leave its expected value and
//! come back without a wake*. A lock whose `waiters` byte is cleared only by a thread that then
//! wakes keeps this rule: `locked` is that one byte.
//!
//! Why this is enough: consider the moment of the second read of that byte. It has its expected
//! value then. Each of the others was seen with its expected value before that moment, with the
//! table locked. If they all still have it, the system, comparing at that moment, would have put
//! the thread to sleep too. If one of them has left its value since, a wake follows, and it finds
//! the sleeper, because the wake has to wait for the lock.

use std::time::Instant;

use crate::atomic::{AtomicU8, Ordering};
use crate::word::Word;
use crate::{Scope, WaitResult, const_unless_loom, sys};

/// Names one of two groups of threads that sleep on one word for different reasons.
///
/// ```
/// use blitz_io::futex::{Group, SplitWord};
///
/// static WORD: SplitWord = SplitWord::new([1, 0, 0, 0]);
///
/// // No thread of the second group sleeps.
/// assert_eq!(SplitWord::wake_group(&WORD, Group::Second, 1), 0);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Group {
    /// The first group.
    First,
    /// The second group.
    Second,
}

/// A futex word seen as four bytes, each of which is a separate atomic.
///
/// A thread sleeps as long as all four bytes hold their expected values. All
/// operations have [`Scope::Private`].
///
/// Keep one rule, for back ends that cannot compare the four bytes in one instant (the portable
/// table, and loom). At most one of the bytes may leave its expected value and come back without
/// a wake in between. A usual byte that says "a thread sleeps", cleared only by a thread that
/// then wakes, leaves that freedom to one other byte.
///
/// ```
/// use blitz_io::futex::SplitWord;
/// use blitz_io::futex::atomic::Ordering;
///
/// static WORD: SplitWord = SplitWord::new([1, 0, 0, 0]);
///
/// let waiter = std::thread::spawn(|| {
///     while WORD.byte(0).load(Ordering::Acquire) == 1 {
///         WORD.wait_deadline([1, 0, 0, 0], None);
///     }
/// });
/// WORD.byte(0).store(0, Ordering::Release);
/// SplitWord::wake_all(&WORD);
/// waiter.join().unwrap();
/// ```
#[repr(C, align(4))]
#[derive(Debug)]
pub struct SplitWord {
    bytes: [AtomicU8; 4],
}

impl SplitWord {
    const_unless_loom! {
        /// Creates a word of these four bytes, given in memory order.
        pub const fn new(bytes: [u8; 4]) -> Self {
            let [a, b, c, d] = bytes;
            Self {
                bytes: [
                    AtomicU8::new(a),
                    AtomicU8::new(b),
                    AtomicU8::new(c),
                    AtomicU8::new(d),
                ],
            }
        }
    }

    /// Returns the byte at position `i`, counted in memory order.
    ///
    /// # Panics
    ///
    /// Panics if `i` is not below 4.
    #[inline]
    pub fn byte(&self, i: usize) -> &AtomicU8 {
        &self.bytes[i]
    }

    /// Sleeps while the bytes hold `expected`, until `deadline`; see
    /// [`wait_deadline`](crate::wait_deadline).
    #[inline]
    #[doc(alias = "wait_until")]
    pub fn wait_deadline(
        &self,
        expected: [u8; 4],
        deadline: impl Into<Option<Instant>>,
    ) -> WaitResult {
        let expected = u32::from_ne_bytes(expected);
        sys::wait(self, expected, deadline.into(), Scope::Private)
    }

    /// Waits like [`wait_deadline`](SplitWord::wait_deadline), as a member of `group`, which
    /// [`wake_group`](SplitWord::wake_group) can wake alone.
    #[inline]
    pub fn wait_in_group(
        &self,
        group: Group,
        expected: [u8; 4],
        deadline: impl Into<Option<Instant>>,
    ) -> WaitResult {
        let expected = u32::from_ne_bytes(expected);
        sys::wait_in_group(self, expected, deadline.into(), group)
    }

    /// Wakes up to `n` members of `group` that sleep on the word at `this`, which may be
    /// gone. On systems that cannot tell groups apart (macOS, Windows, the BSDs) it wakes
    /// all threads that sleep there, if `n` is not 0.
    #[inline]
    pub fn wake_group(this: *const Self, group: Group, n: usize) -> usize {
        sys::wake_group(this.cast(), n, group)
    }

    /// Wakes one thread that sleeps on the word at `this`, which may have been freed; see
    /// [`wake_one`](crate::wake_one).
    #[inline]
    pub fn wake_one(this: *const Self) -> usize {
        Self::wake_n(this, 1)
    }

    /// Wakes up to `n` threads that sleep on the word at `this`, which may be
    /// gone; see [`wake_n`](crate::wake_n).
    #[inline]
    pub fn wake_n(this: *const Self, n: usize) -> usize {
        sys::wake(this.cast(), n, Scope::Private)
    }

    /// Wakes all threads that sleep on the word at `this`, which may have been freed; see
    /// [`wake_all`](crate::wake_all).
    #[inline]
    pub fn wake_all(this: *const Self) -> usize {
        Self::wake_n(this, usize::MAX)
    }
}

impl Word for SplitWord {
    #[inline]
    fn address(&self) -> *const () {
        std::ptr::from_ref(self).cast()
    }

    fn holds(&self, expected: u32) -> bool {
        let expected = expected.to_ne_bytes();
        let matches = || {
            let mut pairs = self.bytes.iter().zip(expected);
            pairs.all(|(byte, expected)| byte.load(Ordering::Acquire) == expected)
        };
        // Two rounds: the module documentation says why.
        matches() && matches()
    }
}
