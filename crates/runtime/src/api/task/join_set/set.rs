//! `JoinSet`.

use std::future::{Future, poll_fn};
use std::panic::{RefUnwindSafe, UnwindSafe, resume_unwind};
use std::task::{Context, Poll, Waker};

use blitz_io_core::coop;
use blitz_io_core::debug_fields;
use blitz_io_observe::named;
use blitz_io_observe::trace::Abort;
use blitz_io_observe::{Caller, IS_ENABLED, Kind, NAMES, Object, Wait, WaitKind};

use super::slots::Slots;
use crate::api::runtime::Handle;
use crate::api::task::LocalSet;
use crate::kernel::task::{AbortHandle, Id, JoinError, JoinHandle};

/// Tasks with outputs of one type, awaited in the order in which they end.
///
/// When the set is dropped, all its tasks are aborted. It keeps the output of a task that
/// has ended until it is taken. The names and the behaviour are Tokio's.
///
/// Adding a task usually allocates nothing but the task itself: the set keeps its handles
/// in chunks that grow with it.
///
/// ```
/// use blitz_io::{runtime::Runtime, task::JoinSet};
///
/// let mut outputs = Runtime::new()?.block_on(async {
///     let mut set = JoinSet::new();
///     for i in 0..10 {
///         set.spawn(async move { i * i });
///     }
///     let mut outputs = Vec::new();
///     while let Some(output) = set.join_next().await {
///         outputs.push(output.unwrap());
///     }
///     outputs
/// });
/// outputs.sort();
/// assert_eq!(outputs, [0, 1, 4, 9, 16, 25, 36, 49, 64, 81]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct JoinSet<T> {
    slots: Slots<T>,
    record: Wait,
    object: Object,
}

// A panic cannot leave the set in a broken state.
impl<T> UnwindSafe for JoinSet<T> {}
impl<T> RefUnwindSafe for JoinSet<T> {}
impl<T> Unpin for JoinSet<T> {}

