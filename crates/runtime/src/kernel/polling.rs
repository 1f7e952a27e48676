//! The task that a worker polls, and since when, for a thread that reads it at any moment.
//!
//! The thread that runs the worker writes. A thread that takes the worker over acquires the writes
//! of the thread before it. `task` says which task, and `since` when the poll began, or 0 if there
//! is none.
//!
//! 1. A poll that begins stores the task, then the time. A poll that ends stores 0 as the time.
//! 2. A reader loads the time, the task, and the time again.
//! 3. The first load acquires the store of the time, so the task that the reader finds is that of
//!    the same poll, or of a later one.
//! 4. If it is that of a later poll, the load of the task acquires the 0 before that poll. The
//!    second load of the time then finds the 0, or a time that was stored after it. That differs
//!    from the first time, unless the later poll began at the same time; then the pair is right.
//! 5. So if both times are the same and not 0, the task is that of the poll which began then.

use blitz_io_futex::atomic::{AtomicU64, Ordering};

/// The task that a worker polls; see the module documentation.
#[repr(align(128))]
pub struct Polling {
    task: AtomicU64,
    since: AtomicU64,
}

impl Polling {
    /// A worker that polls no task.
    #[allow(clippy::new_without_default, reason = "public for the models only")]
    pub fn new() -> Self {
        Self {
            task: AtomicU64::new(0),
            since: AtomicU64::new(0),
        }
    }

    /// The worker begins to poll a task, at `since`, which is not 0.
    #[inline]
    pub fn begin(&self, task: u64, since: u64) {
        self.task.store(task, Ordering::Release);
        self.since.store(since, Ordering::Release);
    }

    /// The worker polls no task any more.
    #[inline]
    pub fn end(&self) {
        self.since.store(0, Ordering::Release);
    }

    /// Returns the task that the worker polls, and since when. `None` also if that changes
    /// during the call.
    pub fn get(&self) -> Option<(u64, u64)> {
        let since = self.since.load(Ordering::Acquire);
        let task = self.task.load(Ordering::Acquire);
        let is_same = self.since.load(Ordering::Acquire) == since;
        (is_same && since != 0).then_some((task, since))
    }
}
