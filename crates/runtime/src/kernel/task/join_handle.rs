//! The rights that others have in a task: to wait for it, and to cancel it.

use std::future::Future;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

use blitz_io_core::{coop, debug_fields};
#[cfg(not(loom))]
use blitz_io_observe::Members;
use blitz_io_observe::trace::Abort;
use blitz_io_observe::{Caller, Kind, Wait, WaitKind};

use super::error::JoinError;
use super::header::{self, Header, Id};
use super::state::{DropJoin, State};

/// The right to wait for a task and to get its output. Dropping it detaches the task,
/// which continues to run.
///
/// Awaiting it gives the task's output, or a [`JoinError`] if the task panicked or was
/// cancelled.
///
/// # Panics
///
/// When it is polled again after it has given the output.
///
/// # Cancel safety
///
/// Awaiting `&mut handle` is cancel safe: the output stays until it is taken.
///
/// # Examples
///
/// ```
/// let runtime = blitz_io::runtime::Runtime::new()?;
/// runtime.block_on(async {
///     use blitz_io::task;
///
///     let handle = task::spawn(async { 3 + 4 });
///     assert_eq!(handle.await.unwrap(), 7);
/// });
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct JoinHandle<T> {
    /// With a reference. The task's output is a `T`.
    task: NonNull<Header>,
    _output: PhantomData<T>,
    /// `drop` ends it: to drop the field would be one more call for each handle.
    record: ManuallyDrop<Wait>,
}

// SAFETY: the handle gives and drops the output, wherever it is.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: a shared reference gives no access to the output.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}
impl<T> Unpin for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// Takes over the handle's reference in the state of a new task.
    #[inline]
    pub(super) fn new(task: NonNull<Header>) -> Self {
        Self {
            task,
            _output: PhantomData,
            record: ManuallyDrop::new(Wait::new(Caller::UNKNOWN)),
        }
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: the handle has a reference.
        unsafe { self.task.as_ref() }
    }

    /// Asks for the task to be cancelled: it is dropped at its next point of waiting. A
    /// task that is complete stays so. Awaiting a cancelled task gives an error for which
    /// [`JoinError::is_cancelled`] holds, unless it was complete before.
    ///
    /// A task of `spawn_blocking` that has begun can not be cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = blitz_io::runtime::Runtime::new()?;
    /// runtime.block_on(async {
    ///     use blitz_io::task;
    ///
    ///     let handle = task::spawn(std::future::pending::<()>());
    ///     handle.abort();
    ///     assert!(handle.await.unwrap_err().is_cancelled());
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn abort(&self) {
        self.abort_as(Abort::Called, Caller::here());
    }

    /// Aborts the task for this reason. `at`: the line of the program that does so, if that is known.
    pub(crate) fn abort_as(&self, why: Abort, at: Caller) {
        // SAFETY: the handle has a reference.
        unsafe { header::abort(self.task, why, at) }
    }

    /// Returns whether the task has ended. It may be `false` for a while after
    /// [`abort`](Self::abort).
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = blitz_io::runtime::Runtime::new()?;
    /// runtime.block_on(async {
    ///     use blitz_io::task;
    ///
    ///     let handle = task::spawn(async {});
    ///     while !handle.is_finished() {
    ///         task::yield_now().await;
    ///     }
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.header().state.load().is_complete()
    }

    /// Returns a handle that can cancel the task.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = blitz_io::runtime::Runtime::new()?;
    /// runtime.block_on(async {
    ///     use blitz_io::task;
    ///
    ///     let handle = task::spawn(std::future::pending::<()>());
    ///     let abort = handle.abort_handle();
    ///     task::spawn(async move { abort.abort() });
    ///     assert!(handle.await.unwrap_err().is_cancelled());
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use = "abort handles do nothing unless `.abort` is called"]
    pub fn abort_handle(&self) -> AbortHandle {
        self.header().state.acquire();
        // The new handle gets the reference.
        AbortHandle { task: self.task }
    }

    /// Returns the task's number.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = blitz_io::runtime::Runtime::new()?;
    /// runtime.block_on(async {
    ///     use blitz_io::task;
    ///
    ///     let handle = task::spawn(async { task::id() });
    ///     let id = handle.id();
    ///     assert_eq!(handle.await.unwrap(), id);
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn id(&self) -> Id {
        self.header().id()
    }
}

// The side of a `JoinSet`, of which the models run only the list.
#[cfg(not(loom))]
impl<T> JoinHandle<T> {
    /// Sets the waker that is woken when the task is complete, or wakes it now if the task
    /// is; and makes a handle that can cancel the task. Once only.
    #[inline]
    pub(crate) fn set_join_waker(&mut self, waker: &Waker) -> AbortHandle {
        let state = &self.header().state;
        let complete = if state.load().is_complete() {
            state.acquire();
            true
        } else {
            self.put_waker(waker, State::give_join_waker_and_acquire)
        };
        if complete {
            waker.wake_by_ref();
        }
        // The new handle gets the reference.
        AbortHandle { task: self.task }
    }

