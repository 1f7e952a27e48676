//! On how many processors this process's threads may run.

#[cfg(not(loom))]
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns on how many processors this process's threads may run.
///
/// The system is asked once. Only "one" is asked about again, now and then: it may have
/// been a thread that alone is bound to a processor.
#[cfg(not(loom))]
#[inline]
pub fn processors() -> usize {
    match PROCESSORS.load(Ordering::Relaxed) {
        UNKNOWN | 1 => ask(),
        processors => processors,
    }
}

/// A model has no processors: it has as many as it needs.
#[cfg(loom)]
pub fn processors() -> usize {
    2
}

#[cfg(not(loom))]
const UNKNOWN: usize = 0;
#[cfg(not(loom))]
static PROCESSORS: AtomicUsize = AtomicUsize::new(UNKNOWN);

#[cfg(not(loom))]
#[cold]
fn ask() -> usize {
    const ASK_AGAIN_AFTER: usize = 256;
    static CALLS: AtomicUsize = AtomicUsize::new(0);

    let calls = CALLS.fetch_add(1, Ordering::Relaxed);
    if PROCESSORS.load(Ordering::Relaxed) == 1 && calls % ASK_AGAIN_AFTER != 0 {
        return 1;
    }
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    PROCESSORS.store(processors, Ordering::Relaxed);
    processors
}
