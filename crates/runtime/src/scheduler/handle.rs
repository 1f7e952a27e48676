//! The two kinds of schedulers behind one handle.

use std::future::Future;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use super::{current_thread, multi_thread};
use crate::common::{Common, RuntimeRef};
use crate::context::{self, Context, Current, Flavor};
use crate::core::{Id, JoinHandle};
use crate::errors::TryCurrentError;
use crate::metrics::Counters;
use crate::pool::{PoolRef, Spawner};

/// A runtime's scheduler. It lives on, without running anything, after the runtime
/// has been shut down.
#[derive(Clone)]
pub(crate) enum Handle {
    CurrentThread(Arc<current_thread::Shared>),
    MultiThread(Arc<multi_thread::Shared>),
}

impl Handle {
    /// What both flavours have.
    #[inline]
    pub(crate) fn common(&self) -> &Common {
        match self {
            Self::CurrentThread(shared) => shared.common(),
            Self::MultiThread(shared) => shared.common(),
        }
    }

    /// Gets blocking work done.
    #[inline]
    pub(crate) fn pool(&self) -> &Spawner {
        match self {
            Self::CurrentThread(shared) => shared.pool(),
            Self::MultiThread(shared) => shared.pool(),
        }
    }

    /// Starts a task. If the runtime has been shut down, the future is dropped at once
    /// and the handle says "cancelled".
    #[inline]
    #[track_caller]
    pub(crate) fn spawn<F>(&self, future: F, id: Id) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        match self {
            Self::CurrentThread(shared) => shared.spawn(future, id),
            Self::MultiThread(shared) => shared.spawn(future, id),
        }
    }

    /// The same for a future that stays on this thread.
    ///
    /// # Safety
    ///
    /// This is a `LocalRuntime`'s scheduler, and the thread is its own.
    pub(crate) unsafe fn spawn_local<F>(&self, future: F, id: Id) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        match self {
            // SAFETY: as the caller promises.
            Self::CurrentThread(shared) => unsafe { shared.spawn_local(future, id) },
            Self::MultiThread(_) => unreachable!("a `LocalRuntime` has one thread"),
        }
    }

    /// Begins the end: no task can be spawned any more, and those that there are get
    /// cancelled. Does not wait for it.
    pub(crate) fn close(&self) {
        match self {
            Self::CurrentThread(shared) => shared.close(),
            Self::MultiThread(shared) => shared.close(),
        }
    }

    /// [`unpark`](Self::unpark) as a function, which does not keep the runtime alive.
    pub(crate) fn unparker(&self) -> Arc<dyn Fn(usize) + Send + Sync> {
        match self {
            Self::CurrentThread(shared) => {
                let shared = Arc::downgrade(shared);
                Arc::new(move |_| {
                    if let Some(shared) = shared.upgrade() {
                        shared.unpark();
                    }
                })
            }
            Self::MultiThread(shared) => {
                let shared = Arc::downgrade(shared);
                Arc::new(move |index| {
                    if let Some(shared) = shared.upgrade() {
                        shared.unpark(index);
                    }
                })
            }
        }
    }

    /// The number of the worker that this thread is, if it is one of this scheduler.
    #[cfg(feature = "io")]
    pub(crate) fn own_index(&self) -> Option<usize> {
        match self {
            Self::CurrentThread(_) => Some(0),
            Self::MultiThread(shared) => multi_thread::number_here(Arc::as_ptr(shared).cast()),
        }
    }

    /// How many workers there are.
    pub(crate) fn workers(&self) -> usize {
        match self {
            Self::CurrentThread(_) => 1,
            Self::MultiThread(shared) => shared.workers(),
        }
    }

    /// How many tasks have not ended yet.
    pub(crate) fn alive_tasks(&self) -> usize {
        match self {
            Self::CurrentThread(shared) => shared.alive_tasks(),
            Self::MultiThread(shared) => shared.alive_tasks(),
        }
    }

    /// How many tasks wait in the queue that no worker owns.
    pub(crate) fn injected(&self) -> usize {
        match self {
            Self::CurrentThread(shared) => shared.injected(),
            Self::MultiThread(shared) => shared.injected(),
        }
    }

    /// How many tasks wait in a worker's own queue.
    #[track_caller]
    pub(crate) fn queued(&self, worker: usize) -> usize {
        match self {
            Self::CurrentThread(shared) => shared.queued(worker),
            Self::MultiThread(shared) => shared.queued(worker),
        }
    }

    /// What a worker counts.
    #[track_caller]
    pub(crate) fn counters(&self, worker: usize) -> &Counters {
        match self {
            Self::CurrentThread(shared) => shared.counters(worker),
            Self::MultiThread(shared) => shared.counters(worker),
        }
    }
}

impl RuntimeRef for Handle {
    #[inline]
    fn as_current(&self) -> Current {
        match self {
            Self::CurrentThread(shared) => Current {
                flavor: Flavor::CurrentThread,
                shared: Arc::as_ptr(shared).cast(),
            },
            Self::MultiThread(shared) => Current {
                flavor: Flavor::MultiThread,
                shared: Arc::as_ptr(shared).cast(),
            },
        }
    }

    fn common(&self) -> &Common {
        self.common()
    }

    fn unpark(&self, index: usize) {
        match self {
            Self::CurrentThread(shared) => shared.unpark(),
            Self::MultiThread(shared) => shared.unpark(index),
        }
    }
}

impl PoolRef for Handle {
    fn pool(&self) -> &Spawner {
        self.pool()
    }
}

/// Gives the current runtime's scheduler to `with`, without counting a reference.
#[inline]
pub(crate) fn with_current<R>(with: impl FnOnce(&Handle) -> R) -> Result<R, TryCurrentError> {
    context::with(|context| {
        let Some(handle) = borrowed(context.current.get()) else {
            return Err(TryCurrentError::no_context());
        };
        let _look = Look::begin(context);
        Ok(with(&handle))
    })
}

/// The handle that `current` is the address of. It does not count as a reference.
#[inline]
fn borrowed(current: Current) -> Option<ManuallyDrop<Handle>> {
    let shared = current.shared;
    let handle = match current.flavor {
        Flavor::Absent => return None,
        Flavor::CurrentThread => {
            let shared = shared.cast::<current_thread::Shared>();
            // SAFETY: the address came from such an `Arc` (`as_current`), and the one that
            // put it into the context keeps that alive. It is never dropped here, so
            // the count stays right.
            Handle::CurrentThread(unsafe { Arc::from_raw(shared) })
        }
        Flavor::MultiThread => {
            let shared = shared.cast::<multi_thread::Shared>();
            // SAFETY: as above.
            Handle::MultiThread(unsafe { Arc::from_raw(shared) })
        }
    };
    Some(ManuallyDrop::new(handle))
}

/// A closure looks at the current runtime by reference.
struct Look<'a>(&'a Context);

impl<'a> Look<'a> {
    #[inline]
    fn begin(context: &'a Context) -> Self {
        context.looking.set(context.looking.get() + 1);
        Self(context)
    }
}

impl Drop for Look<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.looking.set(self.0.looking.get() - 1);
    }
}
