//! The right to cancel a task.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;

use super::header::{self, Header, Id};

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
    task: NonNull<Header>,
}

// SAFETY: the handle gives no access to what is in the task.
unsafe impl Send for AbortHandle {}
// SAFETY: as above.
unsafe impl Sync for AbortHandle {}

impl UnwindSafe for AbortHandle {}
impl RefUnwindSafe for AbortHandle {}

impl AbortHandle {
    /// # Safety
    ///
    /// The caller gives a reference to the new handle.
    pub(super) unsafe fn new(task: NonNull<Header>) -> Self {
        Self { task }
    }

    fn header(&self) -> &Header {
        // SAFETY: the handle has a reference.
        unsafe { self.task.as_ref() }
    }

    /// Asks for the task to be cancelled: see [`JoinHandle::abort`](super::JoinHandle::abort).
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
    pub fn abort(&self) {
        // SAFETY: the handle has a reference.
        unsafe { header::abort(self.task) }
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

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle")
            .field("id", &self.id())
            .finish()
    }
}
