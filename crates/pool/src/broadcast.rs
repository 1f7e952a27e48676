//! A closure that runs once in every worker.

use std::marker::PhantomData;
use std::sync::Arc;

use blitz_io_core::debug_fields;
use blitz_io_observe::{Caller, decisions};

use crate::in_worker::current;
use crate::job::ArcJob;
use crate::registry::Registry;
use crate::scope::{Scope, in_place, run_scope};
use crate::simulation;
use crate::slots::Slots;
use crate::worker::Worker;

/// Runs `op` in every worker of the current pool, or the global one, and returns the
/// results in the order of the workers' indices.
///
/// # Panics
///
/// Panics if `op` panics in any worker, after all have ended.
///
/// # Examples
///
/// ```
/// use blitz_io::pool;
/// let indices = pool::broadcast(|context| context.index());
/// assert_eq!(indices, (0..pool::current_num_threads()).collect::<Vec<_>>());
/// ```
#[track_caller]
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    broadcast_in(&current(), op)
}

/// Spawns a job that no thread waits for and that every worker of the pool runs once.
///
/// # Examples
///
/// ```
/// use blitz_io::pool;
/// let (sender, receiver) = std::sync::mpsc::channel();
/// pool::spawn_broadcast(move |context| sender.send(context.index()).unwrap());
/// assert_eq!(receiver.into_iter().count(), pool::current_num_threads());
/// ```
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    spawn_broadcast_in(&current(), op);
}

/// Tells a broadcast closure which worker runs it.
pub struct BroadcastContext<'a> {
    worker: &'a Worker,
    /// Neither `Send` nor `Sync`.
    marker: PhantomData<&'a mut dyn Fn()>,
}

impl<'a> BroadcastContext<'a> {
    pub(crate) fn new(worker: &'a Worker) -> Self {
        Self {
            worker,
            marker: PhantomData,
        }
    }

    /// Returns the index of the worker, below [`num_threads`](Self::num_threads).
    #[inline]
    pub fn index(&self) -> usize {
        self.worker.index()
    }

    /// Returns how many workers run the closure.
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.worker.registry().num_threads()
    }
}

debug_fields! {
    impl BroadcastContext<'_>, |this| {
        index: this.index(),
        num_threads: this.num_threads(),
        pool_id: this.worker.registry().id(),
    }
}

#[track_caller]
pub(crate) fn broadcast_in<OP, R>(registry: &Arc<Registry>, op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    let results = Slots::new(registry.num_threads());
    in_place(
        Some(registry),
        run_scope,
        Caller::here(),
        |scope: &Scope<'_>| {
            scope.spawn_broadcast(|_, context| {
                let index = context.index();
                let result = op(context);
                // SAFETY: each worker has its own slot.
                unsafe { results.set(index, result) };
            });
        },
    );
    results.into_iter().collect()
}

pub(crate) fn spawn_broadcast_in<OP>(registry: &Arc<Registry>, op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    if decisions::is_on() {
        let op = Arc::new(op);
        for index in 0..registry.num_threads() {
            let op = op.clone();
            simulation::detach(registry, Some(index), move |worker| {
                op(BroadcastContext::new(worker));
            });
        }
        return;
    }
    let keeper = registry.clone();
    let job = ArcJob::new(0, move |worker: &Worker| {
        keeper.catch_unwind(|| op(BroadcastContext::new(worker)));
        keeper.release();
    });
    let jobs = (0..registry.num_threads()).map(|_| {
        registry.retain();
        // SAFETY: it borrows nothing, and the pool runs all its jobs before it ends.
        unsafe { ArcJob::as_ref(&job) }
    });
    registry.inject_each(jobs);
}
