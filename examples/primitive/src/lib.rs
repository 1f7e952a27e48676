//! An eventcount: threads wait for a condition that other threads make true without a lock.

// ANCHOR: eventcount
use blitz_io::futex::atomic::{AtomicU32, Ordering, fence};
use blitz_io::futex::{Observed, wake_all};

/// Lets threads sleep until a condition of the caller's may have become true.
#[derive(Debug)]
pub struct EventCount {
    /// Number of notifications, on which waiters sleep.
    epoch: AtomicU32,
    /// Number of threads that have announced a wait.
    waiters: AtomicU32,
    /// The line of `new`, for the reports of `blitz why`. Empty without the feature `inspect`.
    observed: Observed,
}

/// An announced wait. Check the condition after `announce`, then `wait` or `cancel`.
#[derive(Debug)]
#[must_use]
pub struct Announced(u32);

impl EventCount {
    #[track_caller]
    pub fn new() -> Self {
        let (epoch, waiters) = (AtomicU32::new(0), AtomicU32::new(0));
        let observed = Observed::event();
        Self {
            epoch,
            waiters,
            observed,
        }
    }

    /// Announces a wait: a notification that comes after this ends it.
    pub fn announce(&self) -> Announced {
        self.waiters.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst); // announce, then check
        Announced(self.epoch.load(Ordering::Acquire))
    }

    /// Withdraws an announced wait.
    pub fn cancel(&self, _: Announced) {
        self.waiters.fetch_sub(1, Ordering::Relaxed);
    }

    /// Sleeps until a notification has come since `announce`.
    #[track_caller]
    pub fn wait(&self, announced: Announced) {
        while self.epoch.load(Ordering::Acquire) == announced.0 {
            self.observed.wait(&self.epoch, announced.0);
        }
        self.waiters.fetch_sub(1, Ordering::Relaxed);
    }

    /// Wakes all waiters. Make the condition true before.
    pub fn notify_all(&self) {
        self.epoch.fetch_add(1, Ordering::Release);
        if !cfg!(feature = "without-fence") {
            fence(Ordering::SeqCst); // publish, then look for waiters
        }
        if self.waiters.load(Ordering::Relaxed) != 0 {
            wake_all(&self.epoch);
        }
    }
}
// ANCHOR_END: eventcount

impl Default for EventCount {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}
