//! `spawn`: a future becomes a task of the current runtime.

use std::future::Future;

use crate::core::{BOX_ABOVE, Id, JoinHandle};
use crate::scheduler::{self, with_current};
use crate::trace::{self, SpawnMeta};

/// Starts a task on the current runtime. It runs also if the handle is dropped.
///
/// Dropping the handle leaves the task to itself; awaiting it gives the output.
///
/// # Panics
///
/// Outside of a runtime.
///
/// ```
/// use blitz_io::{runtime::Runtime, task};
///
/// let sum = Runtime::new()?.block_on(async {
///     let one = task::spawn(async { 1 });
///     let two = task::spawn(async { 2 });
///     one.await.unwrap() + two.await.unwrap()
/// });
/// assert_eq!(sum, 3);
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let meta = SpawnMeta::unnamed(size_of::<F>());
    match with_current(|handle| spawn_named(handle, future, meta)) {
        Ok(join) => join,
        Err(error) => panic!("{error}"),
    }
}

/// The same on a runtime that is given.
#[inline]
#[track_caller]
pub(crate) fn spawn_on<F>(handle: &scheduler::Handle, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    spawn_named(handle, future, SpawnMeta::unnamed(size_of::<F>()))
}

/// The same for a task that may have a name.
#[inline]
#[track_caller]
pub(crate) fn spawn_named<F>(
    handle: &scheduler::Handle,
    future: F,
    meta: SpawnMeta<'_>,
) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let id = Id::next();
    if size_of::<F>() > BOX_ABOVE {
        handle.spawn(trace::task(Box::pin(future), "task", meta, id), id)
    } else {
        handle.spawn(trace::task(future, "task", meta, id), id)
    }
}

/// Starts a task on a `LocalRuntime`.
///
/// # Safety
///
/// `handle` is a `LocalRuntime`'s, and this is its thread.
pub(crate) unsafe fn spawn_local_on<F>(
    handle: &scheduler::Handle,
    future: F,
    meta: SpawnMeta<'_>,
) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let id = Id::next();
    if size_of::<F>() > BOX_ABOVE {
        let future = trace::task(Box::pin(future), "task", meta, id);
        // SAFETY: as the caller promises.
        unsafe { handle.spawn_local(future, id) }
    } else {
        let future = trace::task(future, "task", meta, id);
        // SAFETY: as above.
        unsafe { handle.spawn_local(future, id) }
    }
}
