//! How often this process was copied.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

static GENERATION: AtomicU32 = AtomicU32::new(0);
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// Returns how many forks lie between this process and the process that began to count them.
#[inline]
pub fn generation() -> u32 {
    // Only a fork changes it, after which the child has a single thread.
    GENERATION.load(Ordering::Relaxed)
}

/// Counts each fork from now on. Two threads that get here at once register the handler
/// twice, and a fork adds 2.
#[inline]
pub fn watch_forks() {
    if !IS_WATCHED.load(Ordering::Acquire) {
        begin();
    }
}

#[cold]
fn begin() {
    // SAFETY: the handler only adds to an atomic number, which is allowed in a child.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    IS_WATCHED.store(true, Ordering::Release);
}
