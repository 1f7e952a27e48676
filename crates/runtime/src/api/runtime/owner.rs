//! `Runtime`: owns a scheduler, its threads and its timers.

use std::fmt;
use std::future::Future;
use std::io;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::pin;
use std::time::Duration;

use super::Builder;
use super::handle::{EnterGuard, Handle};
use super::inspected;
use super::metrics::RuntimeMetrics;
use crate::api::enter;
use crate::api::scheduler::current_thread::CurrentThread;
use crate::api::trace::traced;
use crate::kernel::task::JoinHandle;
use blitz_io_observe::{Caller, Root};

/// A scheduler for tasks, with timers and a pool of threads for blocking work.
///
/// # Shutdown
///
/// When a runtime is dropped, each of its tasks is dropped, at the latest when it yields
/// next: on the thread that drops the runtime (current-thread), or on a worker. Their
/// handles say that they were cancelled. Then the drop waits for the workers and for
/// blocking work that has begun; [`shutdown_timeout`](Self::shutdown_timeout) and
/// [`shutdown_background`](Self::shutdown_background) do not wait as long.
///
/// # Panics
///
/// Dropping a runtime within a task or within `block_on` panics, since it would block the
/// thread.
///
/// ```
/// use blitz_io::runtime::Runtime;
///
/// let runtime = Runtime::new()?;
/// let answer = runtime.block_on(async {
///     let task = blitz_io::task::spawn(async { 42 });
///     task.await.unwrap()
/// });
/// assert_eq!(answer, 42);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Runtime {
    scheduler: Scheduler,
    handle: Handle,
}

/// The part of the scheduler that the runtime owns.
pub(super) enum Scheduler {
    CurrentThread(CurrentThread),
    MultiThread,
}

impl Runtime {
    pub(super) fn from_parts(scheduler: Scheduler, handle: Handle) -> Self {
        Self { scheduler, handle }
    }

