//! Members of a set that stay on their thread.

use std::future::Future;

use super::super::LocalSet;
use super::JoinSet;
use crate::core::AbortHandle;

impl<T: 'static> JoinSet<T> {
    /// Starts a task on the current `LocalSet`.
    ///
    /// # Panics
    ///
    /// Outside of a `LocalSet`.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task::{JoinSet, LocalSet}};
    /// use std::rc::Rc;
    ///
    /// let runtime = Runtime::new()?;
    /// let local = LocalSet::new();
    /// let number = Rc::new(1);
    /// local.block_on(&runtime, async {
    ///     let mut set = JoinSet::new();
    ///     set.spawn_local(async move { *number });
    ///     assert_eq!(set.join_all().await, [1]);
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T>,
        F: 'static,
    {
        self.insert(crate::task::spawn_local(task))
    }

    /// Starts a task on that `LocalSet`, which need not be running.
    #[track_caller]
    pub fn spawn_local_on<F>(&mut self, task: F, local_set: &LocalSet) -> AbortHandle
    where
        F: Future<Output = T>,
        F: 'static,
    {
        self.insert(local_set.spawn_local(task))
    }
}