    /// Takes the waker back that [`set_join_waker`](Self::set_join_waker) left. Returns `true` if the
    /// waker will not be woken any more; otherwise the task is complete.
    pub(crate) fn take_back_waker(&mut self) -> bool {
        let state = self.header().state.load();
        debug_assert!(state.is_complete() || state.has_join_waker());
        !state.is_complete() && self.remove_waker()
    }

    /// Returns the output of a task that is complete.
    #[inline]
    pub(crate) fn into_output(self) -> Result<T, JoinError> {
        assert!(self.is_finished());
        // SAFETY: the task is complete.
        let output = unsafe { self.take() };
        let mut this = ManuallyDrop::new(self);
        this.record.end();
        let task = this.task;
        // SAFETY: this is the handle's reference; there is no output left to drop.
        unsafe { header::release_last(task) };
        match output {
            Poll::Ready(output) => output,
            Poll::Pending => unreachable!("the task is complete"),
        }
    }
}

impl<T> JoinHandle<T> {
    /// Takes the output.
    ///
    /// # Safety
    ///
    /// The task is complete.
    #[inline]
    unsafe fn take(&self) -> Poll<Result<T, JoinError>> {
        let mut output = Poll::Pending;
        // SAFETY: the task is complete, and the output is a `T`.
        unsafe { (self.header().vtable.take)(self.task, (&raw mut output).cast()) };
        output
    }

    /// Leaves the waker to the task. Returns `true` if the task is complete: the waker is then not
    /// stored.
    #[inline]
    fn register(&mut self, waker: &Waker) -> bool {
        let header = self.header();
        let state = header.state.load();
        if state.is_complete() {
            return true;
        }
        if !state.has_join_waker() {
            return self.put_waker(waker, State::give_join_waker);
        }
        let same = header
            .join_waker
            // SAFETY: the waker stays stored until we take it back. A worker that
            // completes the task at the same time only reads it, too.
            .with(|place| unsafe { (*place).assume_init_ref() }.will_wake(waker));
        !same && self.change_waker(waker)
    }

    /// Puts the waker in its place, which is empty and the join handle's. `give` sets its bit.
    #[inline]
    fn put_waker(&mut self, waker: &Waker, give: impl FnOnce(&State) -> bool) -> bool {
        let header = self.header();
        let waker = waker.clone();
        header.join_waker.with_mut(|place| {
            // SAFETY: without its bit, the place is empty and the join handle's.
            unsafe { (*place).write(waker) };
        });
        let complete = give(&header.state);
        if complete {
            // SAFETY: the completer did not see the bit, so the join handle still owns the waker.
            drop(unsafe { header.take_join_waker() });
        }
        complete
    }

    /// Replaces the stored waker. `true` if the task is complete.
    fn change_waker(&mut self, waker: &Waker) -> bool {
        !self.remove_waker() || self.put_waker(waker, State::give_join_waker)
    }

    /// Takes the waker from its place. `false` if the task is complete, and the completer
    /// has the waker.
    fn remove_waker(&mut self) -> bool {
        let header = self.header();
        let in_time = !header.state.take_join_waker();
        if in_time {
            // SAFETY: `take_join_waker` reset the bit before the task was complete, so the
            // join handle owns the waker again.
            drop(unsafe { header.take_join_waker() });
        }
        in_time
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    // The caller is the `.await`, for the record.
    #[inline]
    #[track_caller]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let (kind, caller) = (WaitKind::new(Kind::Join), Caller::here());
        let polled = coop::poll_with(context, |context| {
            if !this.register(context.waker()) {
                let id = this.header().id().as_u64();
                this.record.begin_awaited(kind, id, caller, context.waker());
                return Poll::Pending;
            }
            this.record.end();
            // SAFETY: the task is complete.
            unsafe { this.take() }
        });
        let id = this.header().id().as_u64();
        this.record.at_point_awaited(polled, kind, id, caller)
    }
}

impl<T> Drop for JoinHandle<T> {
    #[inline]
    fn drop(&mut self) {
        self.record.cancel();
        let header = self.header();
        match header.state.drop_join() {
            DropJoin::Nothing => return,
            // SAFETY: the task is complete, and the join handle owns the output.
            DropJoin::Output => unsafe {
                if header.has_contents() {
                    (header.vtable.drop_output)(self.task);
                }
            },
            // SAFETY: `drop_join` took the waker back in time.
            DropJoin::Waker => drop(unsafe { header.take_join_waker() }),
        }
        // SAFETY: this is the handle's reference.
        unsafe { header::release_last(self.task) }
    }
}

