//! Starts tasks of a runtime that are tracked.

use std::future::Future;

use crate::api::runtime::Handle;
use crate::api::task::{self, LocalSet};
use crate::kernel::task::JoinHandle;
use crate::kernel::task_tracker::TaskTracker;

impl TaskTracker {
    /// Starts a task on the current runtime, and counts it.
    ///
    /// # Panics
    ///
    /// Outside of a runtime.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task::TaskTracker};
    ///
    /// Runtime::new()?.block_on(async {
    ///     let tracker = TaskTracker::new();
    ///     let task = tracker.spawn(async { 1 });
    ///     tracker.close();
    ///     tracker.wait().await;
    ///     assert_eq!(task.await.unwrap(), 1);
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn spawn<F>(&self, task: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        task::spawn(self.track_future(task))
    }

    /// Starts a task on the runtime of `handle`, and counts it.
    #[inline]
    #[track_caller]
    pub fn spawn_on<F>(&self, task: F, handle: &Handle) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        handle.spawn(self.track_future(task))
    }

    /// Runs a function that may block on the blocking pool, and counts it.
    ///
    /// # Panics
    ///
    /// Outside of a runtime.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task::TaskTracker};
    ///
    /// Runtime::new()?.block_on(async {
    ///     let tracker = TaskTracker::new();
    ///     let sum = tracker.spawn_blocking(|| (1..=4).sum::<u32>());
    ///     tracker.close();
    ///     tracker.wait().await;
    ///     assert_eq!(sum.await.unwrap(), 10);
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn spawn_blocking<F, T>(&self, task: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        task::spawn_blocking(self.track_function(task))
    }

    /// Runs a function that may block on the blocking pool of the runtime of `handle`, and
    /// counts it.
    #[inline]
    #[track_caller]
    pub fn spawn_blocking_on<F, T>(&self, task: F, handle: &Handle) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        handle.spawn_blocking(self.track_function(task))
    }

    /// Starts a task on the current `LocalSet`, and counts it.
    ///
    /// # Panics
    ///
    /// Outside of a `LocalSet`.
    #[inline]
    #[track_caller]
    pub fn spawn_local<F>(&self, task: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        task::spawn_local(self.track_future(task))
    }

    /// Starts a task on `local_set`, and counts it.
    #[inline]
    #[track_caller]
    pub fn spawn_local_on<F>(&self, task: F, local_set: &LocalSet) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        local_set.spawn_local(self.track_future(task))
    }

    /// Returns a function that counts as a task until it has ended or is dropped.
    fn track_function<F, T>(&self, task: F) -> impl FnOnce() -> T + use<F, T>
    where
        F: FnOnce() -> T,
    {
        let token = self.token();
        move || {
            let result = task();
            drop(token);
            result
        }
    }
}
