//! `Control`: observing a run, and ending it, from outside.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use blitz_io_futex::atomic::{AtomicBool, Ordering};

use crate::progress::Progress;
use crate::scheduler::Scheduler;

/// Observes a pipeline while it runs, and can cancel it.
///
/// Clones belong to the same run. A `Control` can be used for one run.
///
/// ```
/// use std::convert::Infallible;
/// use blitz_io::pipeline::{self, Control};
///
/// let control = Control::new();
/// let seen = control.clone();
/// pipeline::iter::<_, Infallible>(0..1000)
///     .map(|n| n * 2)
///     .for_each(|_| ())
///     .control(&control)
///     .run()
///     .unwrap();
/// assert_eq!(seen.progress().unwrap().written, 1000);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Control {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    cancelled: Arc<AtomicBool>,
    bytes: AtomicU64,
    scheduler: Mutex<Option<Arc<Scheduler>>>,
}

impl Control {
    /// Creates the control of a run that has not begun.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels the run: no further closure is called. Calls in progress run to their end,
    /// so `run` returns after they have. (A run on tasks drops futures of sources and sinks
    /// that are not ready.)
    ///
    /// This can be called at any time, also before the run and from the pipeline's
    /// closures.
    pub fn cancel(&self) {
        self.inner.cancelled.store(true, Ordering::Relaxed);
        // A run that begins later sees the flag; one that has begun may wait for I/O.
        if let Some(scheduler) = self.scheduler() {
            scheduler.stop();
        }
    }

    /// Returns whether [`cancel`](Self::cancel) was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.inner.cancelled.load(Ordering::Relaxed)
    }

    /// Counts bytes (or anything else that the closures of the pipeline count), for
    /// [`Progress::bytes`].
    #[inline]
    pub fn add_bytes(&self, bytes: u64) {
        self.inner.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns the progress of the run, or `None` before it has begun.
    #[must_use]
    pub fn progress(&self) -> Option<Progress> {
        let scheduler = self.scheduler()?;
        Some(Progress {
            bytes: self.inner.bytes.load(Ordering::Relaxed),
            ..scheduler.progress()
        })
    }

    fn scheduler(&self) -> Option<Arc<Scheduler>> {
        let scheduler = self.inner.scheduler.lock();
        scheduler.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        self.inner.cancelled.clone()
    }

    pub(crate) fn watch(&self, scheduler: &Arc<Scheduler>) {
        let mut watched = self
            .inner
            .scheduler
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *watched = Some(scheduler.clone());
    }
}
