//! The number of the current thread.

use std::cell::Cell;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::ThreadId;

thread_local! {
    static CURRENT: Cell<Option<ThreadId>> = const { Cell::new(None) };
}

#[inline(always)]
pub(super) fn current() -> ThreadId {
    match CURRENT.get() {
        Some(id) => id,
        None => first_time(),
    }
}

#[cold]
fn first_time() -> ThreadId {
    static LAST: AtomicUsize = AtomicUsize::new(0);
    // The last number is never passed, so none is given twice.
    let next = |last: usize| last.checked_add(1);
    let last = LAST
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
        .expect("fewer threads than numbers");
    let id = ThreadId(NonZeroUsize::MIN.saturating_add(last));
    CURRENT.set(Some(id));
    id
}
