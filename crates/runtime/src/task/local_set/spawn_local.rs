//! `task::spawn_local`.

use std::future::Future;

use super::current::current;
use crate::task::JoinHandle;
use crate::trace::SpawnMeta;

/// Starts a task on this thread, whose future need not be `Send`: in the current
/// [`LocalSet`](super::LocalSet).
///
/// It runs when the set is polled next, also if nobody awaits the handle.
///
/// # Panics
///
/// Outside of a set.
///
/// ```
/// use std::rc::Rc;
/// use blitz_runtime::{runtime::Builder, task};
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
    spawn_local_named(future, SpawnMeta::unnamed(size_of::<F>()))
}

/// The same, with what is known of the task.
#[track_caller]
pub(in crate::task) fn spawn_local_named<F>(future: F, meta: SpawnMeta<'_>) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    match current() {
        Some(local) => local.spawn(future, meta),
        None => panic!(
            "`spawn_local` called from outside of a `task::LocalSet` or `runtime::LocalRuntime`"
        ),
    }
}
