//! Numbers for tasks.

use std::cell::Cell;
use std::fmt;
use std::num::NonZeroU64;

/// A number that tells a task from all others of this process.
///
/// Numbers are not used again. They say nothing about the order in which tasks were
/// spawned.
///
/// See [`JoinHandle::id`](super::JoinHandle::id) and [`id`](crate::task::id).
///
/// # Examples
///
/// ```
/// let runtime = blitz_io::runtime::Runtime::new()?;
/// runtime.block_on(async {
///     use blitz_io::task;
///
///     let (one, two) = (task::spawn(async {}), task::spawn(async {}));
///     assert_ne!(one.id(), two.id());
/// });
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Hash, Eq, PartialEq, PartialOrd, Ord)]
pub struct Id(NonZeroU64);

/// How many numbers a thread takes at once, so that an id costs no shared counter.
const BATCH: u64 = 64;

thread_local! {
    /// This thread's numbers: the next one, and the first that is not its own.
    static NUMBERS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

impl Id {
    /// A number that no task has had.
    #[inline]
    pub(crate) fn next() -> Self {
        NUMBERS.with(|numbers| {
            let (mut next, mut end) = numbers.get();
            if next == end {
                next = take_batch();
                end = next + BATCH;
            }
            numbers.set((next + 1, end));
            // The first number of all is 1, and 2^64 are not reached.
            Self(NonZeroU64::new(next).unwrap_or(NonZeroU64::MAX))
        })
    }

    /// The number.
    #[allow(dead_code, reason = "for spans and hooks")]
    pub(crate) fn as_u64(self) -> u64 {
        self.0.get()
    }
}

/// The first of a batch of numbers.
#[cold]
#[cfg(target_has_atomic = "64")]
fn take_batch() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};

    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(BATCH, Ordering::Relaxed)
}

/// The first of a batch of numbers.
#[cold]
#[cfg(not(target_has_atomic = "64"))]
fn take_batch() -> u64 {
    use std::sync::{Mutex, PoisonError};

    static NEXT: Mutex<u64> = Mutex::new(1);
    let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    *next += BATCH;
    *next - BATCH
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
