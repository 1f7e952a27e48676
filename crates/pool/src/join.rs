//! Two closures, potentially in parallel.
//!
//! The second closure is *forked*: a pointer to it is put into the worker's deque, with two
//! plain stores, and the first one runs. If nobody has stolen the fork by then, the worker
//! takes it back, again without a read-modify-write, and runs it as an ordinary call. Only a
//! fork that is old enough to be worth a theft is stolen at all, so a fine recursion costs
//! about what the calls cost.

use std::mem::ManuallyDrop;
use std::panic::{self, AssertUnwindSafe};

use crate::context::FnContext;
use crate::in_worker::in_worker;
use crate::job::StackJob;
use crate::latch::{JoinLatch, Probe};
use crate::worker::Worker;

/// Runs both closures, potentially in parallel, and returns both results.
///
/// `oper_b` may be stolen by another worker while this one runs `oper_a`; if it was not, it
/// runs here afterwards. While a worker waits for a stolen closure, it runs only what
/// descends from it: a lock that is held across `join` can be taken by none of that unless
/// it could be without a pool.
///
/// Called in a thread of no pool, it runs in the global pool, and blocks this thread.
///
/// # Panics
///
/// If one of the closures panics, after both have ended. If both panic, the first one's
/// panic goes on.
///
/// # Examples
///
/// ```
/// use blitz_io::pool;
/// fn sum(numbers: &[u64]) -> u64 {
///     if numbers.len() < 100 {
///         return numbers.iter().sum();
///     }
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let (left, right) = pool::join(|| sum(left), || sum(right));
///     left + right
/// }
/// let numbers: Vec<u64> = (0..10_000).collect();
/// assert_eq!(sum(&numbers), 49_995_000);
/// ```
#[inline]
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    in_worker(
        #[inline(always)]
        |worker, injected| join_on(worker, injected, |_, _| oper_a(), |_, _| oper_b()),
    )
}

/// The same as [`join`], with a context that tells each closure whether it runs in another
/// thread than the one that called.
///
/// # Panics
///
/// As [`join`].
///
/// # Examples
///
/// ```
/// use blitz_io::pool;
/// let (a, b) = pool::join_context(|_| 1, |context| if context.migrated() { 3 } else { 2 });
/// assert!(a < b);
/// ```
#[inline]
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    in_worker(
        #[inline(always)]
        |worker, injected| {
            let a = |_: &Worker, migrated| oper_a(FnContext::new(migrated));
            let b = |_: &Worker, migrated| oper_b(FnContext::new(migrated));
            join_on(worker, injected, a, b)
        },
    )
}

/// `injected` is what the first closure is told.
#[inline(always)]
pub(crate) fn join_on<A, B, RA, RB>(worker: &Worker, injected: bool, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(&Worker, bool) -> RA + Send,
    B: FnOnce(&Worker, bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    // A fork that comes back, as nearly all do, leaves nothing to be dropped.
    let job = ManuallyDrop::new(StackJob::new(b, JoinLatch::new(worker.sleeper())));
    let Some(position) = worker.fork(job.as_ref()) else {
        return in_turn(worker, injected, a, &job);
    };
    let unwinding = WaitOnUnwind {
        worker,
        job: &job,
        position,
    };
    let result_a = a(worker, injected);
    std::mem::forget(unwinding);
    if worker.take_back(position) || get_back(worker, &job, position) {
        // SAFETY: taken back, so nobody else has it.
        (result_a, unsafe { job.run_inline(worker, injected) })
    } else {
        (result_a, ManuallyDrop::into_inner(job).into_result())
    }
}

/// There is no room for a fork: a recursion as deep as this is not short of parallel work.
#[cold]
#[inline(never)]
fn in_turn<A, B, RA, RB>(
    worker: &Worker,
    injected: bool,
    a: A,
    job: &StackJob<JoinLatch, B, RB>,
) -> (RA, RB)
where
    A: FnOnce(&Worker, bool) -> RA + Send,
    B: FnOnce(&Worker, bool) -> RB + Send,
    RB: Send,
{
    let a = panic::catch_unwind(AssertUnwindSafe(|| a(worker, injected)));
    // SAFETY: it was not forked.
    let b = unsafe { job.run_inline(worker, injected) };
    match a {
        Ok(a) => (a, b),
        Err(payload) => panic::resume_unwind(payload),
    }
}

/// Takes the fork back when more was forked since, or waits until its thief has run it.
/// Returns whether it came back.
#[cold]
#[inline(never)]
fn get_back<F, R>(worker: &Worker, job: &StackJob<JoinLatch, F, R>, position: usize) -> bool
where
    F: FnOnce(&Worker, bool) -> R + Send,
    R: Send,
{
    while let Some(local) = worker.take_local(position) {
        if local == job.as_ref() {
            return true;
        }
        // SAFETY: taken from the deque, so nobody else has it.
        unsafe { local.execute() };
        if job.latch.is_set() {
            return false;
        }
    }
    worker.wait_for(&job.latch, job.as_ref().tag(), position);
    false
}

/// If the first closure panics, the second one runs all the same, and not beyond its frame.
struct WaitOnUnwind<'a, F, R>
where
    F: FnOnce(&Worker, bool) -> R + Send,
    R: Send,
{
    worker: &'a Worker,
    job: &'a StackJob<JoinLatch, F, R>,
    position: usize,
}

impl<F, R> Drop for WaitOnUnwind<'_, F, R>
where
    F: FnOnce(&Worker, bool) -> R + Send,
    R: Send,
{
    // Inline, so that the guard's fields need not be in memory.
    #[inline(always)]
    fn drop(&mut self) {
        finish(self.worker, self.job, self.position);
    }
}

#[cold]
#[inline(never)]
fn finish<F, R>(worker: &Worker, job: &StackJob<JoinLatch, F, R>, position: usize)
where
    F: FnOnce(&Worker, bool) -> R + Send,
    R: Send,
{
    if worker.take_back(position) || get_back(worker, job, position) {
        // SAFETY: taken back, so nobody else has it; its panic is kept in the job.
        unsafe { job.as_ref().execute() };
    }
    job.discard_result();
}
