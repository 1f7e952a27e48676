//! Pools beside the global one.

use std::ptr;
use std::sync::Arc;
use std::thread;

use blitz_io_core::debug_fields;
use blitz_io_observe::{Caller, decisions};

use crate::broadcast::{BroadcastContext, broadcast_in, spawn_broadcast_in};
use crate::builder::{ThreadBuilder, ThreadPoolBuilder, ThreadSpawn};
use crate::error::ThreadPoolBuildError;
use crate::global::{global, init_global};
use crate::join::join;
use crate::registry::Registry;
use crate::scope::{Scope, ScopeFifo, in_place, run_scope, run_scope_fifo};
use crate::simulation;
use crate::spawn::{spawn_fifo_in, spawn_in};
use crate::worker::{Worker, Yield};

/// A fork-join pool, separate from the global one.
///
/// [`ThreadPoolBuilder::build`] makes one. Dropping it ends its threads as soon as they
/// have nothing left to do. The drop does not wait for them, so a pool can be dropped in
/// one of its own workers.
///
/// # Examples
///
/// ```
/// use blitz_io::pool;
/// let two = pool::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
/// let sum = two.install(|| {
///     let (a, b) = pool::join(|| 1, || 2);
///     a + b
/// });
/// assert_eq!(sum, 3);
/// ```
#[repr(transparent)] // See `with_current`.
pub struct ThreadPool {
    pub(crate) registry: Arc<Registry>,
}

/// Calls `f` with the pool of this thread, or the global one.
pub(crate) fn with_current<R>(f: impl FnOnce(&ThreadPool) -> R) -> R {
    let registry = match Worker::current() {
        Some(worker) => worker.registry(),
        None => global(),
    };
    // SAFETY: a pool has the layout of its only field.
    f(unsafe { &*ptr::from_ref(registry).cast() })
}

impl ThreadPool {
    /// Runs `op` in a worker of this pool and returns its result. Forks of `op` run in this pool.
    /// The calling thread blocks until then; if it is a worker of another pool, it runs jobs of
    /// that pool while it waits.
    ///
    /// # Panics
    ///
    /// Panics if `op` panics.
    #[track_caller]
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.registry.in_worker(Caller::here(), |_, _| op())
    }

    /// Runs `op` in every worker; see [`broadcast`](crate::broadcast()).
    ///
    /// # Panics
    ///
    /// Panics if `op` panics in any worker, after all have ended.
    #[track_caller]
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast_in(&self.registry, op)
    }

    /// Returns how many workers the pool has.
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.registry.num_threads()
    }

    /// Returns the index of this thread in this pool, or `None` if it is not one of its
    /// workers.
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        self.current().map(Worker::index)
    }

    /// Returns whether this worker has forks that have not begun yet, or `None` in other
    /// threads.
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.current().map(has_local_jobs)
    }

    fn current(&self) -> Option<&Worker> {
        Worker::current_in(&self.registry)
    }

    /// Runs both closures in this pool; see [`join`](crate::join()).
    ///
    /// # Panics
    ///
    /// Panics if one of them panics, after both have ended.
    #[track_caller]
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| join(oper_a, oper_b))
    }

    /// Runs `op` with a scope in this pool; see [`scope`](crate::scope()).
    ///
    /// # Panics
    ///
    /// Panics if `op` or a job panics, after all have ended.
    #[track_caller]
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        let caller = Caller::here();
        let run = |worker: &Worker, _| run_scope(Some(worker), worker.registry(), caller, op);
        self.registry.in_worker(caller, run)
    }

    /// Runs `op` with a scope in this pool; see [`scope_fifo`](crate::scope_fifo()).
    ///
    /// # Panics
    ///
    /// Panics if `op` or a job panics, after all have ended.
    #[track_caller]
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        let caller = Caller::here();
        let run = |worker: &Worker, _| run_scope_fifo(Some(worker), worker.registry(), caller, op);
        self.registry.in_worker(caller, run)
    }

    /// Runs `op` in this thread with a scope whose jobs run in this pool; see
    /// [`in_place_scope`](crate::in_place_scope()).
    ///
    /// # Panics
    ///
    /// Panics if `op` or a job panics, after all have ended.
    #[track_caller]
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        in_place(Some(&self.registry), run_scope, Caller::here(), op)
    }

    /// Runs `op` in this thread with a scope whose jobs run in this pool; see
    /// [`in_place_scope_fifo`](crate::in_place_scope_fifo()).
    ///
    /// # Panics
    ///
    /// Panics if `op` or a job panics, after all have ended.
    #[track_caller]
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        in_place(Some(&self.registry), run_scope_fifo, Caller::here(), op)
    }

    /// Spawns a detached job in this pool; see [`spawn`](crate::spawn()).
    pub fn spawn<OP: FnOnce() + Send + 'static>(&self, op: OP) {
        spawn_in(&self.registry, op);
    }

    /// Spawns a detached job in this pool; see [`spawn_fifo`](crate::spawn_fifo()).
    pub fn spawn_fifo<OP: FnOnce() + Send + 'static>(&self, op: OP) {
        spawn_fifo_in(&self.registry, op);
    }

    /// Spawns a detached job in every worker; see
    /// [`spawn_broadcast`](crate::spawn_broadcast()).
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        spawn_broadcast_in(&self.registry, op);
    }

    /// Runs one job of the pool in this worker, or returns `None` in other threads. See
    /// [`yield_now`](crate::yield_now()).
    pub fn yield_now(&self) -> Option<Yield> {
        self.current().map(|worker| run_one(worker, false))
    }

    /// Runs one of this worker's own jobs, or returns `None` in other threads. See
    /// [`yield_local`](crate::yield_local()).
    pub fn yield_local(&self) -> Option<Yield> {
        self.current().map(|worker| run_one(worker, true))
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.registry.release();
    }
}

