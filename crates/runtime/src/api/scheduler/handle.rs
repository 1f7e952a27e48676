//! The two kinds of schedulers behind one handle.

use std::future::Future;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use blitz_io_core::OnDrop;

use super::reference::{self, Base};
use super::{current_thread, multi_thread};
use crate::api::common::{Common, RuntimeRef};
use crate::api::errors::TryCurrentError;
use crate::api::metrics::Counters;
use crate::api::pool::{PoolRef, Spawner};
use crate::kernel::context::{self, Current, Flavor};
#[cfg(feature = "sim")]
use crate::kernel::task::AbortHandle;
use crate::kernel::task::{Id, JoinHandle, Notified};

/// A runtime's scheduler. It lives on, without running anything, after the runtime
/// has been shut down.
#[derive(Clone, Debug)]
pub(crate) enum Handle {
    CurrentThread(Arc<current_thread::Shared>),
    MultiThread(Arc<multi_thread::Shared>),
}

/// Evaluates one expression for either kind of scheduler.
macro_rules! either {
    ($handle:expr, $shared:ident => $result:expr) => {
        match $handle {
            Handle::CurrentThread($shared) => $result,
            Handle::MultiThread($shared) => $result,
        }
    };
}

impl Handle {
    /// Returns the common part of both flavours.
    #[inline]
    pub(crate) fn base(&self) -> &Base {
        either!(self, shared => &shared.base)
    }

    #[inline]
    pub(crate) fn common(&self) -> &Common {
        &self.base().common
    }

    /// Gets blocking work done.
    #[inline]
    pub(crate) fn pool(&self) -> &Spawner {
        &self.base().pool
    }

    /// Starts a task. If the runtime has been shut down, the future is dropped at once
    /// and the handle says "cancelled".
    ///
    /// # Safety
    ///
    /// If the future is not `Send`, this is a `LocalRuntime`'s scheduler, and the thread is its
    /// own.
    #[inline]
    pub(crate) unsafe fn spawn<F>(&self, future: F, id: Id) -> JoinHandle<F::Output>
    where
        F: Future<Output: 'static> + 'static,
    {
        // SAFETY: for a future that is not `Send`, the scheduler is a `LocalRuntime`'s, on its thread.
        either!(self, shared => unsafe { reference::spawn(shared, future, id) })
    }

    /// Starts a task that stays on the thread of its first poll.
    ///
    /// # Safety
    ///
    /// The future may be sent to another thread before its first poll. It may be dropped on
    /// any thread.
    #[inline]
    pub(crate) unsafe fn spawn_pinned<F>(&self, future: F, id: Id) -> JoinHandle<F::Output>
    where
        F: Future<Output: 'static> + 'static,
    {
        // SAFETY: the schedulers' `Pinned` sees to it that only one thread polls the future.
        unsafe {
            match self {
                Self::CurrentThread(shared) => {
                    reference::spawn_as(shared, future, id, current_thread::Pinned::new)
                }
                Self::MultiThread(shared) => {
                    reference::spawn_as(shared, future, id, multi_thread::Pinned::new)
                }
            }
        }
    }

    /// Begins the end of a runtime with workers: no task can be spawned any more, and those
    /// that there are get cancelled. Does not wait for it. A current-thread runtime's tasks end
    /// when it is dropped, on the thread that does it.
    pub(crate) fn close(&self) {
        if let Self::MultiThread(shared) = self {
            shared.close();
        }
    }

    /// [`unpark`](Self::unpark) as a function, which does not keep the runtime alive.
    pub(crate) fn unparker(&self) -> Arc<dyn Fn(usize) + Send + Sync> {
        either!(self, shared => {
            let shared = Arc::downgrade(shared);
            Arc::new(move |index| {
                if let Some(shared) = shared.upgrade() {
                    shared.unpark(index);
                }
            })
        })
    }

