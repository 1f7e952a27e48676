//! Two closures that run potentially in parallel.
//!
//! The second closure is *forked*: a pointer to it is put into the worker's deque, with two
//! plain stores, and then the first one runs. If no thread has stolen the fork by then, the
//! worker takes it back, again without a read-modify-write, and runs it as an ordinary
//! call. Only a fork that is old enough to be worth stealing is stolen at all.
//!
//! A recursion that has been found to be [fine](crate::policy), and that already has forks for
//! other workers to steal, does not fork: it costs as much as the calls alone.

use std::any::Any;
use std::mem::ManuallyDrop;
use std::panic::{self, AssertUnwindSafe};
use std::ptr;

use blitz_io_observe::{Caller, decisions};

use crate::context::FnContext;
use crate::in_worker::in_worker;
use crate::job::StackJob;
use crate::latch::{JoinLatch, Probe};
use crate::simulation;
use crate::worker::Worker;

/// Runs both closures, potentially in parallel, and returns both results.
///
/// Another worker may steal `oper_b` while this one runs `oper_a`; otherwise it runs here
/// afterwards. A worker that waits for a stolen closure runs only descendants of that closure. So
/// if a lock is held across `join`, none of those can take it unless they could do so without a
/// pool.
///
/// In a thread that belongs to no pool, both closures run in the global pool, and this
/// thread blocks. In a fiber that a worker polls, the closures run one after the other, and may
/// suspend the fiber.
///
/// # Panics
///
/// Panics if one of the closures panics, after both have ended. If both panic, the first
/// one's panic is resumed.
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

/// Does the same as [`join`], with a context that tells each closure whether it runs in another
/// thread than its caller.
///
/// # Panics
///
/// Panics as [`join`] does.
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
    if decisions::is_on() {
        return in_worker(Caller::UNKNOWN, |worker, injected| {
            simulation::join(worker, injected, a, b)
        });
    }
    // Each closure is in memory once, and passed on by reference. A copy of its captures,
    // written at the width of registers and read at that of a vector, would cost more than
    // all the rest.
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
/// Takes both closures: the caller does not use them afterwards.
#[cold]
#[inline(never)]
unsafe fn join_from_outside<A, B, RA, RB>(a: &ManuallyDrop<A>, b: &ManuallyDrop<B>) -> (RA, RB)
where
    A: FnOnce(&Worker, bool) -> RA + Send,
    B: FnOnce(&Worker, bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    // SAFETY: by this function's contract, the caller does not use the closures afterwards.
    let (a, b) = unsafe { (take(a), take(b)) };
    in_worker(Caller::UNKNOWN, move |worker, injected| {
        join_on(worker, injected, a, b)
    })
}

/// # Safety
///
/// Called once for each closure.
#[inline(always)]
unsafe fn take<F>(from: &ManuallyDrop<F>) -> F {
    // SAFETY: by this function's contract, the closure is read only here.
    unsafe { ptr::read(&**from) }
}

/// `injected` is passed to the first closure.
#[inline(always)]
pub(crate) fn join_on<A, B, RA, RB>(worker: &Worker, injected: bool, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(&Worker, bool) -> RA + Send,
    B: FnOnce(&Worker, bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    if decisions::is_on() {
        return simulation::join(worker, injected, a, b);
    }
    let (a, b) = (ManuallyDrop::new(a), ManuallyDrop::new(b));
    // SAFETY: `join_taking` takes each of them once.
    unsafe { join_taking(worker, injected, &a, &b) }
}

/// # Safety
///
/// Takes both closures: the caller does not use them afterwards.
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
    // SAFETY: each branch takes them once.
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
/// Takes the first closure, and the second one if it panics: the caller does not use them
/// afterwards.
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
    // SAFETY: by this function's contract, the caller does not use `a` afterwards.
    let first = || unsafe { take(a)(worker, injected) };
    run_before(first, || run_quietly(worker, b))
}

