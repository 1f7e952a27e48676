//! `spawn`: a future becomes a task of the current runtime.

use std::future::Future;

use crate::api::common::Common;
use crate::api::scheduler::{self, with_current};
use crate::api::trace::{SpawnMeta, spawn_meta, traced};
use crate::kernel::task::{BOX_ABOVE, Id, JoinHandle};

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
    let meta = spawn_meta!(F);
    // SAFETY: the future may go to other threads.
    match with_current(|handle| unsafe { spawn_local_on(handle, future, meta) }) {
        Ok(join) => join,
        Err(error) => panic!("{error}"),
    }
}

/// Starts a task on the runtime of `handle`.
#[inline]
pub(crate) fn spawn_on<F>(
    handle: &scheduler::Handle,
    future: F,
    meta: SpawnMeta<'_>,
) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    // SAFETY: the future may go to other threads.
    unsafe { spawn_local_on(handle, future, meta) }
}

/// Starts a task whose future need not be `Send`.
///
/// # Safety
///
/// If the future is not `Send`, `handle` is a `LocalRuntime`'s, and this is its thread.
#[inline]
pub(crate) unsafe fn spawn_local_on<F>(
    handle: &scheduler::Handle,
    future: F,
    meta: SpawnMeta<'_>,
) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let id = new_task(handle.common(), meta);
    // SAFETY: if the future is not `Send`, the handle is a `LocalRuntime`'s, and this is its thread.
    unsafe {
        if const { size_of::<F>() > BOX_ABOVE } {
            spawn_as_it_is(handle, Box::pin(future), meta, id)
        } else {
            spawn_as_it_is(handle, future, meta, id)
        }
    }
}

/// Starts a task whose future need not be moved to a box.
///
/// # Safety
///
/// See [`spawn_local_on`].
#[inline]
unsafe fn spawn_as_it_is<F>(
    handle: &scheduler::Handle,
    future: F,
    meta: SpawnMeta<'_>,
    id: Id,
) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let future = traced!(task(future, "task", meta, id));
    let future = super::inspected::inspected(future, id, meta, handle.common().id, false);
    // SAFETY: if the future is not `Send`, the handle is a `LocalRuntime`'s, and this is its thread.
    unsafe { handle.spawn(future, id) }
}

/// Returns the id of a task that is about to be spawned.
#[inline]
pub(crate) fn new_task(common: &Common, meta: SpawnMeta<'_>) -> Id {
    let id = Id::next();
    if let Some(stalls) = &common.stalls {
        stalls.spawned(id, meta);
    }
    id
}