debug_fields! {
    impl ThreadPool, |this| {
        num_threads: this.current_num_threads(),
        id: this.registry.id(),
    }
}

impl ThreadPoolBuilder {
    /// Makes a pool for as long as `with_pool` runs, and runs its threads with `wrapper`.
    /// The threads may borrow, and have ended when this returns.
    ///
    /// `wrapper` must call [`ThreadBuilder::run`].
    ///
    /// # Errors
    ///
    /// As [`build`](ThreadPoolBuilder::build).
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        thread::scope(|scope| {
            let wrapper = &wrapper;
            let pool = self
                .spawn_handler(|thread| {
                    let builder = thread.std_builder();
                    // In a simulation it stays idle.
                    decisions::with_system(|| {
                        builder.spawn_scoped(scope, move || wrapper(thread))
                    })?;
                    Ok(())
                })
                .build()?;
            Ok(with_pool(&pool))
        })
    }
}

#[allow(private_bounds, reason = "sealed: only two kinds there are")]
impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Makes the pool.
    ///
    /// # Errors
    ///
    /// Returns an error if:
    ///
    /// - a thread cannot be started (those that were started end again),
    /// - the current thread is to be used and is a worker already, or
    /// - [`pin`](Self::pin) names a core that this process may not use.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        self.start().map(|registry| ThreadPool { registry })
    }

    /// Makes the global pool, which is used by all threads that are in no other pool.
    /// Returns when its threads run.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build). Also returns an error if there is a global pool already:
    /// the first use of one makes it.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        init_global(self)?.wait_until_started();
        Ok(())
    }
}

fn has_local_jobs(worker: &Worker) -> bool {
    if decisions::is_on() {
        return simulation::has_jobs(worker);
    }
    worker.has_local_jobs()
}

/// Runs one job on this worker, or only one of the worker's own.
fn run_one(worker: &Worker, is_local: bool) -> Yield {
    if decisions::is_on() {
        return simulation::run_one(worker, is_local);
    }
    if is_local {
        worker.yield_local()
    } else {
        worker.yield_now()
    }
}

/// Returns the index of this thread in its pool, or `None` if it is not a worker.
#[inline]
pub fn current_thread_index() -> Option<usize> {
    Worker::current().map(Worker::index)
}

/// Returns whether this worker has forks that have not begun yet, or `None` in a thread of
/// no pool.
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    Worker::current().map(has_local_jobs)
}

/// Returns how many workers the current pool, or else the global one, has.
pub fn current_num_threads() -> usize {
    with_current(ThreadPool::current_num_threads)
}

/// Runs one job of any kind of this worker's pool, or returns `None` in a thread of no pool. For
/// a worker that polls something in a loop.
///
/// # Examples
///
/// ```
/// use blitz_io::pool;
/// assert_eq!(pool::yield_now(), None);
/// ```
pub fn yield_now() -> Option<Yield> {
    Worker::current().map(|worker| run_one(worker, false))
}

/// Runs one job that this worker has forked itself, or returns `None` in a thread of no
/// pool.
///
/// # Examples
///
/// ```
/// use blitz_io::pool;
/// assert_eq!(pool::yield_local(), None);
/// ```
pub fn yield_local() -> Option<Yield> {
    Worker::current().map(|worker| run_one(worker, true))
}
