//! Jobs that borrow from the frame that waits for all of them.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use blitz_io_core::Lock;
use blitz_io_observe::trace::{AwaitsJob, job_queued};
use blitz_io_observe::{Caller, decisions};

use crate::broadcast::BroadcastContext;
use crate::global::global;
use crate::in_worker::in_worker;
use crate::injector::Injector;
use crate::job::{ArcJob, HeapJob};
use crate::job_ref::JobRef;
use crate::latch::CountLatch;
use crate::registry::Registry;
use crate::simulation;
use crate::spawn::push_fifo;
use crate::worker::Worker;

/// Invariant in `'scope`, as jobs get a reference to their scope.
type Invariant<'scope> = PhantomData<Box<dyn FnOnce(&Scope<'scope>) + Send + Sync + 'scope>>;

/// A fork-join scope, in which any number of jobs can be spawned. See [`scope`].
pub struct Scope<'scope> {
    base: Base,
    marker: Invariant<'scope>,
}

/// A fork-join scope whose jobs begin, in each thread, in the order in which that thread
/// spawned them. See [`scope_fifo`].
pub struct ScopeFifo<'scope> {
    base: Base,
    /// A queue for each worker.
    fifos: Box<[Injector]>,
    marker: Invariant<'scope>,
}

/// The state that both kinds of scope share.
struct Base {
    registry: Arc<Registry>,
    latch: CountLatch,
    panic: Lock<Option<Box<dyn Any + Send>>>,
}

/// A scope's address, for jobs that run while the scope waits for them.
struct Pointer<T>(*const T);

// SAFETY: a `Pointer` gives shared access to its target, and no more.
unsafe impl<T: Sync> Send for Pointer<T> {}
// SAFETY: a `Pointer` gives shared access to its target, and no more.
unsafe impl<T: Sync> Sync for Pointer<T> {}

impl<T> Pointer<T> {
    /// # Safety
    ///
    /// The job that calls this is counted by its scope.
    unsafe fn get<'a>(&self) -> &'a T {
        // SAFETY: by this function's contract, the scope counts the job that calls this, and waits for it.
        unsafe { &*self.0 }
    }
}

impl Base {
    fn new(owner: Option<&Worker>, registry: &Arc<Registry>) -> Self {
        Self {
            registry: registry.clone(),
            latch: CountLatch::new(owner.map(|worker| (worker.index(), &worker.registry().sleep))),
            panic: Lock::new(None),
        }
    }

    fn tag(&self) -> usize {
        self as *const Self as usize
    }

    /// Runs the body of the scope, then waits for its jobs. `caller`: the line of the program that has made the scope.
    fn complete<R>(&self, owner: Option<&Worker>, caller: Caller, body: impl FnOnce() -> R) -> R {
        let below = owner.map_or(0, Worker::base);
        // SAFETY: the body is the job that the latch began with.
        let result = unsafe { Self::run(self, body) };
        if decisions::is_on() {
            simulation::finish(&self.registry, self.tag());
        }
        {
            let _waits = AwaitsJob::new(self.tag());
            self.latch.wait(caller, |latch| {
                let owner = owner.expect("a worker waits for its own scope");
                owner.wait_for(latch, self.tag(), below, caller);
            });
        }
        if let Some(payload) = self.panic.lock().take() {
            panic::resume_unwind(payload);
        }
        result.expect("a body without a result has panicked")
    }

    /// Runs one job, keeps its panic, and counts its end.
    ///
    /// # Safety
    ///
    /// The job is counted by `this`.
    unsafe fn run<R>(this: *const Self, job: impl FnOnce() -> R) -> Option<R> {
        let result = panic::catch_unwind(AssertUnwindSafe(job));
        // SAFETY: the scope waits until the last job has ended, which is the last line.
        unsafe {
            let result = result.map_err(|payload| {
                (*this).panic.lock().get_or_insert(payload);
            });
            CountLatch::end(&raw const (*this).latch);
            result.ok()
        }
    }