impl<T> JoinSet<T> {
    /// Creates a set without tasks.
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        Self {
            slots: Slots::new(),
            record: Wait::new(Caller::here()),
            object: Object::new(),
        }
    }

    /// Returns the number of tasks in the set, including those that have ended and have not
    /// been taken out.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task::JoinSet};
    ///
    /// let runtime = Runtime::new()?;
    /// let mut set = JoinSet::new();
    /// set.spawn_on(async {}, runtime.handle());
    /// assert_eq!(set.len(), 1);
    /// runtime.block_on(set.join_next());
    /// assert!(set.is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns whether the set has no tasks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: 'static> JoinSet<T> {
    /// Starts a task on the current runtime, as a member of the set. It runs even if the
    /// set is not awaited.
    ///
    /// # Panics
    ///
    /// Outside of a runtime.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task::JoinSet};
    ///
    /// Runtime::new()?.block_on(async {
    ///     let mut set = JoinSet::new();
    ///     let one = set.spawn(async { 1 });
    ///     assert_eq!(set.join_next_with_id().await.unwrap().unwrap(), (one.id(), 1));
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.insert(crate::api::task::spawn(task))
    }

    /// Starts a task on the runtime of `handle`.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task::JoinSet};
    ///
    /// let runtime = Runtime::new()?;
    /// let mut set = JoinSet::new();
    /// set.spawn_on(async { 1 }, runtime.handle());
    /// assert_eq!(runtime.block_on(set.join_all()), [1]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_on<F>(&mut self, task: F, handle: &Handle) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.insert(handle.spawn(task))
    }

    /// Runs a function that may block on the blocking pool.
    ///
    /// A function that has begun cannot be aborted.
    ///
    /// # Panics
    ///
    /// Outside of a runtime.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task::JoinSet};
    ///
    /// Runtime::new()?.block_on(async {
    ///     let mut set = JoinSet::new();
    ///     for i in 0..3 {
    ///         set.spawn_blocking(move || i);
    ///     }
    ///     let mut outputs = set.join_all().await;
    ///     outputs.sort();
    ///     assert_eq!(outputs, [0, 1, 2]);
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F>(&mut self, f: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.insert(crate::api::task::spawn_blocking(f))
    }

    /// Runs a function that may block on the blocking pool of the runtime of `handle`.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task::JoinSet};
    ///
    /// let runtime = Runtime::new()?;
    /// let mut set = JoinSet::new();
    /// set.spawn_blocking_on(|| 1, runtime.handle());
    /// assert_eq!(runtime.block_on(set.join_all()), [1]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking_on<F>(&mut self, f: F, handle: &Handle) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.insert(handle.spawn_blocking(f))
    }

    /// Starts a task on the current `LocalSet`.
    ///
    /// # Panics
    ///
    /// Outside of a `LocalSet`.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task::{JoinSet, LocalSet}};
    /// use std::rc::Rc;
    ///
    /// let runtime = Runtime::new()?;
    /// let local = LocalSet::new();
    /// let number = Rc::new(1);
    /// local.block_on(&runtime, async {
    ///     let mut set = JoinSet::new();
    ///     set.spawn_local(async move { *number });
    ///     assert_eq!(set.join_all().await, [1]);
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.insert(crate::api::task::spawn_local(task))
    }

    /// Starts a task on `local_set`, which need not be running.
    #[track_caller]
    pub fn spawn_local_on<F>(&mut self, task: F, local_set: &LocalSet) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.insert(local_set.spawn_local(task))
    }

    #[inline]
    pub(super) fn insert(&mut self, handle: JoinHandle<T>) -> AbortHandle {
        // The members of the record are not complete any more.
        self.record.end();
        self.slots.insert(handle)
    }

    /// Waits until a task has ended, and takes it out of the set. `None` if the set is
    /// empty.
    ///
    /// # Errors
    ///
    /// If the task panicked or was aborted.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future takes no task out.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task::JoinSet};
    ///
    /// Runtime::new()?.block_on(async {
    ///     let mut set = JoinSet::new();
    ///     set.spawn(async { 1 });
    ///     set.spawn(async { panic!("on purpose") });
    ///     while let Some(result) = set.join_next().await {
    ///         match result {
    ///             Ok(output) => assert_eq!(output, 1),
    ///             Err(error) => assert!(error.is_panic()),
    ///         }
    ///     }
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        poll_fn(|context| self.poll_join_next(context)).await
    }

    /// Like [`join_next`](JoinSet::join_next), and also returns the id of the task. An
    /// error has that id, too.
    ///
    /// # Errors
    ///
    /// If the task panicked or was aborted.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future takes no task out.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task::JoinSet};
    ///
    /// Runtime::new()?.block_on(async {
    ///     let mut set = JoinSet::new();
    ///     let task = set.spawn(async { "done" }).id();
    ///     let (id, output) = set.join_next_with_id().await.unwrap().unwrap();
    ///     assert_eq!((id, output), (task, "done"));
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub async fn join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        poll_fn(|context| self.poll_join_next_with_id(context)).await
    }

    /// Takes out a task that has ended, if there is one.
    ///
    /// # Errors
    ///
    /// If the task panicked or was aborted.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task::JoinSet};
    ///
    /// Runtime::new()?.block_on(async {
    ///     let mut set = JoinSet::new();
    ///     assert!(set.try_join_next().is_none());
    ///     set.spawn(async { 1 });
    ///     loop {
    ///         match set.try_join_next() {
    ///             Some(result) => break assert_eq!(result.unwrap(), 1),
    ///             // Something else is done meanwhile.
    ///             None => blitz_io::task::yield_now().await,
    ///         }
    ///     }
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.pop().map(JoinHandle::into_output)
    }

    /// Like [`try_join_next`](JoinSet::try_join_next), and also returns the id of the
    /// task.
    ///
    /// # Errors
    ///
    /// If the task panicked or was aborted.
    pub fn try_join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        self.pop().map(output_with_id)
    }

    /// Aborts all tasks, and waits until they have ended. Their outputs are dropped.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the tasks have been aborted nevertheless.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task::JoinSet};
    /// use std::future::pending;
    ///
    /// Runtime::new()?.block_on(async {
    ///     let mut set = JoinSet::new();
    ///     set.spawn(pending::<()>());
    ///     set.shutdown().await;
    ///     assert!(set.is_empty());
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub async fn shutdown(&mut self) {
        self.abort_as(Abort::SetShutDown, Caller::UNKNOWN);
        while self.join_next().await.is_some() {}
    }

    /// Waits for all tasks, and returns their outputs in the order in which they ended.
    ///
    /// # Panics
    ///
    /// If a task panicked, with the payload of its panic, or if a task was aborted. The
    /// other tasks are aborted then.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the set, and aborts its tasks.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task::JoinSet};
    ///
    /// Runtime::new()?.block_on(async {
    ///     let set: JoinSet<_> = [1, 2].map(|i| async move { i }).into_iter().collect();
    ///     let mut outputs = set.join_all().await;
    ///     outputs.sort();
    ///     assert_eq!(outputs, [1, 2]);
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub async fn join_all(mut self) -> Vec<T> {
        let mut outputs = Vec::with_capacity(self.len());
        while let Some(result) = self.join_next().await {
            match result {
                Ok(output) => outputs.push(output),
                Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
                Err(error) => panic!("{error}"),
            }
        }
        outputs
    }

    /// Aborts all tasks. They stay in the set until they are taken out.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task::JoinSet};
    ///
    /// Runtime::new()?.block_on(async {
    ///     let mut set = JoinSet::new();
    ///     set.spawn(std::future::pending::<()>());
    ///     set.abort_all();
    ///     assert!(set.join_next().await.unwrap().unwrap_err().is_cancelled());
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn abort_all(&mut self) {
        self.abort_as(Abort::Called, Caller::here());
    }

    /// Takes all tasks out of the set without aborting them.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task::JoinSet};
    ///
    /// Runtime::new()?.block_on(async {
    ///     let mut set = JoinSet::new();
    ///     let (tx, rx) = blitz_io::sync::oneshot::channel();
    ///     set.spawn(async move { tx.send("still running").unwrap() });
    ///     set.detach_all();
    ///     assert!(set.is_empty());
    ///     assert_eq!(rx.await, Ok("still running"));
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn detach_all(&mut self) {
        self.record.end();
        self.slots.detach();
    }

    /// Polls for a task that has ended. Returns `Ready(None)` if the set is empty.
    ///
    /// If it returns `Pending`, the waker of the latest call is woken when a task ends, or
    /// when the polling task has a budget again.
    ///
    /// # Errors
    ///
    /// If the task panicked or was aborted.
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        self.poll_pop(cx)
            .map(|handle| handle.map(JoinHandle::into_output))
    }

    /// Like [`poll_join_next`](JoinSet::poll_join_next), with the number of the task.
    ///
    /// # Errors
    ///
    /// If the task panicked or was aborted.
    pub fn poll_join_next_with_id(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<(Id, T), JoinError>>> {
        self.poll_pop(cx).map(|handle| handle.map(output_with_id))
    }

    #[inline]
    fn poll_pop(&mut self, context: &mut Context<'_>) -> Poll<Option<JoinHandle<T>>> {
        if self.is_empty() {
            return Poll::Ready(None);
        }
        coop::poll_with(context, |context| {
            loop {
                if let Some(handle) = self.pop() {
                    return Poll::Ready(Some(handle));
                }
                if self.slots.wait(context.waker()) {
                    self.note_wait(context.waker());
                    return Poll::Pending;
                }
            }
        })
    }
}

