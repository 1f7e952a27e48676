//! `TaskTracker`: waits until all of its tasks have ended.
//!
//! One word counts the tasks and has a flag for a closed tracker. The
//! thread that makes it "closed, and no task" wakes all waiters, even if the word changes
//! again after that. A wait that begins before that moment sees either the word or the
//! wake-up: `Notify` counts its calls, and a wait knows the count from when it was made.

use blitz_io_core::{coop, debug_fields, default_is_new};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use blitz_io_futex::atomic::{AtomicUsize, Ordering};
use blitz_io_observe::{Caller, Kind, Object, WaitKind};
use blitz_io_sync::task::{Notified, Notify};
use pin_project_lite::pin_project;

/// The flag of a closed tracker.
const CLOSED: usize = 1;
/// The count of one task.
const TASK: usize = 2;

/// Counts tasks and waits until none is left, for a graceful shutdown.
///
/// A wait ends when the tracker is [closed](TaskTracker::close) and there are no tasks.
/// Tasks can still be added to a closed tracker; closing it only allows waits to end. In
/// contrast to a `JoinSet`, it keeps nothing of tasks that have ended, and several trackers
/// may count the same task.
///
/// The names and the behaviour are those of tokio-util. Tokens and tracked futures also
/// work without a runtime, or with another one.
///
/// ```
/// use blitz_io::task::TaskTracker;
///
/// # pollster::block_on(async {
/// let tracker = TaskTracker::new();
/// for _ in 0..4 {
///     let token = tracker.token();
///     std::thread::spawn(move || drop(token));
/// }
/// tracker.close();
/// tracker.wait().await;
/// assert!(tracker.is_empty());
/// # });
/// ```
#[derive(Clone)]
pub struct TaskTracker {
    inner: Arc<Inner>,
}

struct Inner {
    /// [`CLOSED`], and a [`TASK`] for each.
    state: AtomicUsize,
    ended: Notify,
}

/// Counts as a task until it is dropped: see [`TaskTracker::token`].
#[must_use]
#[derive(Debug)]
pub struct TaskTrackerToken {
    task_tracker: TaskTracker,
}

pin_project! {
    /// A future that counts as a task until it is dropped: see
    /// [`TaskTracker::track_future`].
    #[must_use = "futures do nothing unless polled"]
    pub struct TrackedFuture<F> {
        #[pin]
        future: F,
        token: TaskTrackerToken,
    }
}

pin_project! {
    /// The future of [`TaskTracker::wait`].
    #[must_use = "futures do nothing unless polled"]
    pub struct TaskTrackerWaitFuture<'a> {
        #[pin]
        future: Notified<'a>,
        inner: Option<&'a Inner>,
    }
}

impl Inner {
    #[inline]
    fn is_done(&self) -> bool {
        self.state.load(Ordering::Acquire) == CLOSED
    }

    #[inline]
    fn end_task(&self) {
        if self.state.fetch_sub(TASK, Ordering::Release) == TASK | CLOSED {
            self.notify();
        }
    }

    #[cold]
    fn notify(&self) {
        // The other tasks' writes before their ends happen before this, and so before the
        // woken tasks continue.
        self.state.load(Ordering::Acquire);
        self.ended.notify_waiters_as_part();
    }
}

impl TaskTracker {
    /// Creates a tracker that is open, and has no tasks.
    #[must_use]
    pub fn new() -> Self {
        Self {
            inner: Arc::new(Inner {
                state: AtomicUsize::new(0),
                ended: Notify::new(),
            }),
        }
    }

