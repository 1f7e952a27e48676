//! [`Builder::enter_tokio`], for programs with both runtimes.

use super::builder::Builder;

impl Builder {
    /// Keeps a Tokio runtime entered wherever code of this runtime runs: in tasks, in
    /// `block_on`, and in the closures of `spawn_blocking`.
    ///
    /// Libraries that call `tokio::spawn`, `tokio::time` or Tokio's sockets can then be
    /// used in tasks of this runtime. Tokio's runtime runs the tasks that they spawn, and
    /// drives their timers and sockets. So it has to be kept alive and, if it has one
    /// thread only, has to be in a `block_on` of its own. A wake-up between two runtimes
    /// costs more than one within a runtime. `tokio::task::spawn_local` and
    /// `tokio::task::block_in_place` still need a thread of Tokio's.
    ///
    /// Neither runtime shuts the other one down.
    /// [`Handle::enter`](crate::runtime::Handle::enter) does not enter Tokio's.
    ///
    /// ```
    /// use blitz_io::runtime::Builder;
    /// use std::time::Duration;
    ///
    /// let tokio = tokio::runtime::Runtime::new()?;
    /// let runtime = Builder::new_multi_thread()
    ///     .enable_all()
    ///     .enter_tokio(tokio.handle().clone())
    ///     .build()?;
    /// runtime.block_on(async {
    ///     let task = blitz_io::spawn(async {
    ///         tokio::time::sleep(Duration::from_millis(1)).await;
    ///         tokio::spawn(async { 6 * 7 }).await.unwrap()
    ///     });
    ///     assert_eq!(task.await.unwrap(), 42);
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enter_tokio(&mut self, handle: tokio::runtime::Handle) -> &mut Self {
        self.config.tokio = Some(handle);
        self
    }
}
