//! `spawn_local`, and which set it adds to on this thread.
//!
//! The thread's context has the set's address, which owns a count of its `Rc`, since a
//! guard may live longer than the set, or be dropped out of order.

use std::fmt;
use std::future::Future;
use std::ptr;
use std::rc::Rc;

use blitz_io_core::ThreadId;

use super::Local;
use crate::api::scheduler::with_current;
use crate::api::task::spawn::spawn_local_on;
use crate::api::trace::{SpawnMeta, spawn_meta};
use crate::kernel::context;
use crate::kernel::task::JoinHandle;

/// Puts a set into the context, and returns the former one.
fn replace(local: Option<Rc<Local>>) -> Option<Rc<Local>> {
    let new = local.map_or(ptr::null(), Rc::into_raw);
    let old = context::with(|context| context.local_set.replace(new.cast()));
    let old = old.cast::<Local>();
    // SAFETY: a pointer that is not null came from `into_raw` above, on this thread, and
    // has been taken out of the context, where its count was.
    (!old.is_null()).then(|| unsafe { Rc::from_raw(old) })
}

/// The current set.
fn current() -> Option<Rc<Local>> {
    let local = replace(None)?;
    replace(Some(local.clone()));
    Some(local)
}

/// Makes a set the current one until it is dropped.
pub(super) struct Enter(Option<Rc<Local>>);

impl Enter {
    #[inline]
    pub(super) fn new(local: &Rc<Local>) -> Self {
        Self(replace(Some(local.clone())))
    }
}

impl Drop for Enter {
    fn drop(&mut self) {
        drop(replace(self.0.take()));
    }
}

/// Makes a [`LocalSet`](super::LocalSet) the target of [`spawn_local`], until it is
/// dropped.
///
/// Returned by [`LocalSet::enter`](super::LocalSet::enter).
///
/// ```
/// use blitz_io::task::{LocalSet, spawn_local};
///
/// let set = LocalSet::new();
/// let _guard = set.enter();
/// spawn_local(async {});
/// ```
#[must_use = "the set is left at once"]
pub struct LocalEnterGuard(#[allow(dead_code, reason = "its drop counts")] Enter);

impl LocalEnterGuard {
    pub(super) fn new(local: Rc<Local>) -> Self {
        Self(Enter(replace(Some(local))))
    }
}

impl fmt::Debug for LocalEnterGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalEnterGuard").finish()
    }
}

/// Starts a task on this thread, in the current [`LocalSet`](super::LocalSet) or on the
/// current [`LocalRuntime`](crate::runtime::LocalRuntime).
///
/// The future need not be `Send`. It runs when the set is polled next, even if the handle
/// is dropped.
///
/// # Panics
///
/// Outside of both, or on a thread other than the `LocalRuntime`'s.
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

/// [`spawn_local`] with the task's metadata.
#[track_caller]
pub(in crate::api::task) fn spawn_local_named<F>(
    future: F,
    meta: SpawnMeta<'_>,
) -> JoinHandle<F::Output>
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
