//! A futex semaphore with a waiter count, which avoids wakes without a waiter. Its
//! sleepers sleep on the permits themselves.

use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_futex::{wait, wake_n};

/// Permits, and the count of threads that sleep for some.
pub struct Semaphore {
    permits: AtomicU32,
    waiters: AtomicU32,
    /// How many threads a release wakes.
    wakes: usize,
}

impl Semaphore {
    /// Creates a semaphore that wakes one thread for each release. Correct only if all
    /// threads want the same amount (see the models).
    pub fn waking_one(permits: u32) -> Self {
        Self {
            permits: AtomicU32::new(permits),
            waiters: AtomicU32::new(0),
            wakes: 1,
        }
    }

    /// Creates a semaphore that wakes all threads for each release.
    pub fn waking_all(permits: u32) -> Self {
        Self {
            wakes: usize::MAX,
            ..Self::waking_one(permits)
        }
    }

    pub fn acquire(&self, n: u32) {
        while !super::spin(|| self.try_acquire(n)) {
            self.waiters.fetch_add(1, Ordering::SeqCst);
            let permits = self.permits.load(Ordering::SeqCst);
            if permits < n {
                wait(&self.permits, permits);
            }
            self.waiters.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn try_acquire(&self, n: u32) -> bool {
        let permits = self.permits.load(Ordering::Relaxed);
        permits >= n
            && self
                .permits
                .compare_exchange(permits, permits - n, Ordering::SeqCst, Ordering::Relaxed)
                .is_ok()
    }

    pub fn release(&self, n: u32) {
        self.permits.fetch_add(n, Ordering::SeqCst);
        if self.waiters.load(Ordering::SeqCst) != 0 {
            wake_n(&self.permits, self.wakes);
        }
    }
}
