//! The counters of a driver.

use blitz_io_futex::atomic::{AtomicUsize, Ordering};

/// The counts of a driver since it was created. Every count wraps around.
#[derive(Debug)]
pub struct Metrics {
    registered: AtomicUsize,
    deregistered: AtomicUsize,
    ready: AtomicUsize,
}

impl Default for Metrics {
    fn default() -> Self {
        let zero = || AtomicUsize::new(0);
        Self {
            registered: zero(),
            deregistered: zero(),
            ready: zero(),
        }
    }
}

impl Metrics {
    /// Returns how many sources have been registered.
    #[must_use]
    pub fn registered(&self) -> usize {
        self.registered.load(Ordering::Relaxed)
    }

    /// Returns how many sources have been deregistered.
    #[must_use]
    pub fn deregistered(&self) -> usize {
        self.deregistered.load(Ordering::Relaxed)
    }

    /// Returns how many times the system has reported that a source is ready.
    #[must_use]
    pub fn ready(&self) -> usize {
        self.ready.load(Ordering::Relaxed)
    }

    pub(crate) fn count_registered(&self) {
        self.registered.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_deregistered(&self) {
        self.deregistered.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_ready(&self, count: usize) {
        if count != 0 {
            self.ready.fetch_add(count, Ordering::Relaxed);
        }
    }
}
