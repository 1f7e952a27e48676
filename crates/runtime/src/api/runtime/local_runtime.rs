//! `LocalRuntime`: a runtime of one thread, whose tasks need not be `Send`.
//!
//! It is a current-thread runtime that does not leave its thread. Only its owner can drive
//! or drop it, so all of its tasks are polled and dropped on the thread that made it. The
//! runtime knows that thread's id; a task that is not `Send` can only be started on that
//! thread.

use std::fmt;
use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;

use super::builder::Kind;
use super::{Builder, EnterGuard, Handle, Runtime, RuntimeMetrics};
use crate::api::task::spawn::spawn_local_on;
use crate::api::trace::spawn_meta;
use crate::kernel::task::JoinHandle;

/// A runtime that stays on its thread.
///
/// [`spawn_local`](crate::task::spawn_local) works everywhere in it, without a
/// [`LocalSet`](crate::task::LocalSet). Other threads may start tasks that are `Send`
/// through its [`Handle`].
///
/// It ends as a current-thread [`Runtime`] does.
///
/// ```
/// use std::rc::Rc;
/// use blitz_io::{runtime::LocalRuntime, task};
///
/// let runtime = LocalRuntime::new()?;
/// let five = Rc::new(5);
/// let sum = runtime.block_on(async move {
///     let same = five.clone();
///     let task = task::spawn_local(async move { *same });
///     task.await.unwrap() + *five
/// });
/// assert_eq!(sum, 10);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct LocalRuntime {
    runtime: Runtime,
    _stays_here: PhantomData<*mut u8>,
}

/// Settings of a [`LocalRuntime`] besides those of a [`Builder`]. There are none yet.
#[derive(Default, Debug)]
#[non_exhaustive]
pub struct LocalOptions {
    _phantom: PhantomData<*mut u8>,
}

impl Builder {
    /// Builds a runtime that stays on this thread, and whose tasks need not be `Send`.
    ///
    /// # Errors
    ///
    /// None at present.
    ///
    /// # Panics
    ///
    /// When the builder is one for a multi-thread runtime.
    ///
    /// ```
    /// use blitz_io::runtime::{Builder, LocalOptions};
    ///
    /// let runtime = Builder::new_current_thread().build_local(LocalOptions::default())?;
    /// assert_eq!(runtime.block_on(runtime.spawn_local(async { 1 })).unwrap(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[allow(clippy::needless_pass_by_value, reason = "as Tokio has it")]
    pub fn build_local(&mut self, options: LocalOptions) -> io::Result<LocalRuntime> {
        let _ = options;
        assert!(
            self.kind == Kind::CurrentThread,
            "multi_thread is not supported for LocalRuntime"
        );
        self.is_local = true;
        let runtime = self.build();
        self.is_local = false;
        runtime.map(LocalRuntime::from_runtime)
    }
}

impl LocalRuntime {
    /// `runtime` is a current-thread one that knows this thread's id and has no other
    /// owner.
    fn from_runtime(runtime: Runtime) -> Self {
        Self {
            runtime,
            _stays_here: PhantomData,
        }
    }

    /// Creates a runtime with timers.
    ///
    /// # Errors
    ///
    /// None at present.
    pub fn new() -> io::Result<Self> {
        Builder::new_current_thread()
            .enable_all()
            .build_local(LocalOptions::default())
    }

    /// Returns the handle of the runtime, which can be cloned and sent to other threads.
    ///
    /// ```
    /// use std::thread;
    /// use blitz_io::runtime::LocalRuntime;
    ///
    /// let runtime = LocalRuntime::new()?;
    /// let handle = runtime.handle().clone();
    /// let task = thread::spawn(move || handle.spawn(async { "sent" })).join().unwrap();
    /// assert_eq!(runtime.block_on(task).unwrap(), "sent");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn handle(&self) -> &Handle {
        self.runtime.handle()
    }

    /// Starts a task whose future need not be `Send`.
    ///
    /// It runs while the thread is in [`block_on`](Self::block_on).
    ///
    /// ```
    /// use std::rc::Rc;
    /// use blitz_io::runtime::LocalRuntime;
    ///
    /// let runtime = LocalRuntime::new()?;
    /// let one = Rc::new(1);
    /// let task = runtime.spawn_local(async move { *one });
    /// assert_eq!(runtime.block_on(task).unwrap(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let meta = spawn_meta!(F);
        // SAFETY: a `LocalRuntime` is on its own thread.
        unsafe { spawn_local_on(&self.handle().inner, future, meta) }
    }

    /// Runs `func` on a thread where it may block: see [`Handle::spawn_blocking`].
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, func: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.runtime.spawn_blocking(func)
    }

    /// Blocks the thread until `future` is ready, and runs the tasks until then: see
    /// [`Runtime::block_on`].
    ///
    /// # Panics
    ///
    /// When called within a task or another `block_on`. When `future` panics.
    ///
    /// ```
    /// use std::rc::Rc;
    /// use blitz_io::runtime::LocalRuntime;
    ///
    /// let runtime = LocalRuntime::new()?;
    /// let one = Rc::new(1);
    /// assert_eq!(runtime.block_on(async move { *one }), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Makes this runtime the current one of this thread until the guard is dropped:
    /// see [`Handle::enter`].
    pub fn enter(&self) -> EnterGuard<'_> {
        self.runtime.enter()
    }

    /// Shuts the runtime down, and waits at most `duration` for its threads: see
    /// [`Runtime::shutdown_timeout`].
    pub fn shutdown_timeout(self, duration: Duration) {
        self.runtime.shutdown_timeout(duration);
    }

    /// Shuts the runtime down without waiting for its threads: see
    /// [`Runtime::shutdown_background`].
    pub fn shutdown_background(self) {
        self.runtime.shutdown_background();
    }

    /// Returns the runtime's metrics.
    #[must_use]
    pub fn metrics(&self) -> RuntimeMetrics {
        self.runtime.metrics()
    }
}

/// Makes a runtime with a paused clock like a new one, for the next run of a simulation. Returns `false` if something is
/// left of its use: a task, a timer, a thread, a handle or a waker.
#[doc(hidden)]
#[cfg(feature = "sim")]
#[must_use]
pub fn restart(runtime: &LocalRuntime) -> bool {
    runtime.runtime.restart()
}

impl UnwindSafe for LocalRuntime {}

impl RefUnwindSafe for LocalRuntime {}

impl fmt::Debug for LocalRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.runtime
            .debug_as(f, "LocalRuntime")
            .field("_phantom", &self._stays_here)
            .finish()
    }
}
