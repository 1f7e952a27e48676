//! Numbers of runtimes.

use std::fmt;
use std::num::NonZeroU64;

use blitz_io_futex::atomic::{AtomicU64, Ordering};

static LAST: AtomicU64 = AtomicU64::new(0);

/// A number that no other runtime of the process has.
///
/// From [`Handle::id`](crate::runtime::Handle::id).
#[derive(Clone, Copy, Debug, Hash, Eq, PartialEq)]
pub struct Id(NonZeroU64);

impl Id {
    pub(crate) fn next() -> Self {
        let before = LAST.fetch_add(1, Ordering::Relaxed);
        Self(NonZeroU64::MIN.saturating_add(before))
    }

    /// Returns the number.
    pub(crate) fn number(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}
