//! A number for each thread that asks, never given twice.

use std::cell::Cell;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    static HERE: Cell<Option<ThreadId>> = const { Cell::new(None) };
}

/// Tells threads apart, also from those that have ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ThreadId(NonZeroU64);

impl ThreadId {
    /// This thread's. Works while the thread ends, too.
    #[inline]
    pub(crate) fn here() -> Self {
        HERE.get().unwrap_or_else(Self::first_time)
    }

    #[cold]
    fn first_time() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        let id = Self(NonZeroU64::new(number).expect("fewer than 2^64 threads"));
        HERE.set(Some(id));
        id
    }
}
