//! `Progress` and `Control`: observing a run, and ending it, from outside.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use blitz_io_futex::atomic::{AtomicBool, Ordering};

use crate::scheduler::Scheduler;

/// The activity of a part of a pipeline, or the reason why it waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Waits {
    /// It works.
    Working,
    /// The source waits until the sink has finished an older item.
    ForRoom,
    /// There is nothing to do until the source has read more.
    ForInput,
    /// The sink waits until the stages have finished this item.
    ForItem(u64),
    /// There is something to do, but no worker is free.
    ForWorker,
    /// It has nothing more to do.
    Ended,
}

/// How far a pipeline has come.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Progress {
    /// Items that were read from every source.
    pub read: u64,
    /// Items that the stages have finished.
    pub processed: u64,
    /// Items that every sink has written, without a gap.
    pub written: u64,
    /// The bytes that closures have counted with [`Control::add_bytes`].
    pub bytes: u64,
    /// The activity of the sources.
    pub source: Waits,
    /// The activity of the stages.
    pub stages: Waits,
    /// The activity of the sinks.
    pub sink: Waits,
}

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

    /// Returns how far the run has come, or `None` before it has begun.
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
