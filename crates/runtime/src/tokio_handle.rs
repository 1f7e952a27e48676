//! A runtime of Tokio's that is entered wherever code of this one runs, so that libraries that
//! call Tokio by name find theirs.
//!
//! Tokio keeps its current runtime in a thread local, as this crate does, and each leaves the
//! other's alone. The threads of the pool, which are also those of the workers, enter it once and
//! for all that they do; `block_on` enters it on the caller's thread while it lasts.

use crate::common::Common;

#[cfg(not(feature = "tokio"))]
pub(crate) use without::{Entered, enter};

/// Takes the entering back when dropped.
#[cfg(feature = "tokio")]
pub(crate) type Entered<'a> = Option<tokio::runtime::EnterGuard<'a>>;

/// Makes the builder's runtime of Tokio's, if there is one, Tokio's current one on this thread.
#[cfg(feature = "tokio")]
pub(crate) fn enter(common: &Common) -> Entered<'_> {
    let handle = common.config.tokio.as_ref()?;
    Some(handle.enter())
}

#[cfg(not(feature = "tokio"))]
mod without {
    use super::Common;
    use std::marker::PhantomData;

    pub(crate) type Entered<'a> = PhantomData<&'a ()>;

    pub(crate) fn enter(_: &Common) -> Entered<'_> {
        PhantomData
    }
}

#[cfg(feature = "tokio")]
impl crate::runtime::Builder {
    /// Keeps a runtime of Tokio's entered wherever code of this runtime runs: in tasks, in
    /// `block_on`, and in the closures of `spawn_blocking`.
    ///
    /// Libraries that call `tokio::spawn`, `tokio::time` or Tokio's sockets can then be used in
    /// tasks of this runtime. What they spawn and wait for is run and driven by Tokio's runtime,
    /// which has to be kept alive and, if it has one thread only, has to be in a `block_on` of its
    /// own; between two runtimes each wake-up costs more than within one. `tokio::task::spawn_local`
    /// and `tokio::task::block_in_place` still need a thread of Tokio's.
    ///
    /// Neither runtime shuts the other one down. [`Handle::enter`](crate::runtime::Handle::enter)
    /// does not enter Tokio's.
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