debug_fields!(impl<T: Debug> JoinHandle<T>, |this| { id: this.id() });

/// The right of a scope to cancel a child. The scope uses it only if the task or thread that awaits the scope stops to
/// wait. So the child's record does not count it among its wakers and handles.
#[cfg(not(loom))]
pub(crate) struct ScopeHandle(AbortHandle);

#[cfg(not(loom))]
impl ScopeHandle {
    /// Returns the handle, and makes the task a child of the scope. `T` is the output of the task.
    pub(crate) fn new<T>(child: &JoinHandle<T>, scope: &Members) -> Self {
        let header = child.header();
        header.of_scope.belongs_to(scope);
        let handle = child.abort_handle();
        header.of_scope.add_handle();
        Self(handle)
    }

    /// Aborts the child for this reason. `at`: the line of the program that does so, if that is known.
    pub(crate) fn abort_as(&self, why: Abort, at: Caller) {
        self.0.abort_as(why, at);
    }

    /// See [`AbortHandle::is_finished`].
    pub(crate) fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// Returns the task's number.
    pub(crate) fn id(&self) -> Id {
        self.0.id()
    }
}

#[cfg(not(loom))]
impl Drop for ScopeHandle {
    #[inline]
    fn drop(&mut self) {
        // Before its reference.
        self.0.header().of_scope.remove_handle();
    }
}

/// The right to cancel a task, without that to wait for it. Dropping it cancels nothing.
///
/// # Examples
///
/// ```
/// let runtime = blitz_io::runtime::Runtime::new()?;
/// runtime.block_on(async {
///     use blitz_io::task;
///
///     let handle = task::spawn(std::future::pending::<()>());
///     let abort = handle.abort_handle();
///     abort.abort();
///     assert!(handle.await.unwrap_err().is_cancelled());
///     assert!(abort.is_finished());
/// });
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct AbortHandle {
    /// Owns a reference to the task.
    task: NonNull<Header>,
}

// SAFETY: the handle gives no access to the task's contents.
unsafe impl Send for AbortHandle {}
// SAFETY: a shared handle gives no access to the task's contents either.
unsafe impl Sync for AbortHandle {}

impl UnwindSafe for AbortHandle {}
impl RefUnwindSafe for AbortHandle {}

impl AbortHandle {
    /// Returns a handle of this task.
    #[cfg(feature = "sim")]
    pub(super) fn of(task: &Header) -> Self {
        task.state.acquire();
        // The new handle gets the reference.
        Self { task: task.into() }
    }

    fn header(&self) -> &Header {
        // SAFETY: the handle has a reference.
        unsafe { self.task.as_ref() }
    }

    /// Asks for the task to be cancelled: see [`JoinHandle::abort`].
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = blitz_io::runtime::Runtime::new()?;
    /// runtime.block_on(async {
    ///     use blitz_io::task;
    ///
    ///     let task = task::spawn(std::future::pending::<()>());
    ///     task.abort_handle().abort();
    ///     assert!(task.await.unwrap_err().is_cancelled());
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn abort(&self) {
        self.abort_as(Abort::Called, Caller::here());
    }

    /// Aborts the task for this reason. `at`: the line of the program that does so, if that is known.
    fn abort_as(&self, why: Abort, at: Caller) {
        // SAFETY: the handle has a reference.
        unsafe { header::abort(self.task, why, at) }
    }

    /// Aborts the task, which is no event of the program.
    #[cfg(feature = "sim")]
    pub(crate) fn cancel(&self) {
        // SAFETY: the handle has a reference.
        unsafe { header::cancel(self.task) }
    }

    /// Returns whether the task has ended. It may be `false` for a while after
    /// [`abort`](Self::abort).
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = blitz_io::runtime::Runtime::new()?;
    /// runtime.block_on(async {
    ///     use blitz_io::task;
    ///
    ///     let task = task::spawn(async {});
    ///     let abort = task.abort_handle();
    ///     task.await.unwrap();
    ///     assert!(abort.is_finished());
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.header().state.load().is_complete()
    }

    /// Returns the task's number.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = blitz_io::runtime::Runtime::new()?;
    /// runtime.block_on(async {
    ///     use blitz_io::task;
    ///
    ///     let task = task::spawn(async {});
    ///     assert_eq!(task.abort_handle().id(), task.id());
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn id(&self) -> Id {
        self.header().id()
    }
}

impl Clone for AbortHandle {
    fn clone(&self) -> Self {
        self.header().state.acquire();
        Self { task: self.task }
    }
}

impl Drop for AbortHandle {
    fn drop(&mut self) {
        // SAFETY: this is the handle's reference.
        unsafe { header::release(self.task) }
    }
}

debug_fields!(impl AbortHandle, |this| { id: this.id() });
