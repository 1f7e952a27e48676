//! On how many processors this process's threads may run.

use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(any(target_os = "linux", target_os = "android"))]
use crate::affinity::Affinity;

/// Returns on how many processors this process's threads may run.
///
/// The answer of the system is cached. The system answers for the calling thread, so "one" may
/// only mean that this thread is bound to a processor. On Linux, this function then looks at the
/// other threads. It checks "one" again, ever more seldom, as threads may have been bound or
/// started since. A model has as many processors as it needs.
#[inline]
pub fn processors() -> usize {
    if cfg!(loom) {
        return 2;
    }
    match PROCESSORS.load(Ordering::Relaxed) {
        UNKNOWN | 1 => ask(),
        processors => processors,
    }
}

/// Returns the number of the processor that runs this thread now, where the system tells it
/// without being called.
#[inline]
pub fn this_processor() -> Option<u32> {
    #[cfg(target_os = "linux")]
    if !cfg!(any(loom, miri)) {
        // SAFETY: it takes and keeps nothing.
        return u32::try_from(unsafe { libc::sched_getcpu() }).ok();
    }
    None
}

const UNKNOWN: usize = 0;
static PROCESSORS: AtomicUsize = AtomicUsize::new(UNKNOWN);

#[cold]
fn ask() -> usize {
    static CALLS: AtomicUsize = AtomicUsize::new(0);

    let calls = CALLS.fetch_add(1, Ordering::Relaxed);
    if PROCESSORS.load(Ordering::Relaxed) == 1 && !calls.is_power_of_two() {
        return 1;
    }
    let processors = match std::thread::available_parallelism() {
        Ok(several) if several.get() > 1 => several.get(),
        _ => of_all_threads(),
    };
    PROCESSORS.store(processors, Ordering::Relaxed);
    processors
}

/// Counts the processors of all threads. This thread has one; if it is bound to it, others may have others.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn of_all_threads() -> usize {
    let own = Affinity::of_this_thread().map_or(0, |own| own.processors().count());
    match own {
        1 => Affinity::of_all_threads().map_or(1, |all| all.processors().count()),
        // It is the share of processor time that is limited.
        _ => 1,
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn of_all_threads() -> usize {
    1
}