    /// Waits until the tracker is closed and has no tasks. The wait also ends if that was
    /// so at some moment since this call, and is not any more.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    ///
    /// ```
    /// use blitz_io::task::TaskTracker;
    ///
    /// # pollster::block_on(async {
    /// let tracker = TaskTracker::new();
    /// let wait = tracker.wait();
    /// tracker.close();
    /// tracker.reopen();
    /// wait.await;
    /// # });
    /// ```
    #[inline]
    #[track_caller]
    pub fn wait(&self) -> TaskTrackerWaitFuture<'_> {
        self.wait_at(Caller::here())
    }

    /// Like [`wait`](Self::wait), for a line of the program.
    #[inline]
    pub(crate) fn wait_at(&self, caller: Caller) -> TaskTrackerWaitFuture<'_> {
        TaskTrackerWaitFuture {
            future: self.inner.ended.notified_at(caller),
            inner: (!self.inner.is_done()).then_some(&*self.inner),
        }
    }

    /// Closes the tracker, so that waits end when there are no tasks. Returns whether it
    /// was open.
    ///
    /// ```
    /// use blitz_io::task::TaskTracker;
    ///
    /// let tracker = TaskTracker::new();
    /// assert!(tracker.close());
    /// assert!(!tracker.close());
    /// ```
    #[inline]
    pub fn close(&self) -> bool {
        let before = self.inner.state.fetch_or(CLOSED, Ordering::AcqRel);
        if before == 0 {
            self.inner.notify();
        }
        before & CLOSED == 0
    }

    /// Opens the tracker again. Returns whether it was closed.
    ///
    /// ```
    /// use blitz_io::task::TaskTracker;
    ///
    /// let tracker = TaskTracker::new();
    /// tracker.close();
    /// assert!(tracker.reopen());
    /// assert!(!tracker.is_closed());
    /// ```
    #[inline]
    pub fn reopen(&self) -> bool {
        self.inner.state.fetch_and(!CLOSED, Ordering::AcqRel) & CLOSED != 0
    }

    /// Returns whether the tracker is closed.
    #[inline]
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.inner.state.load(Ordering::Acquire) & CLOSED != 0
    }

    /// Returns the number of tasks.
    ///
    /// ```
    /// use blitz_io::task::TaskTracker;
    ///
    /// let tracker = TaskTracker::new();
    /// let _token = tracker.token();
    /// let _future = tracker.track_future(async {});
    /// assert_eq!(tracker.len(), 2);
    /// ```
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.state.load(Ordering::Acquire) / TASK
    }

    /// Returns whether there are no tasks.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Counts a future as a task until it is dropped.
    ///
    /// A future that has completed still counts until then; a runtime drops it at once.
    ///
    /// ```
    /// use blitz_io::task::TaskTracker;
    ///
    /// # pollster::block_on(async {
    /// let tracker = TaskTracker::new();
    /// assert_eq!(tracker.track_future(async { 1 }).await, 1);
    /// assert!(tracker.is_empty());
    /// # });
    /// ```
    #[inline]
    pub fn track_future<F: Future>(&self, future: F) -> TrackedFuture<F> {
        TrackedFuture {
            future,
            token: self.token(),
        }
    }

    /// Returns a token that counts as a task until it is dropped.
    ///
    /// ```
    /// use blitz_io::task::TaskTracker;
    ///
    /// let tracker = TaskTracker::new();
    /// let token = tracker.token();
    /// assert_eq!(tracker.len(), 1);
    /// drop(token);
    /// assert!(tracker.is_empty());
    /// ```
    #[inline]
    pub fn token(&self) -> TaskTrackerToken {
        self.inner.state.fetch_add(TASK, Ordering::Relaxed);
        TaskTrackerToken {
            task_tracker: self.clone(),
        }
    }

    /// Returns whether both are the same tracker.
    ///
    /// ```
    /// use blitz_io::task::TaskTracker;
    ///
    /// let tracker = TaskTracker::new();
    /// assert!(TaskTracker::ptr_eq(&tracker, &tracker.clone()));
    /// assert!(!TaskTracker::ptr_eq(&tracker, &TaskTracker::new()));
    /// ```
    #[inline]
    #[must_use]
    pub fn ptr_eq(left: &Self, right: &Self) -> bool {
        Arc::ptr_eq(&left.inner, &right.inner)
    }
}

default_is_new!(TaskTracker);

impl TaskTrackerToken {
    /// Returns the tracker that it counts for.
    #[inline]
    #[must_use]
    pub fn task_tracker(&self) -> &TaskTracker {
        &self.task_tracker
    }
}

impl Clone for TaskTrackerToken {
    /// Returns a token that counts as one more task.
    #[inline]
    fn clone(&self) -> Self {
        self.task_tracker.token()
    }
}

impl Drop for TaskTrackerToken {
    #[inline]
    fn drop(&mut self) {
        self.task_tracker.inner.end_task();
    }
}

impl<F: Future> Future for TrackedFuture<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.project().future.poll(context)
    }
}

impl Future for TaskTrackerWaitFuture<'_> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.poll_as(context, WaitKind::new(Kind::TaskTracker), None)
    }
}

impl TaskTrackerWaitFuture<'_> {
    /// Polls it, as a wait of this kind, for this object or else for the tracker.
    #[inline]
    pub(crate) fn poll_as(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        kind: WaitKind,
        object: Option<&Object>,
    ) -> Poll<()> {
        let this = self.project();
        match *this.inner {
            Some(inner) if !inner.is_done() => {
                ready!(this.future.poll_as(context, kind, object));
            }
            _ => {
                ready!(this.future.at_point(coop::point(context), kind, object));
                coop::acted();
            }
        }
        *this.inner = None;
        Poll::Ready(())
    }
}

impl fmt::Debug for Inner {
    /// Shows it as a tracker.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.load(Ordering::Acquire);
        f.debug_struct("TaskTracker")
            .field("len", &(state / TASK))
            .field("is_closed", &(state & CLOSED != 0))
            .field("inner", &(&raw const *self))
            .finish()
    }
}

impl fmt::Debug for TaskTracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

debug_fields! {
    impl<F: Debug> TrackedFuture<F>, |this| {
        future: this.future,
        task_tracker: this.token.task_tracker(),
    }
}

debug_fields! {
    impl TaskTrackerWaitFuture<'_>, |this| {
        future: this.future,
        task_tracker: this.inner,
    }
}
