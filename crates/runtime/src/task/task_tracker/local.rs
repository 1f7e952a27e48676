//! Tracked tasks that stay on their thread.

use std::future::Future;

use super::TaskTracker;
use crate::core::JoinHandle;
use crate::task::{self, LocalSet};

impl TaskTracker {
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

    /// Starts a task on that `LocalSet`, and counts it.
    #[inline]
    #[track_caller]
    pub fn spawn_local_on<F>(&self, task: F, local_set: &LocalSet) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        local_set.spawn_local(self.track_future(task))
    }
}
