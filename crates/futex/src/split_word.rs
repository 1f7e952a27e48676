//! A futex word whose four bytes are atomics of their own.
//!
//! A lock may want to change one byte of its word with a plain exchange while
//! other threads work on the byte beside it. Touching the same memory once as a
//! byte and once as a 32-bit number is not covered by Rust's memory model when
//! it happens at the same time. So this process only ever touches single bytes,
//! and the 32-bit comparison is the system's, on its side of the call.
//!
//! # Comparing bytes where there is no such system
//!
//! The table of the portable back end and of the model checker compares in this
//! process, and must do it byte by byte, under the lock of the table. A wake
//! takes that lock too, so for a single byte nothing is different from a whole
//! word: a change whose wake came before the comparison is seen by it, and a
//! wake that comes later finds the sleeper in the table.
//!
//! The four reads are no snapshot, though. Think of two bytes, `locked` and
//! `waiters`, and an owner that wakes only if it sees `waiters` set. A thread
//! reads `locked` as set; the lock is released without a wake, as `waiters` is
//! clear; somebody else sets `waiters`; our thread reads that as set, too, and
//! sleeps on a state that never existed, perhaps for ever. Therefore all bytes
//! are read *twice*, in the same order, by loads that can not be swapped
//! (acquire). If every read finds the expected value, take the moment between
//! the two rounds: a byte then held its expected value, or it was changed
//! before that moment and changed back after it. The first case is what the
//! system's comparison at that moment would have found. In the second case the
//! change happened while the table was locked; if it is followed by a wake, the
//! wake will find us. So the table is as good as a snapshot for every protocol
//! that keeps one rule: *a byte that can return to an expected value either is
//! followed by a wake when it leaves that value, or is the only such byte*. A
//! lock whose `waiters` byte is cleared only by the thread that then wakes
//! keeps it.

use std::time::Instant;

use crate::atomic::{AtomicU8, Ordering};
use crate::word::Word;
use crate::{Scope, WaitResult, sys};

/// A futex word seen as four bytes, each of them an atomic of its own.
///
/// A thread sleeps as long as all four bytes hold their expected values. All
/// operations have [`Scope::Private`].
///
/// Keep one rule for back ends that can not compare the four bytes in one
/// instant (the portable table, and loom): if more than one byte can leave its
/// expected value and come back to it, a wake follows when it leaves. The usual
/// byte that says "somebody sleeps", cleared by the thread that then wakes,
/// keeps it.
///
/// ```
/// use blitz_futex::SplitWord;
/// use blitz_futex::atomic::Ordering;
///
/// static WORD: SplitWord = SplitWord::new([1, 0, 0, 0]);
///
/// let waiter = std::thread::spawn(|| {
///     while WORD.byte(0).load(Ordering::Acquire) == 1 {
///         WORD.wait_until([1, 0, 0, 0], None);
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
    /// A word of these four bytes, in the order in which they lie in memory.
    #[cfg(not(loom))]
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

    /// A word of these four bytes. (Not `const`: loom's atomics can not be.)
    #[cfg(loom)]
    pub fn new(bytes: [u8; 4]) -> Self {
        Self {
            bytes: bytes.map(AtomicU8::new),
        }
    }

    /// The byte at position `i`, counted in memory order.
    ///
    /// # Panics
    ///
    /// If `i` is not below 4.
    #[inline]
    pub fn byte(&self, i: usize) -> &AtomicU8 {
        &self.bytes[i]
    }

    /// Sleeps while the bytes hold `expected`, until `deadline`; see
    /// [`wait_until`](crate::wait_until).
    #[inline]
    pub fn wait_until(
        &self,
        expected: [u8; 4],
        deadline: impl Into<Option<Instant>>,
    ) -> WaitResult {
        let expected = u32::from_ne_bytes(expected);
        sys::wait(self, expected, deadline.into(), Scope::Private)
    }

    /// Wakes one thread that sleeps on the word at `this`, which may be gone;
    /// see [`wake_one`](crate::wake_one).
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

    /// Wakes all threads that sleep on the word at `this`, which may be gone;
    /// see [`wake_all`](crate::wake_all).
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
        // Two rounds: see the head of this file.
        matches() && matches()
    }
}
