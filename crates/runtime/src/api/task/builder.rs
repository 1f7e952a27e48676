//! `Builder`: tasks with names.

use std::future::Future;
use std::io;

use blitz_io_observe::About;

use super::LocalSet;
use super::local_set::spawn_local_named;
use super::spawn;
use crate::api::pool::Demand;
use crate::api::runtime::Handle;
use crate::api::trace::{SpawnMeta, spawn_meta};
use crate::kernel::task::JoinHandle;

/// Starts a task that has a name: in its `tracing` span, and in reports of `inspect` and `sim`.
///
/// This type needs one of the features `tracing`, `inspect` and `sim`, and so does
/// [`JoinSet::build_task`](super::JoinSet::build_task). Each method does what the function of its name does;
/// see there for when it panics.
///
/// ```
/// use blitz_io::{runtime::Builder, task};
///
/// let runtime = Builder::new_current_thread().build().unwrap();
/// runtime.block_on(async {
///     let task = task::Builder::new().name("adder").spawn(async { 1 + 1 })?;
///     assert_eq!(task.await.unwrap(), 2);
///     Ok::<(), std::io::Error>(())
/// }).unwrap();
/// ```
#[derive(Default, Debug)]
pub struct Builder<'a> {
    name: Option<&'a str>,
}

impl<'a> Builder<'a> {
    /// Creates a task without a name.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the task a name.
    #[must_use]
    pub fn name(&self, name: &'a str) -> Self {
        Self { name: Some(name) }
    }

    #[track_caller]
    fn meta<T>(&self) -> SpawnMeta<'a> {
        spawn_meta!(T, self.name)
    }

    /// Starts the task as [`spawn`](super::spawn) does.
    ///
    /// # Errors
    ///
    /// None at present.
    #[track_caller]
    pub fn spawn<Fut>(self, future: Fut) -> io::Result<JoinHandle<Fut::Output>>
    where
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
    {
        let meta = self.meta::<Fut>();
        Ok(spawn::spawn_on(&Handle::current().inner, future, meta))
    }

    /// Starts the task as [`Handle::spawn`] does.
    ///
    /// # Errors
    ///
    /// None at present.
    #[track_caller]
    pub fn spawn_on<Fut>(self, future: Fut, handle: &Handle) -> io::Result<JoinHandle<Fut::Output>>
    where
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
    {
        Ok(spawn::spawn_on(&handle.inner, future, self.meta::<Fut>()))
    }

    /// Starts the task as [`spawn_local`](super::spawn_local) does.
    ///
    /// # Errors
    ///
    /// None at present.
    #[track_caller]
    pub fn spawn_local<Fut>(self, future: Fut) -> io::Result<JoinHandle<Fut::Output>>
    where
        Fut: Future + 'static,
        Fut::Output: 'static,
    {
        Ok(spawn_local_named(future, self.meta::<Fut>()))
    }

    /// Starts the task as [`LocalSet::spawn_local`] does.
    ///
    /// # Errors
    ///
    /// None at present.
    #[track_caller]
    pub fn spawn_local_on<Fut>(
        self,
        future: Fut,
        local_set: &LocalSet,
    ) -> io::Result<JoinHandle<Fut::Output>>
    where
        Fut: Future + 'static,
        Fut::Output: 'static,
    {
        Ok(local_set.spawn_named(future, self.meta::<Fut>()))
    }

    /// Runs the closure as [`spawn_blocking`](super::spawn_blocking) does.
    ///
    /// # Errors
    ///
    /// If the runtime has been shut down, or the system refuses a thread.
    #[track_caller]
    pub fn spawn_blocking<Function, Output>(
        self,
        function: Function,
    ) -> io::Result<JoinHandle<Output>>
    where
        Function: FnOnce() -> Output + Send + 'static,
        Output: Send + 'static,
    {
        self.spawn_blocking_on(function, &Handle::current())
    }

    /// Runs the closure as [`Handle::spawn_blocking`] does.
    ///
    /// # Errors
    ///
    /// If the runtime has been shut down, or the system refuses a thread.
    #[track_caller]
    pub fn spawn_blocking_on<Function, Output>(
        self,
        function: Function,
        handle: &Handle,
    ) -> io::Result<JoinHandle<Output>>
    where
        Function: FnOnce() -> Output + Send + 'static,
        Output: Send + 'static,
    {
        let (inner, meta) = (&handle.inner, self.meta::<Function>());
        let pool = inner.pool();
        let about = About::closure(meta.name);
        match pool.try_spawn(inner, function, meta, about, Demand::normal(false)) {
            (join, Ok(true)) => Ok(join),
            (_, Ok(false)) => Err(io::Error::other("blocking pool shutting down")),
            (_, Err(error)) => Err(error),
        }
    }
}