    /// Returns the number of the worker that this thread is, if it is one of this scheduler.
    #[cfg(feature = "io")]
    pub(crate) fn own_index(&self) -> Option<usize> {
        match self {
            Self::CurrentThread(_) => Some(0),
            Self::MultiThread(shared) => shared.own_index(),
        }
    }

    /// Prepares for a source of events that this thread is about to register.
    #[cfg(feature = "io")]
    pub(crate) fn source_expected(&self) {
        if let Self::MultiThread(shared) = self {
            shared.source_expected();
        }
    }

    /// Returns the number of tasks in the queue that no worker owns.
    pub(crate) fn injected(&self) -> usize {
        either!(self, shared => shared.injected())
    }

    /// Returns the number of tasks in a worker's own queue.
    #[track_caller]
    pub(crate) fn queued(&self, worker: usize) -> usize {
        either!(self, shared => shared.queued(worker))
    }

    /// Returns the counters of a worker.
    #[track_caller]
    pub(crate) fn counters(&self, worker: usize) -> &Counters {
        either!(self, shared => shared.counters(worker))
    }
}

impl RuntimeRef for Handle {
    #[inline]
    fn as_current(&self) -> Current {
        let flavor = match self {
            Self::CurrentThread(_) => Flavor::CurrentThread,
            Self::MultiThread(_) => Flavor::MultiThread,
        };
        let shared = either!(self, shared => Arc::as_ptr(shared).cast());
        Current { flavor, shared }
    }

    fn common(&self) -> &Common {
        self.common()
    }

    fn unpark(&self, index: usize) {
        either!(self, shared => shared.unpark(index));
    }
}

impl PoolRef for Handle {
    fn pool(&self) -> &Spawner {
        self.pool()
    }

    fn queue_job(&self, task: Notified) -> Result<(), Notified> {
        match self {
            Self::CurrentThread(shared) => shared.queue_job(task),
            Self::MultiThread(_) => Err(task),
        }
    }
}

/// Gives the current runtime's scheduler to `with`, without counting a reference.
#[inline]
pub(crate) fn with_current<R>(with: impl FnOnce(&Handle) -> R) -> Result<R, TryCurrentError> {
    context::with(|context| {
        let Some(handle) = borrowed(context.current.get()) else {
            return Err(TryCurrentError::no_context());
        };
        context.looking.set(context.looking.get() + 1);
        let _look = OnDrop(|| context.looking.set(context.looking.get() - 1));
        Ok(with(&handle))
    })
}

/// Aborts the tasks of the current runtime whose numbers `selects` accepts. Only for simulations, where one thread runs
/// all tasks and spawns them.
#[cfg(feature = "sim")]
pub fn abort_tasks(selects: &dyn Fn(u64) -> bool) {
    let tasks = with_current(|handle| match handle {
        Handle::CurrentThread(shared) => shared.select_tasks(selects),
        Handle::MultiThread(_) => Vec::new(),
    });
    tasks.iter().flatten().for_each(AbortHandle::cancel);
}

/// Returns the handle that `current` is the address of. It does not count as a reference.
#[inline]
fn borrowed(current: Current) -> Option<ManuallyDrop<Handle>> {
    let shared = current.shared;
    let handle = match current.flavor {
        Flavor::Absent => return None,
        Flavor::CurrentThread => {
            let shared = shared.cast::<current_thread::Shared>();
            // SAFETY: the address came from such an `Arc` (`as_current`), and the code
            // that put it into the context keeps that alive. The handle is never dropped,
            // so the count stays right.
            Handle::CurrentThread(unsafe { Arc::from_raw(shared) })
        }
        Flavor::MultiThread => {
            let shared = shared.cast::<multi_thread::Shared>();
            // SAFETY: the address came from such an `Arc` (`as_current`), which the code
            // that put it into the context keeps alive; the handle is never dropped.
            Handle::MultiThread(unsafe { Arc::from_raw(shared) })
        }
    };
    Some(ManuallyDrop::new(handle))
}
