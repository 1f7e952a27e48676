//! Why a task gave no output.

use std::any::Any;
use std::fmt;
use std::io;

use super::header::Id;

/// A task was cancelled, or it panicked.
///
/// # Examples
///
/// ```
/// let runtime = blitz_io::runtime::Runtime::new()?;
/// runtime.block_on(async {
///     use blitz_io::task;
///
///     let error = task::spawn(async { panic!("boom") }).await.unwrap_err();
///     assert!(error.is_panic());
///     assert_eq!(error.into_panic().downcast_ref(), Some(&"boom"));
/// });
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct JoinError {
    reason: Reason,
    id: Id,
}

enum Reason {
    Cancelled,
    Panic(Payload),
}

/// The payload of a task's panic. No shared reference to it is ever given out.
struct Payload(Box<dyn Any + Send>);

// SAFETY: through a shared reference only text is read, of types that are `Sync`.
unsafe impl Sync for Payload {}

impl JoinError {
    pub(crate) fn cancelled(id: Id) -> Self {
        Self {
            reason: Reason::Cancelled,
            id,
        }
    }

    pub(crate) fn panic(id: Id, payload: Box<dyn Any + Send>) -> Self {
        Self {
            reason: Reason::Panic(Payload(payload)),
            id,
        }
    }

    /// Returns the panic's payload, if it is text.
    fn message(&self) -> Option<&str> {
        let Reason::Panic(Payload(payload)) = &self.reason else {
            return None;
        };
        match payload.downcast_ref::<String>() {
            Some(message) => Some(message),
            None => payload.downcast_ref::<&'static str>().copied(),
        }
    }

    /// Returns whether the task was cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = blitz_io::runtime::Runtime::new()?;
    /// runtime.block_on(async {
    ///     use blitz_io::task;
    ///
    ///     let task = task::spawn(std::future::pending::<()>());
    ///     task.abort();
    ///     assert!(task.await.unwrap_err().is_cancelled());
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self.reason, Reason::Cancelled)
    }

    /// Returns whether the task panicked.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = blitz_io::runtime::Runtime::new()?;
    /// runtime.block_on(async {
    ///     use blitz_io::task;
    ///
    ///     let task = task::spawn(async { panic!("boom") });
    ///     assert!(task.await.unwrap_err().is_panic());
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn is_panic(&self) -> bool {
        matches!(self.reason, Reason::Panic(_))
    }

    /// Returns the payload of the task's panic.
    ///
    /// # Panics
    ///
    /// If it did not panic.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = blitz_io::runtime::Runtime::new()?;
    /// runtime.block_on(async {
    ///     use blitz_io::task;
    ///
    ///     let task = task::spawn(async { panic!("boom") });
    ///     let payload = task.await.unwrap_err().into_panic();
    ///     assert_eq!(payload.downcast_ref(), Some(&"boom"));
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn into_panic(self) -> Box<dyn Any + Send + 'static> {
        self.try_into_panic()
            .expect("`JoinError` reason is not a panic.")
    }

    /// Returns the payload of the task's panic.
    ///
    /// # Errors
    ///
    /// The error itself, if the task did not panic.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = blitz_io::runtime::Runtime::new()?;
    /// runtime.block_on(async {
    ///     use blitz_io::task;
    ///
    ///     let task = task::spawn(std::future::pending::<()>());
    ///     task.abort();
    ///     let error = task.await.unwrap_err().try_into_panic().unwrap_err();
    ///     assert!(error.is_cancelled());
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send + 'static>, JoinError> {
        match self.reason {
            Reason::Panic(payload) => Ok(payload.0),
            Reason::Cancelled => Err(self),
        }
    }

    /// Returns which task it was.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = blitz_io::runtime::Runtime::new()?;
    /// runtime.block_on(async {
    ///     use blitz_io::task;
    ///
    ///     let task = task::spawn(std::future::pending::<()>());
    ///     task.abort();
    ///     let id = task.id();
    ///     assert_eq!(task.await.unwrap_err().id(), id);
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn id(&self) -> Id {
        self.id
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (task, id) = (self.id.noun(), self.id);
        match self.message() {
            _ if self.is_cancelled() => write!(f, "{task} {id} was cancelled"),
            Some(message) => write!(f, "{task} {id} panicked with message {message:?}"),
            None => write!(f, "{task} {id} panicked"),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id;
        match self.message() {
            _ if self.is_cancelled() => write!(f, "JoinError::Cancelled({id:?})"),
            Some(message) => write!(f, "JoinError::Panic({id:?}, {message:?}, ...)"),
            None => write!(f, "JoinError::Panic({id:?}, ...)"),
        }
    }
}

impl std::error::Error for JoinError {}

impl From<JoinError> for io::Error {
    fn from(error: JoinError) -> Self {
        io::Error::other(match error.reason {
            Reason::Cancelled => "task was cancelled",
            Reason::Panic(_) => "task panicked",
        })
    }
}