/// Runs `first`. If it panics, calls `run_second` and then resumes the panic.
///
/// The panic is caught in between. While a thread unwinds, `thread::panicking()` is true in every job
/// that it runs, and the job's panic would poison no lock.
#[inline(always)]
fn run_before<R>(first: impl FnOnce() -> R, run_second: impl FnOnce()) -> R {
    match panic::catch_unwind(AssertUnwindSafe(first)) {
        Ok(result) => result,
        Err(payload) => resume_after(payload, run_second),
    }
}

/// A function of its own: it keeps the payload in registers that the frame of a `join` need not save.
#[cold]
#[inline(never)]
fn resume_after(payload: Box<dyn Any + Send>, run_second: impl FnOnce()) -> ! {
    run_second();
    panic::resume_unwind(payload)
}

/// Forks the second closure and runs the first one. It is not inlined, so that the frames
/// of a fine recursion, which seldom gets here, stay small.
///
/// # Safety
///
/// Takes both closures: the caller does not use them afterwards.
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
    // Nearly all forks come back, and a fork that comes back leaves nothing to be dropped.
    // SAFETY: by this function's contract, the caller does not use `b` afterwards. The job owns it now.
    let job = unsafe { StackJob::new(take(b), JoinLatch::new(worker.sleeper())) };
    let job = ManuallyDrop::new(job);
    let Some(position) = worker.fork(job.as_ref()) else {
        // A recursion as deep as this already has enough parallel work.
        let b = ManuallyDrop::new(|worker: &Worker, injected| {
            // SAFETY: it was not forked.
            unsafe { job.run_inline(worker, injected) }
        });
        // SAFETY: by this function's contract, the caller does not use `a` afterwards. `b` is taken once:
        // by `run_first` if `a` panics, otherwise after it.
        return unsafe {
            (
                run_first(worker, injected, a, &b),
                take(&b)(worker, injected),
            )
        };
    };
    // SAFETY: by this function's contract, the caller does not use `a` afterwards.
    let first = || unsafe { take(a)(worker, injected) };
    let result_a = run_before(first, || finish(worker, &job, position));
    if worker.take_back(position) || get_back(worker, &job, position) {
        worker.joined(StackJob::<JoinLatch, B, RB>::site());
        // SAFETY: this worker has taken it back, so no other thread has it.
        (result_a, unsafe { job.run_inline(worker, injected) })
    } else {
        (result_a, ManuallyDrop::into_inner(job).into_result())
    }
}

/// Runs the second closure and drops its panic: the first closure's panic is propagated.
#[cold]
#[inline(never)]
fn run_quietly<B, R>(worker: &Worker, b: &ManuallyDrop<B>)
where
    B: FnOnce(&Worker, bool) -> R,
{
    // SAFETY: only the guard of `run_first` calls it, and only once.
    let b = unsafe { take(b) };
    drop(panic::catch_unwind(AssertUnwindSafe(|| b(worker, false))));
}

/// Takes the fork back if newer forks are above it, or else waits until its thief has run
/// it. Returns `true` if it came back.
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
        // SAFETY: it was taken from the deque, so no other thread has it.
        unsafe { local.execute() };
        if job.latch.is_set() {
            return false;
        }
    }
    worker.wait_for(&job.latch, job.as_ref().tag(), position, Caller::UNKNOWN);
    false
}

/// Makes sure that the second closure has run before its frame ends, after a panic of the first one.
#[cold]
#[inline(never)]
fn finish<F, R>(worker: &Worker, job: &StackJob<JoinLatch, F, R>, position: usize)
where
    F: FnOnce(&Worker, bool) -> R + Send,
    R: Send,
{
    if worker.take_back(position) || get_back(worker, job, position) {
        // SAFETY: this worker has taken it back, so no other thread has it; the job keeps its
        // panic.
        unsafe { job.as_ref().execute() };
    }
    job.discard_result();
}
