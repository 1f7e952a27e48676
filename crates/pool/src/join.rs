//! Two closures, potentially in parallel.
//!
//! The second closure is *forked*: a pointer to it is put into the worker's deque, with two
//! plain stores, and the first one runs. If nobody has stolen the fork by then, the worker
//! takes it back, again without a read-modify-write, and runs it as an ordinary call. Only a
//! fork that is old enough to be worth a theft is stolen at all.
//!
//! A recursion that is known to be [fine](crate::grain), and has forks for others already,
//! does not fork: it costs what the calls cost.

use std::mem::ManuallyDrop;
use std::panic::{self, AssertUnwindSafe};
use std::ptr;

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
    join_here(|_, _| oper_a(), |_, _| oper_b())
}

/// Does the same as [`join`], with a context that tells each closure whether it runs in
/// another thread than the one that called.
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
    join_here(
        |_, migrated| oper_a(FnContext::new(migrated)),
        |_, migrated| oper_b(FnContext::new(migrated)),
    )
}

#[inline(always)]
fn join_here<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(&Worker, bool) -> RA + Send,
    B: FnOnce(&Worker, bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    // In memory once, and passed on by reference: a copy of a closure's captures, from the
    // registers' width to a vector's, would cost more than all the rest.
    let (a, b) = (ManuallyDrop::new(a), ManuallyDrop::new(b));
    // SAFETY: each is taken by exactly one of the two.
    unsafe {
        match Worker::current() {
            Some(worker) => join_taking(worker, false, &a, &b),
            None => join_from_outside(&a, &b),
        }
    }
}

/// # Safety
///
/// Takes both closures.
#[cold]
#[inline(never)]
unsafe fn join_from_outside<A, B, RA, RB>(a: &ManuallyDrop<A>, b: &ManuallyDrop<B>) -> (RA, RB)
where
    A: FnOnce(&Worker, bool) -> RA + Send,
    B: FnOnce(&Worker, bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    // SAFETY: as the caller promises.
    let (a, b) = unsafe { (take(a), take(b)) };
    in_worker(move |worker, injected| join_on(worker, injected, a, b))
}

/// # Safety
///
/// Once for each closure.
#[inline(always)]
unsafe fn take<F>(from: &ManuallyDrop<F>) -> F {
    // SAFETY: as the caller promises.
    unsafe { ptr::read(&**from) }
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
    let (a, b) = (ManuallyDrop::new(a), ManuallyDrop::new(b));
    // SAFETY: it takes them once.
    unsafe { join_taking(worker, injected, &a, &b) }
}

/// # Safety
///
/// Takes both closures.
#[inline(always)]
unsafe fn join_taking<A, B, RA, RB>(
    worker: &Worker,
    injected: bool,
    a: &ManuallyDrop<A>,
    b: &ManuallyDrop<B>,
) -> (RA, RB)
where
    A: FnOnce(&Worker, bool) -> RA + Send,
    B: FnOnce(&Worker, bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let site = StackJob::<JoinLatch, B, RB>::site();
    // SAFETY: each way takes them once.
    unsafe {
        if !worker.runs_in_turn(site) {
            return fork_taking(worker, injected, a, b);
        }
        let result_a = run_first(worker, injected, a, b);
        worker.joined(site);
        (result_a, take(b)(worker, injected))
    }
}

/// Takes the first closure and runs it. If it panics, the second one runs here too.
///
/// # Safety
///
/// Takes the first closure, and the second one if it panics.
#[inline(always)]
unsafe fn run_first<A, B, RA, RB>(
    worker: &Worker,
    injected: bool,
    a: &ManuallyDrop<A>,
    b: &ManuallyDrop<B>,
) -> RA
where
    A: FnOnce(&Worker, bool) -> RA,
    B: FnOnce(&Worker, bool) -> RB,
{
    let unwinding = RunOnUnwind { worker, b };
    // SAFETY: as the caller promises.
    let result = unsafe { take(a)(worker, injected) };
    std::mem::forget(unwinding);
    result
}

/// Forks the second closure and runs the first one. Not inline, so that the frames of a fine
/// recursion, which seldom comes here, stay small.
///
/// # Safety
///
/// Takes both closures.
#[inline(never)]
unsafe fn fork_taking<A, B, RA, RB>(
    worker: &Worker,
    injected: bool,
    a: &ManuallyDrop<A>,
    b: &ManuallyDrop<B>,
) -> (RA, RB)
where
    A: FnOnce(&Worker, bool) -> RA + Send,
    B: FnOnce(&Worker, bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    // A fork that comes back, as nearly all do, leaves nothing to be dropped.
    // SAFETY: as the caller promises; the job has it now.
    let job = unsafe { StackJob::new(take(b), JoinLatch::new(worker.sleeper())) };
    let job = ManuallyDrop::new(job);
    let Some(position) = worker.fork(job.as_ref()) else {
        // A recursion as deep as this is not short of parallel work.
        let b = ManuallyDrop::new(|worker: &Worker, injected| {
            // SAFETY: it was not forked.
            unsafe { job.run_inline(worker, injected) }
        });
        // SAFETY: as the caller promises; `b` is taken after it, or by it.
        return unsafe {
            (
                run_first(worker, injected, a, &b),
                take(&b)(worker, injected),
            )
        };
    };
    let unwinding = WaitOnUnwind {
        worker,
        job: &job,
        position,
    };
    // SAFETY: as the caller promises.
    let result_a = unsafe { take(a)(worker, injected) };
    std::mem::forget(unwinding);
    if worker.take_back(position) || get_back(worker, &job, position) {
        worker.joined(StackJob::<JoinLatch, B, RB>::site());
        // SAFETY: taken back, so nobody else has it.
        (result_a, unsafe { job.run_inline(worker, injected) })
    } else {
        (result_a, ManuallyDrop::into_inner(job).into_result())
    }
}

/// If the first closure panics, the second one, which was not forked, runs all the same.
struct RunOnUnwind<'a, B, R>
where
    B: FnOnce(&Worker, bool) -> R,
{
    worker: &'a Worker,
    b: &'a ManuallyDrop<B>,
}

impl<B, R> Drop for RunOnUnwind<'_, B, R>
where
    B: FnOnce(&Worker, bool) -> R,
{
    // Inline, so that the guard's fields need not be in memory.
    #[inline(always)]
    fn drop(&mut self) {
        run_quietly(self.worker, self.b);
    }
}

/// The first closure's panic goes on, not this one's.
#[cold]
#[inline(never)]
fn run_quietly<B, R>(worker: &Worker, b: &ManuallyDrop<B>)
where
    B: FnOnce(&Worker, bool) -> R,
{
    // SAFETY: only the guard calls this, once, which `run_first` has made for that.
    let b = unsafe { take(b) };
    drop(panic::catch_unwind(AssertUnwindSafe(|| b(worker, false))));
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
