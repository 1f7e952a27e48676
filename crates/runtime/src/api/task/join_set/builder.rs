//! `Builder`: members of a set that have names.

use std::fmt;
use std::future::Future;
use std::io;

use super::JoinSet;
use crate::api::runtime::Handle;
use crate::api::task::{self, LocalSet};
use crate::kernel::task::AbortHandle;

/// Starts a task that is a member of a set and has a name: see [`task::Builder`](crate::task::Builder).
///
/// Returned by [`JoinSet::build_task`].
///
/// The functions are those of [`JoinSet`]; see there for when they panic.
#[must_use = "a builder does nothing until it spawns"]
pub struct Builder<'a, T> {
    set: &'a mut JoinSet<T>,
    builder: task::Builder<'a>,
}

impl<T: 'static> JoinSet<T> {
    /// Starts a task that has a name: see [`task::Builder`](crate::task::Builder).
    ///
    /// Only with one of the features `tracing`, `inspect` and `sim`.
    ///
    /// ```
    /// use blitz_io::{runtime::Builder, task::JoinSet};
    ///
    /// let runtime = Builder::new_current_thread().build()?;
    /// let outputs = runtime.block_on(async {
    ///     let mut set = JoinSet::new();
    ///     set.build_task().name("adder").spawn(async { 1 + 1 })?;
    ///     Ok::<_, std::io::Error>(set.join_all().await)
    /// });
    /// assert_eq!(outputs?, [2]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn build_task(&mut self) -> Builder<'_, T> {
        Builder::new(self)
    }
}

impl<'a, T: 'static> Builder<'a, T> {
    fn new(set: &'a mut JoinSet<T>) -> Self {
        Self {
            set,
            builder: task::Builder::new(),
        }
    }

    /// Gives the task a name.
    pub fn name(self, name: &'a str) -> Self {
        Self {
            builder: self.builder.name(name),
            ..self
        }
    }

    /// Starts the task as [`JoinSet::spawn`] does.
    ///
    /// # Errors
    ///
    /// None at present.
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        Ok(self.set.insert(self.builder.spawn(future)?))
    }

    /// Starts the task as [`JoinSet::spawn_on`] does.
    ///
    /// # Errors
    ///
    /// None at present.
    #[track_caller]
    pub fn spawn_on<F>(self, future: F, handle: &Handle) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        Ok(self.set.insert(self.builder.spawn_on(future, handle)?))
    }

    /// Runs the closure as [`JoinSet::spawn_blocking`] does.
    ///
    /// # Errors
    ///
    /// If the runtime has been shut down, or the system refuses a thread.
    #[track_caller]
    pub fn spawn_blocking<F>(self, function: F) -> io::Result<AbortHandle>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        Ok(self.set.insert(self.builder.spawn_blocking(function)?))
    }

    /// Runs the closure as [`JoinSet::spawn_blocking_on`] does.
    ///
    /// # Errors
    ///
    /// If the runtime has been shut down, or the system refuses a thread.
    #[track_caller]
    pub fn spawn_blocking_on<F>(self, function: F, handle: &Handle) -> io::Result<AbortHandle>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        let join = self.builder.spawn_blocking_on(function, handle)?;
        Ok(self.set.insert(join))
    }

    /// Starts the task as [`JoinSet::spawn_local`] does.
    ///
    /// # Errors
    ///
    /// None at present.
    #[track_caller]
    pub fn spawn_local<F>(self, future: F) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + 'static,
    {
        Ok(self.set.insert(self.builder.spawn_local(future)?))
    }

    /// Starts the task as [`JoinSet::spawn_local_on`] does.
    ///
    /// # Errors
    ///
    /// None at present.
    #[track_caller]
    pub fn spawn_local_on<F>(self, future: F, local_set: &LocalSet) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + 'static,
    {
        let join = self.builder.spawn_local_on(future, local_set)?;
        Ok(self.set.insert(join))
    }
}

impl<T> fmt::Debug for Builder<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("join_set::Builder")
            .field("joinset", &self.set)
            .field("builder", &self.builder)
            .finish()
    }
}