    /// # Safety
    ///
    /// The borrows of `job` outlive the scope.
    unsafe fn heap_job<S: Sync>(&self, scope: &S, job: impl FnOnce(&S) + Send) -> JobRef {
        self.latch.begin();
        let (base, scope) = (Pointer(self), Pointer(scope));
        // SAFETY: the scope waits for the job.
        unsafe {
            HeapJob::into_ref(self.tag(), move |_: &Worker| {
                let (base, scope) = (base, scope);
                Self::run(base.0, || job(scope.get()));
            })
        }
    }

    /// # Safety
    ///
    /// The borrows of `job` outlive the scope.
    unsafe fn broadcast<S, F>(&self, scope: &S, job: F)
    where
        S: Sync,
        F: Fn(&S, BroadcastContext<'_>) + Send + Sync,
    {
        let (base, scope) = (Pointer(self), Pointer(scope));
        let job = ArcJob::new(self.tag(), move |worker: &Worker| {
            let (base, scope) = (&base, &scope);
            // SAFETY: the scope waits for the job.
            unsafe { Self::run(base.0, || job(scope.get(), BroadcastContext::new(worker))) };
        });
        job_queued(self.tag());
        let jobs = (0..self.registry.num_threads()).map(|_| {
            self.latch.begin();
            // SAFETY: the scope waits for the job.
            unsafe { ArcJob::as_ref(&job) }
        });
        if decisions::is_on() {
            let queue =
                |(index, job)| simulation::queue(&self.registry, self.tag(), Some(index), job);
            return jobs.enumerate().for_each(queue);
        }
        self.registry.inject_each(jobs);
    }

    fn fmt(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name)
            .field("pool_id", &self.registry.id())
            .field("jobs", &self.latch.count())
            .finish_non_exhaustive()
    }
}

impl<'scope> Scope<'scope> {
    /// Spawns a job into the scope. It may begin at once in another thread, and it has
    /// ended when the scope ends. It gets the scope, to spawn more jobs.
    ///
    /// If it panics, the panic is resumed in the thread that made the scope, after all jobs
    /// have ended.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::pool;
    /// let mut numbers = [1, 2, 3];
    /// pool::scope(|scope| {
    ///     for number in &mut numbers {
    ///         scope.spawn(move |_| *number *= 2);
    ///     }
    /// });
    /// assert_eq!(numbers, [2, 4, 6]);
    /// ```
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        // SAFETY: `'scope` outlives the scope, which waits for the job.
        let job = unsafe { self.base.heap_job(self, body) };
        self.base.registry.inject_or_push(self.base.tag(), job);
        self.base.latch.wake_for_job();
    }

    /// Spawns a job into the scope that every worker of the pool runs once.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::pool;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let workers = AtomicUsize::new(0);
    /// pool::scope(|scope| {
    ///     scope.spawn_broadcast(|_, _| {
    ///         workers.fetch_add(1, Ordering::Relaxed);
    ///     });
    /// });
    /// assert_eq!(workers.into_inner(), pool::current_num_threads());
    /// ```
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        // SAFETY: `'scope` outlives the scope, which waits for the jobs.
        unsafe { self.base.broadcast(self, body) };
    }
}

impl<'scope> ScopeFifo<'scope> {
    /// Spawns a job into the scope; see [`Scope::spawn`]. The jobs that one thread has
    /// spawned begin in that order.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::pool;
    /// pool::scope_fifo(|scope| {
    ///     scope.spawn_fifo(|scope| {
    ///         scope.spawn_fifo(|_| {});
    ///     });
    /// });
    /// ```
    pub fn spawn_fifo<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        // SAFETY: `'scope` outlives the scope, which waits for the job.
        let job = unsafe { self.base.heap_job(self, body) };
        match Worker::current_in(&self.base.registry) {
            Some(worker) => push_fifo(worker, &self.fifos[worker.index()], self.base.tag(), job),
            None => self.base.registry.inject_or_push(self.base.tag(), job),
        }
        self.base.latch.wake_for_job();
    }

    /// Spawns a job into the scope that every worker of the pool runs once.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::pool;
    /// pool::scope_fifo(|scope| {
    ///     scope.spawn_broadcast(|_, context| assert!(context.index() < context.num_threads()));
    /// });
    /// ```
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        // SAFETY: `'scope` outlives the scope, which waits for the jobs.
        unsafe { self.base.broadcast(self, body) };
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.base.fmt("Scope", f)
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.base.fmt("ScopeFifo", f)
    }
}

