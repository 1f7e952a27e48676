//! `Handle`: a reference to a runtime.

use std::future::Future;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};

use super::Id;
use crate::api::enter::{self, SetCurrent};
use crate::api::errors::TryCurrentError;
use crate::api::scheduler;
use crate::api::task::spawn::spawn_on;
use crate::api::trace::{spawn_meta, traced};
use crate::kernel::task::JoinHandle;
use blitz_io_core::debug_is_name;
use blitz_io_observe::About;
use blitz_io_observe::{Caller, Root};

/// A reference to a runtime: starts tasks on it from anywhere.
///
/// It can be cloned and sent to other threads. It does not keep the runtime running: after
/// the [`Runtime`](super::Runtime) has been dropped, spawned tasks are cancelled.
///
/// ```
/// use blitz_io::runtime::{Handle, Runtime};
///
/// let runtime = Runtime::new()?;
/// let handle: Handle = runtime.handle().clone();
/// let sum = std::thread::spawn(move || handle.block_on(async { 1 + 1 }));
/// assert_eq!(sum.join().unwrap(), 2);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Handle {
    pub(crate) inner: scheduler::Handle,
}

/// Makes a runtime the current one of a thread until it is dropped.
///
/// Returned by [`Handle::enter`] and [`Runtime::enter`](super::Runtime::enter).
#[must_use = "Creating and dropping a guard does nothing"]
pub struct EnterGuard<'a> {
    _guard: SetCurrent<scheduler::Handle>,
    _handle: PhantomData<&'a Handle>,
}

impl Handle {
    /// Makes this runtime the current one of this thread until the guard is dropped:
    /// [`spawn`](crate::task::spawn), timers and the like then use it.
    ///
    /// Guards must be dropped in the reverse order of their creation.
    ///
    /// # Panics
    ///
    /// Dropping a guard panics while a guard that was created later exists.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task};
    ///
    /// let runtime = Runtime::new()?;
    /// let _guard = runtime.handle().enter();
    /// let task = task::spawn(async { 7 });
    /// assert_eq!(runtime.block_on(task).unwrap(), 7);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        EnterGuard {
            _guard: enter::set_current(&self.inner),
            _handle: PhantomData,
        }
    }

    /// Returns the current runtime of this thread, which the thread works for or has
    /// [entered](Self::enter).
    ///
    /// # Panics
    ///
    /// When there is none. [`try_current`](Self::try_current) returns an error instead.
    ///
    /// ```
    /// use blitz_io::runtime::{Handle, Runtime};
    ///
    /// let runtime = Runtime::new()?;
    /// let task = runtime.block_on(async { Handle::current().spawn(async { 3 }) });
    /// assert_eq!(runtime.block_on(task).unwrap(), 3);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn current() -> Self {
        match Self::try_current() {
            Ok(handle) => handle,
            Err(error) => panic!("{error}"),
        }
    }

    /// Returns the current runtime of this thread.
    ///
    /// # Errors
    ///
    /// When there is none.
    ///
    /// ```
    /// use blitz_io::runtime::Handle;
    ///
    /// assert!(Handle::try_current().unwrap_err().is_missing_context());
    /// ```
    pub fn try_current() -> Result<Self, TryCurrentError> {
        scheduler::with_current(|inner| Self {
            inner: inner.clone(),
        })
    }

    /// Starts a task. It runs even if the handle is dropped.
    ///
    /// On a current-thread runtime it runs when a thread is in
    /// [`Runtime::block_on`](super::Runtime::block_on).
    ///
    /// ```
    /// use blitz_io::runtime::Runtime;
    ///
    /// let runtime = Runtime::new()?;
    /// let task = runtime.handle().spawn(async { "done" });
    /// assert_eq!(runtime.block_on(task).unwrap(), "done");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        spawn_on(&self.inner, future, spawn_meta!(F))
    }

    /// Runs `func` on a thread that may block.
    ///
    /// See [`task::spawn_blocking`](crate::task::spawn_blocking).
    ///
    /// ```
    /// use blitz_io::runtime::Runtime;
    ///
    /// let runtime = Runtime::new()?;
    /// let size = runtime.handle().spawn_blocking(|| std::env::args().count());
    /// assert!(runtime.block_on(size).unwrap() > 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, func: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.inner.pool().spawn_blocking(
            &self.inner,
            func,
            spawn_meta!(F),
            About::closure(None),
            false,
        )
    }

    /// Blocks the thread until `future` is ready, with this runtime as the current one.
    ///
    /// On a current-thread runtime this does **not** drive the runtime's tasks and
    /// timers: another thread has to be in
    /// [`Runtime::block_on`](super::Runtime::block_on) until the future is ready.
    ///
    /// # Panics
    ///
    /// When called from a task or within another `block_on`. When `future` panics.
    ///
    /// ```
    /// use blitz_io::runtime::Runtime;
    ///
    /// let runtime = Runtime::new()?;
    /// let handle = runtime.handle().clone();
    /// let sum = runtime.spawn_blocking(move || handle.block_on(async { 1 + 1 }));
    /// assert_eq!(runtime.block_on(sum).unwrap(), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let future = traced!(block_on(future));
        self.block_on_traced(Root::blocking(future, Caller::here()))
    }

    /// [`block_on`](Self::block_on) for a future that has its span.
    #[track_caller]
    pub(super) fn block_on_traced<F: Future>(&self, future: F) -> F::Output {
        enter::enter_runtime(&self.inner, true, |may_block| may_block.block_on(future))
    }

    /// Returns the kind of the runtime.
    ///
    /// ```
    /// use blitz_io::runtime::{Builder, RuntimeFlavor};
    ///
    /// let runtime = Builder::new_current_thread().build()?;
    /// assert_eq!(runtime.handle().runtime_flavor(), RuntimeFlavor::CurrentThread);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn runtime_flavor(&self) -> RuntimeFlavor {
        match self.inner {
            scheduler::Handle::CurrentThread(_) => RuntimeFlavor::CurrentThread,
            scheduler::Handle::MultiThread(_) => RuntimeFlavor::MultiThread,
        }
    }

    /// Returns an id that no other runtime of the process has.
    ///
    /// ```
    /// use blitz_io::runtime::Builder;
    ///
    /// let one = Builder::new_current_thread().build()?;
    /// let other = Builder::new_current_thread().build()?;
    /// assert_ne!(one.handle().id(), other.handle().id());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn id(&self) -> Id {
        self.inner.common().id
    }

    /// Returns the name that [`Builder::name`](super::Builder::name) was given.
    ///
    /// ```
    /// use blitz_io::runtime::Builder;
    ///
    /// let runtime = Builder::new_current_thread().name("disks").build()?;
    /// assert_eq!(runtime.handle().name(), Some("disks"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.inner.common().config.name.as_deref()
    }
}

/// The kind of a runtime.
///
/// Returned by [`Handle::runtime_flavor`].
///
/// ```
/// use blitz_io::runtime::{Builder, RuntimeFlavor};
///
/// let runtime = Builder::new_multi_thread().worker_threads(1).build()?;
/// assert_eq!(runtime.handle().runtime_flavor(), RuntimeFlavor::MultiThread);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuntimeFlavor {
    /// The thread in [`Runtime::block_on`](super::Runtime::block_on) runs the tasks.
    CurrentThread,
    /// Workers run them.
    MultiThread,
}

impl UnwindSafe for Handle {}

impl RefUnwindSafe for Handle {}

debug_is_name!(impl EnterGuard<'_>);