    /// Creates a multi-thread runtime with a worker for each processor, and with timers.
    ///
    /// # Errors
    ///
    /// When the system refuses a thread.
    ///
    /// ```
    /// use blitz_io::runtime::Runtime;
    ///
    /// let runtime = Runtime::new()?;
    /// assert_eq!(runtime.block_on(async { 1 + 1 }), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new() -> io::Result<Self> {
        Builder::new_multi_thread().enable_all().build()
    }

    /// Returns the handle of the runtime, which can be cloned and sent to other threads.
    ///
    /// ```
    /// use blitz_io::runtime::Runtime;
    /// use std::thread;
    ///
    /// let runtime = Runtime::new()?;
    /// let handle = runtime.handle().clone();
    /// let thread = thread::spawn(move || handle.block_on(async { "from afar" }));
    /// assert_eq!(thread.join().unwrap(), "from afar");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Starts a task: see [`Handle::spawn`].
    ///
    /// ```
    /// use blitz_io::runtime::Runtime;
    ///
    /// let runtime = Runtime::new()?;
    /// let task = runtime.spawn(async { 6 * 7 });
    /// assert_eq!(runtime.block_on(task).unwrap(), 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle.spawn(future)
    }

    /// Runs `func` on a thread where it may block: see [`Handle::spawn_blocking`].
    ///
    /// ```
    /// use blitz_io::runtime::Runtime;
    ///
    /// let runtime = Runtime::new()?;
    /// let sum = runtime.spawn_blocking(|| (1..=100).sum::<u32>());
    /// assert_eq!(runtime.block_on(sum).unwrap(), 5050);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, func: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.handle.spawn_blocking(func)
    }

    /// Blocks the thread until `future` is ready. Tasks, timers and other resources that it
    /// starts belong to this runtime.
    ///
    /// A current-thread runtime runs its tasks on this thread until then. If several
    /// threads call this at once, one of them runs the tasks. Another one takes over when
    /// that thread's future is ready.
    ///
    /// # Panics
    ///
    /// When called within a task or another `block_on`. When `future` panics.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task};
    ///
    /// let runtime = Runtime::new()?;
    /// let answer = runtime.block_on(async { task::spawn(async { 42 }).await.unwrap() });
    /// assert_eq!(answer, 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        // Here, so that the panic message has the caller's location.
        enter::assert_not_nested();
        // Within the record, whose waker the future would count otherwise.
        let future = traced!(block_on(future));
        let future = Root::blocking(future, Caller::here());
        enter::with_entered(&self.handle.inner, || {
            // Here, so that the future is dropped with the runtime still the current one, and a
            // large one is not moved any more.
            let future = pin!(future);
            match &self.scheduler {
                Scheduler::CurrentThread(scheduler) => scheduler.block_on(future),
                Scheduler::MultiThread => self.handle.block_on_traced(future),
            }
        })
    }

    /// Makes this runtime the current one of this thread until the guard is dropped:
    /// see [`Handle::enter`].
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task};
    ///
    /// let runtime = Runtime::new()?;
    /// let _guard = runtime.enter();
    /// let task = task::spawn(async { "here" });
    /// assert_eq!(runtime.block_on(task).unwrap(), "here");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    /// Shuts the runtime down, and waits at most `duration` for its threads. Threads that
    /// are still busy then go on, and end when their work returns.
    ///
    /// ```
    /// use blitz_io::runtime::Runtime;
    /// use std::{thread, time::Duration};
    ///
    /// let runtime = Runtime::new()?;
    /// runtime.spawn_blocking(|| thread::sleep(Duration::from_secs(10)));
    /// runtime.shutdown_timeout(Duration::from_millis(10));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn shutdown_timeout(self, duration: Duration) {
        inspected::ends(&self.handle);
        let inner = &self.handle.inner;
        inner.close();
        inner.pool().shutdown(inner, Some(duration));
    }

    /// Shuts the runtime down without waiting for its threads. A task may call this.
    ///
    /// Blocking work that has begun continues: its threads live as long as it takes.
    ///
    /// ```
    /// use blitz_io::runtime::Runtime;
    ///
    /// let inner = Runtime::new()?;
    /// let outer = Runtime::new()?;
    /// // To drop it here would block a task, which panics.
    /// outer.block_on(async move { inner.shutdown_background() });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn shutdown_background(self) {
        self.shutdown_timeout(Duration::ZERO);
    }

    /// Makes it like a new one, if nothing is left of its use: see `current_thread/restart.rs`.
    #[cfg(feature = "sim")]
    pub(super) fn restart(&self) -> bool {
        match &self.scheduler {
            Scheduler::CurrentThread(scheduler) => scheduler.restart(),
            Scheduler::MultiThread => false,
        }
    }

    /// Shows the runtime under a name.
    pub(super) fn debug_as<'a, 'b>(
        &self,
        f: &'a mut fmt::Formatter<'b>,
        name: &str,
    ) -> fmt::DebugStruct<'a, 'b> {
        let mut shown = f.debug_struct(name);
        shown
            .field("scheduler", &self.scheduler)
            .field("handle", &self.handle)
            .field("blocking_pool", &format_args!("BlockingPool"));
        shown
    }

    /// Returns the runtime's metrics.
    ///
    /// ```
    /// use blitz_io::runtime::Builder;
    ///
    /// let runtime = Builder::new_multi_thread().worker_threads(2).build()?;
    /// assert_eq!(runtime.metrics().num_workers(), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn metrics(&self) -> RuntimeMetrics {
        self.handle.metrics()
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        inspected::ends(&self.handle);
        let inner = &self.handle.inner;
        match &mut self.scheduler {
            Scheduler::CurrentThread(scheduler) => {
                enter::with_entered(inner, || scheduler.shut_down());
            }
            Scheduler::MultiThread => inner.close(),
        }
        inner.pool().shutdown(inner, None);
    }
}

impl UnwindSafe for Runtime {}

impl RefUnwindSafe for Runtime {}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.debug_as(f, "Runtime").finish()
    }
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CurrentThread(scheduler) => {
                f.debug_tuple("CurrentThread").field(scheduler).finish()
            }
            Self::MultiThread => f
                .debug_tuple("MultiThread")
                .field(&format_args!("MultiThread"))
                .finish(),
        }
    }
}
