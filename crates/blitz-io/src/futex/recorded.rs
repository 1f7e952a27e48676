//! The functions that sleep, each with a record of the sleep.

use std::time::Instant;

use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_observe::{Caller, WordWait};

use blitz_io_futex::{WaitAny, WaitAnyError, WaitResult};

/// Sleeps while `word` holds `expected`; may return spuriously. See
/// [`blitz_io_futex::wait`](https://docs.rs/blitz-io-futex/latest/blitz_io_futex/fn.wait.html).
///
/// ```
/// use blitz_io::futex::{atomic::AtomicU32, wait};
///
/// wait(&AtomicU32::new(1), 0);
/// ```
#[track_caller]
pub fn wait(word: &AtomicU32, expected: u32) {
    wait_deadline(word, expected, None);
}

/// Sleeps while `word` holds `expected`, until `deadline`. See
/// [`blitz_io_futex::wait_deadline`](https://docs.rs/blitz-io-futex/latest/blitz_io_futex/fn.wait_deadline.html).
///
/// ```
/// use std::time::Instant;
///
/// use blitz_io::futex::{WaitResult, atomic::AtomicU32, wait_deadline};
///
/// let word = AtomicU32::new(1);
/// assert_eq!(wait_deadline(&word, 0, None), WaitResult::ValueChanged);
/// assert_eq!(wait_deadline(&word, 1, Instant::now()), WaitResult::TimedOut);
/// ```
#[track_caller]
#[doc(alias = "wait_until")]
pub fn wait_deadline(
    word: &AtomicU32,
    expected: u32,
    deadline: impl Into<Option<Instant>>,
) -> WaitResult {
    // A wait that does not sleep makes no record.
    if word.load(Ordering::Relaxed) != expected {
        return WaitResult::ValueChanged;
    }
    let deadline = deadline.into();
    let wait = WordWait::new(Caller::here(), deadline.is_some());
    let _record = wait.sleeping(word, expected);
    blitz_io_futex::wait_deadline(word, expected, deadline)
}

/// Sleeps until `word` no longer holds `previous`, and returns its new value. See
/// [`blitz_io_futex::block_until_different`](https://docs.rs/blitz-io-futex/latest/blitz_io_futex/fn.block_until_different.html).
///
/// ```
/// use blitz_io::futex::{atomic::AtomicU32, block_until_different};
///
/// assert_eq!(block_until_different(0, &AtomicU32::new(1)), 1);
/// ```
#[track_caller]
pub fn block_until_different(previous: u32, word: &AtomicU32) -> u32 {
    let caller = Caller::here();
    let mut wait = None;
    loop {
        let current = word.load(Ordering::Acquire);
        if current != previous {
            return current;
        }
        let wait = wait.get_or_insert_with(|| WordWait::new(caller, false));
        let _record = wait.sleeping(word, previous);
        blitz_io_futex::wait(word, previous);
    }
}

/// Sleeps while each word holds the value beside it, until `deadline`. The record has the first word. See
/// [`blitz_io_futex::wait_any`](https://docs.rs/blitz-io-futex/latest/blitz_io_futex/fn.wait_any.html).
///
/// # Errors
///
/// Those of [`blitz_io_futex::wait_any`](https://docs.rs/blitz-io-futex/latest/blitz_io_futex/fn.wait_any.html).
///
/// ```
/// use blitz_io::futex::{WaitAny, atomic::AtomicU32, wait_any};
///
/// let (a, b) = (AtomicU32::new(1), AtomicU32::new(2));
/// assert_eq!(wait_any(&[(&a, 1), (&b, 7)], None), Ok(WaitAny::ValueChanged(1)));
/// ```
#[track_caller]
pub fn wait_any(
    words: &[(&AtomicU32, u32)],
    deadline: impl Into<Option<Instant>>,
) -> Result<WaitAny, WaitAnyError> {
    let deadline = deadline.into();
    let holds = |(word, expected): &(&AtomicU32, u32)| word.load(Ordering::Relaxed) == *expected;
    let caller = Caller::here();
    let sleeping = words.first().filter(|_| words.iter().all(holds));
    let _record = sleeping.map(|&(word, expected)| {
        WordWait::new(caller, deadline.is_some()).sleeping(word, expected)
    });
    blitz_io_futex::wait_any(words, deadline)
}
