//! Waiting on many words where the system can wait on one.
//!
//! **Words of this process.** The thread sleeps in the table (`table.rs`), and
//! every wake looks there first. Nothing is polled, and a wake is noticed even
//! if it comes without a change. The price is a fence and a load in every wake.
//!
//! **Words shared with other processes.** Their wakes do not know our table. The
//! thread sleeps on the first word, but never longer than one slice, and then
//! compares all words again. A change of another word is noticed when the slice
//! ends, and a wake of another word that comes without a change is not noticed
//! at all. The wait still ends as soon as any word has changed for good, so no
//! wake-up that follows a lasting change is lost. Slices grow, so that a long
//! wait costs little.

use std::time::{Duration, Instant};

use crate::atomic::AtomicU32;
use crate::sys::backend;
use crate::sys::prim::table;
use crate::sys::table::first_changed;
use crate::{Scope, WaitAny, WaitResult};

const FIRST_SLICE: Duration = Duration::from_micros(50);
const LONGEST_SLICE: Duration = Duration::from_millis(4);

pub(super) fn wait_any(
    words: &[(&AtomicU32, u32)],
    deadline: Option<Instant>,
    scope: Scope,
) -> WaitAny {
    match scope {
        Scope::Private => table().wait_any(words, deadline),
        Scope::Shared => wait_in_slices(words, deadline),
    }
}

/// Wakes those who sleep in [`wait_any`], and then as many of those who sleep in
/// the system as are left of `n`.
pub(super) fn wake_before(
    address: *const (),
    n: usize,
    scope: Scope,
    wake_in_system: impl FnOnce(usize) -> usize,
) -> usize {
    let woken = match scope {
        Scope::Private => table().wake_many(address, n),
        Scope::Shared => 0,
    };
    if woken == n {
        return n; // which may be 0
    }
    woken + wake_in_system(n - woken)
}

fn wait_in_slices(words: &[(&AtomicU32, u32)], deadline: Option<Instant>) -> WaitAny {
    let (first, expected) = words[0];
    let mut slice = FIRST_SLICE;
    loop {
        if let Some(index) = first_changed(words) {
            return WaitAny::ValueChanged(index);
        }
        let now = Instant::now();
        if deadline.is_some_and(|deadline| deadline <= now) {
            return WaitAny::TimedOut;
        }
        let slice_end = now + slice;
        let until = deadline.map_or(slice_end, |deadline| deadline.min(slice_end));
        if backend::wait(first, expected, Some(until), Scope::Shared) == WaitResult::Woken {
            return WaitAny::Woken(0);
        }
        slice = (slice * 2).min(LONGEST_SLICE);
    }
}
