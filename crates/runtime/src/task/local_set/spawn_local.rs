//! `task::spawn_local`.

use std::future::Future;

use super::current::current;
use crate::core::JoinHandle;
use crate::scheduler::with_current;
use crate::task::spawn::spawn_local_on;
use crate::trace::{SpawnMeta, spawn_meta};
use blitz_sync::internals::ThreadId;

/// Starts a task on this thread, whose future need not be `Send`: in the current
/// [`LocalSet`](super::LocalSet), or on the current
/// [`LocalRuntime`](crate::runtime::LocalRuntime).
///
/// It runs when the set is polled next, also if the handle is dropped.
///
/// # Panics
///
/// Outside of both, or on another thread than the `LocalRuntime`'s.
///
/// ```
/// use std::rc::Rc;
/// use blitz_io::{runtime::Builder, task};
///
/// let runtime = Builder::new_current_thread().build().unwrap();
/// task::LocalSet::new().block_on(&runtime, async {
///     let three = Rc::new(3);
///     let task = task::spawn_local(async move { *three });
///     assert_eq!(task.await.unwrap(), 3);
/// });
/// ```
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    spawn_local_named(future, spawn_meta!(F))
}

/// The same, with what is known of the task.
#[track_caller]
pub(in crate::task) fn spawn_local_named<F>(future: F, meta: SpawnMeta<'_>) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let mut future = Some(future);
    let spawned = with_current(|handle| {
        let thread = handle.common().local_thread?;
        Some((thread == ThreadId::current()).then(|| {
            let future = future.take().expect("it is used once");
            // SAFETY: it is a `LocalRuntime`, and this is its thread.
            unsafe { spawn_local_on(handle, future, meta) }
        }))
    });
    match spawned {
        Ok(Some(Some(join))) => return join,
        Ok(Some(None)) => panic!(
            "Local tasks can only be spawned on a LocalRuntime from the thread the runtime was created on"
        ),
        Ok(None) | Err(_) => {}
    }
    match (current(), future) {
        (Some(local), Some(future)) => local.spawn(future, meta),
        _ => panic!(
            "`spawn_local` called from outside of a `task::LocalSet` or `runtime::LocalRuntime`"
        ),
    }
}