/// Runs `op` with a scope, in the pool, and returns after all jobs of the scope have ended.
///
/// Jobs may borrow data that outlives the call. Jobs that are not stolen run last in, first out.
///
/// # Panics
///
/// Panics if `op` or one of the jobs panics, after all have ended.
///
/// # Examples
///
/// ```
/// use blitz_io::pool;
/// let (mut a, mut b) = (0, 0);
/// pool::scope(|scope| {
///     scope.spawn(|_| a = 1);
///     b = 2;
/// });
/// assert_eq!((a, b), (1, 2));
/// ```
#[track_caller]
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    let caller = Caller::here();
    in_worker(caller, |worker, _| {
        run_scope(Some(worker), worker.registry(), caller, op)
    })
}

/// Does the same as [`scope`], with jobs that begin first in, first out.
///
/// # Panics
///
/// Panics as [`scope`] does.
///
/// # Examples
///
/// ```
/// use blitz_io::pool;
/// assert_eq!(pool::scope_fifo(|_| 7), 7);
/// ```
#[track_caller]
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    let caller = Caller::here();
    in_worker(caller, |worker, _| {
        run_scope_fifo(Some(worker), worker.registry(), caller, op)
    })
}

/// Does the same as [`scope`], but `op` runs in the calling thread, whether that is a
/// worker or not. Only the jobs run in the pool.
///
/// # Panics
///
/// Panics as [`scope`] does.
///
/// # Examples
///
/// ```
/// use blitz_io::pool;
/// let here = std::thread::current().id();
/// pool::in_place_scope(|_| assert_eq!(std::thread::current().id(), here));
/// ```
#[track_caller]
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    in_place(None, run_scope, Caller::here(), op)
}

/// Does the same as [`in_place_scope`], with jobs that begin first in, first out.
///
/// # Panics
///
/// Panics as [`scope`] does.
///
/// # Examples
///
/// ```
/// use blitz_io::pool;
/// pool::in_place_scope_fifo(|scope| scope.spawn_fifo(|_| {}));
/// ```
#[track_caller]
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    in_place(None, run_scope_fifo, Caller::here(), op)
}

pub(crate) fn run_scope<'scope, R>(
    owner: Option<&Worker>,
    registry: &Arc<Registry>,
    caller: Caller,
    op: impl FnOnce(&Scope<'scope>) -> R,
) -> R {
    let scope = Scope {
        base: Base::new(owner, registry),
        marker: PhantomData,
    };
    scope.base.complete(owner, caller, || op(&scope))
}

pub(crate) fn run_scope_fifo<'scope, R>(
    owner: Option<&Worker>,
    registry: &Arc<Registry>,
    caller: Caller,
    op: impl FnOnce(&ScopeFifo<'scope>) -> R,
) -> R {
    let scope = ScopeFifo {
        base: Base::new(owner, registry),
        fifos: (0..registry.num_threads())
            .map(|_| Injector::new())
            .collect(),
        marker: PhantomData,
    };
    scope.base.complete(owner, caller, || op(&scope))
}

/// Runs a scope in this thread, with its jobs in `registry`, or else in the pool of this
/// thread, or else in the global pool.
pub(crate) fn in_place<OP, R>(
    registry: Option<&Arc<Registry>>,
    run: impl FnOnce(Option<&Worker>, &Arc<Registry>, Caller, OP) -> R,
    caller: Caller,
    op: OP,
) -> R {
    let worker = Worker::current();
    match (registry, worker) {
        (Some(registry), _) => run(worker, registry, caller, op),
        (None, Some(worker)) => run(Some(worker), worker.registry(), caller, op),
        (None, None) => {
            let registry = global();
            run(Worker::current_in(registry), registry, caller, op)
        }
    }
}
