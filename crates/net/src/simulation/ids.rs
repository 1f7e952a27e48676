//! The numbers of sockets.

use std::sync::atomic::{AtomicU64, Ordering};

use super::wire::Id;

static LAST: AtomicU64 = AtomicU64::new(0);

/// Returns a number that no other socket of the process has, also not one of another simulation.
pub(super) fn next() -> Id {
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}