/// The ready list and the record.
impl<T> JoinSet<T> {
    /// Aborts all tasks for this reason. `at`: the line of the program that does so, if that is known.
    fn abort_as(&mut self, why: Abort, at: Caller) {
        self.slots.for_each(|handle| handle.abort_as(why, at));
    }

    /// Takes a task that has ended, which has used the waker of the wait.
    #[inline]
    fn pop(&mut self) -> Option<JoinHandle<T>> {
        let handle = self.slots.pop();
        if handle.is_some() {
            self.record.end();
        }
        handle
    }

    /// Records which tasks can end the wait. None of them leaves the set before that, and one that
    /// is added removes the record.
    #[inline]
    fn note_wait(&mut self, waker: &Waker) {
        if IS_ENABLED {
            let (members, more) = self.members();
            self.object.set_members(members, more);
        }
        let kind = WaitKind::new(Kind::JoinSet);
        self.record.begin(kind, &self.object, waker);
    }

    /// Returns the numbers of the tasks, or their count if they are too many.
    fn members(&mut self) -> ([u64; NAMES], usize) {
        let mut members = [0; NAMES];
        if self.len() > NAMES {
            return (members, self.len());
        }
        let mut places = members.iter_mut();
        self.slots.for_each(|handle| {
            if let Some(place) = places.next() {
                *place = handle.id().as_u64();
            }
        });
        (members, 0)
    }
}

named!(JoinSet<T>: object);

fn output_with_id<T>(handle: JoinHandle<T>) -> Result<(Id, T), JoinError> {
    let id = handle.id();
    handle.into_output().map(|output| (id, output))
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        self.abort_as(Abort::SetDropped, Caller::UNKNOWN);
    }
}

debug_fields!(impl<T> JoinSet<T>, |this| { len: this.len() });

impl<T> Default for JoinSet<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

/// The tasks are started on the current runtime.
impl<T, F> FromIterator<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    fn from_iter<I: IntoIterator<Item = F>>(iter: I) -> Self {
        let mut set = Self::new();
        set.extend(iter);
        set
    }
}

/// The tasks are started on the current runtime.
impl<T, F> Extend<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    fn extend<I: IntoIterator<Item = F>>(&mut self, iter: I) {
        for task in iter {
            self.spawn(task);
        }
    }
}
