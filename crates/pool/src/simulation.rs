//! The pool in a simulation of tasks: the simulation's own thread runs the jobs, in an order that it
//! decides.
//!
//! # Which job runs where
//!
//! Jobs that have not begun are in a list of the thread, and each runs as a call, to its end:
//!
//! * *The closures of a `join`* run one after the other, in the frame of the `join`. The simulation decides
//!   whether the second one runs here, is stolen and ends before the first one begins, or is
//!   stolen and begins after the first one has ended.
//! * *The jobs of a scope* run at its end, in an order and on workers that the simulation decides.
//! * *A detached job* is a task of the simulation, so it runs between two steps of other tasks.
//! * *`yield_now`* runs one of the pool's jobs, as it does in a worker.
//! * *A job that blocks the thread* lets all jobs that are in the list run first ([`help`]): each of them
//!   may do what the job waits for.
//!
//! With one worker nothing is stolen, and the newest job comes first.
//!
//! # A lock that is held below is no false deadlock
//!
//! A job that runs has the frames of other code below it on the stack, which may hold locks. In the first two
//! cases these frames wait for that job, here and in a pool with threads. So a job that needs a lock of such a
//! frame waits for ever in both. A detached job has no frame of the program below it. So no job runs in the
//! middle of another one, unless that one yields or blocks.
//!
//! In `help` the job that blocks is below another one, which may block, too. Then the first one cannot
//! continue before the second one has ended. So jobs that wait for each other in turns are not simulated: the thread
//! hangs.
//!
//! # Soundness
//!
//! 1. Only this thread uses the list. A job is out of the list before it runs, so it runs once.
//! 2. A job of a frame has run before that frame ends: a `join` runs both closures, and [`finish`] runs the jobs
//!    of a scope until none is in the list. A job that has begun ends before the frames below it continue. So
//!    none is left that uses a frame which has ended.
//! 3. The list is not borrowed while a job runs or is dropped.

use std::cell::{Cell, RefCell};
use std::env;
use std::panic::{self, AssertUnwindSafe};
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};
use std::thread;

use blitz_io_core::{OnDrop, coop, fibers};
use blitz_io_observe::{counted, decisions};

use crate::job_ref::JobRef;
use crate::registry::{Handlers, Registry};
use crate::worker::{Worker, Yield};

thread_local! {
    /// The jobs that have not begun, in the order in which they were made.
    static PENDING: RefCell<Vec<Pending>> = const { RefCell::new(Vec::new()) };
    /// Number of jobs that this thread has made.
    static MADE: Cell<u64> = const { Cell::new(0) };
}

/// A job that has not begun.
struct Pending {
    number: u64,
    /// The host of the code that has made it.
    host: u32,
    registry: Arc<Registry>,
    /// The scope that waits for it, or 0.
    tag: usize,
    /// The worker that has made it.
    maker: Option<usize>,
    /// The only worker that may run it.
    only: Option<usize>,
    work: Work,
}

enum Work {
    /// One of the closures of a `join`, in whose frame it is.
    Half(NonNull<dyn Run>),
    Job(JobRef),
    Detached(Box<dyn FnOnce(&Worker)>),
}

/// A closure of a `join`.
trait Run {
    fn run(&self, worker: &Worker);
}

/// A closure of a `join`, and its result.
struct Half<F, R> {
    func: Cell<Option<F>>,
    /// Passed to the closure: `true` if it runs on another worker than its caller.
    has_migrated: Cell<bool>,
    result: Cell<Option<thread::Result<R>>>,
}

impl<F: FnOnce(&Worker, bool) -> R, R> Half<F, R> {
    fn new(func: F, has_migrated: bool) -> Self {
        Self {
            func: Cell::new(Some(func)),
            has_migrated: Cell::new(has_migrated),
            result: Cell::new(None),
        }
    }

    fn result(self) -> thread::Result<R> {
        self.result.into_inner().expect("the closure has run")
    }
}

impl<F: FnOnce(&Worker, bool) -> R, R> Run for Half<F, R> {
    fn run(&self, worker: &Worker) {
        if let Some(func) = self.func.take() {
            let migrated = self.has_migrated.get();
            let result = panic::catch_unwind(AssertUnwindSafe(|| func(worker, migrated)));
            self.result.set(Some(result));
        }
    }
}

/// Returns the global pool of simulations, which has no threads. Code outside of simulations never has it.
pub(crate) fn global() -> &'static Arc<Registry> {
    static GLOBAL: OnceLock<Arc<Registry>> = OnceLock::new();
    GLOBAL.get_or_init(|| {
        let set = env::var("RAYON_NUM_THREADS").ok();
        let set = set.and_then(|set| set.parse().ok());
        let threads = set
            .filter(|&threads| threads > 0)
            .unwrap_or(decisions::WORKERS as usize);
        Arc::new(Registry::new(threads, Handlers::default()))
    })
}

/// Lets the simulation choose one of several alternatives. `text` says what one means that is not 0.
fn choose(of: usize, text: impl FnOnce(usize) -> String) -> usize {
    if of < 2 {
        return 0;
    }
    decisions::meaning(
        || decisions::job(of as u32) as usize,
        |&choice| text(choice),
    )
}

/// Returns a worker: alternative 0 is this one.
fn choose_worker(registry: &Registry, first: usize) -> usize {
    let threads = registry.num_threads();
    let other = |by| (first + by) % threads;
    let text = |by| {
        let worker = other(by);
        format!("worker {worker} of the fork-join pool runs a job, not worker {first}")
    };
    other(choose(threads, text))
}

/// Returns another worker than this one, if there is one.
fn choose_other(registry: &Registry, than: usize) -> usize {
    let others = registry.num_threads() - 1;
    if others == 0 {
        return than;
    }
    let other = |by| (than + 1 + by) % registry.num_threads();
    other(choose(others, |by| {
        format!("worker {} of the fork-join pool steals a job", other(by))
    }))
}

/// Runs `op` on a worker of this pool: the current one, or else one that the simulation decides.
pub(crate) fn in_worker<R>(registry: &Arc<Registry>, op: impl FnOnce(&Worker, bool) -> R) -> R {
    match Worker::current_simulated() {
        Some(worker) if Arc::ptr_eq(worker.registry(), registry) => op(worker, false),
        _ => as_worker(registry, choose_worker(registry, 0), |worker| {
            op(worker, true)
        }),
    }
}

/// Runs code as a worker. It may block, and is no part of a fiber, which could suspend it.
fn as_worker<R>(registry: &Arc<Registry>, index: usize, run: impl FnOnce(&Worker) -> R) -> R {
    let worker = Worker::simulated(registry.clone(), index);
    let _current = worker.make_current();
    coop::outside_polls(|| {
        let fiber = fibers::current();
        fibers::set_current(std::ptr::null());
        let _restored = OnDrop(|| fibers::set_current(fiber));
        run(&worker)
    })
}

/// Puts a job into the list, and returns its number.
fn add(registry: &Arc<Registry>, tag: usize, only: Option<usize>, work: Work) -> u64 {
    let number = MADE.get() + 1;
    MADE.set(number);
    let maker = Worker::current_simulated();
    let maker = maker.filter(|maker| Arc::ptr_eq(maker.registry(), registry));
    let pending = Pending {
        number,
        host: decisions::host(),
        registry: registry.clone(),
        tag,
        maker: maker.map(Worker::index),
        only,
        work,
    };
    PENDING.with_borrow_mut(|list| list.push(pending));
    decisions::set_help(help);
    number
}

/// Takes a job out of the list, if it has not begun.
fn take(number: u64) -> Option<Pending> {
    // A task may be dropped while its thread ends.
    let taken = PENDING.try_with(|list| {
        let list = &mut *list.borrow_mut();
        let found = list.iter().rposition(|pending| pending.number == number);
        found.map(|index| list.remove(index))
    });
    taken.ok().flatten()
}

/// Takes one of the jobs for which `is_one` returns `true`: the newest one, or another one that the simulation decides.
fn take_one(threads: usize, is_one: impl Fn(&Pending) -> bool) -> Option<Pending> {
    let count = PENDING.with_borrow(|list| list.iter().filter(|pending| is_one(pending)).count());
    let choice = if threads == 1 {
        0
    } else {
        choose(count, |newer| {
            let newer = counted(newer as u64, "newer job");
            format!("a job of the fork-join pool runs before {newer}")
        })
    };
    PENDING.with_borrow_mut(|list| {
        let found = list.iter().enumerate().rev();
        let mut found = found.filter(|(_, pending)| is_one(pending));
        let (index, _) = found.nth(choice)?;
        Some(list.remove(index))
    })
}

impl Pending {
    /// Runs it on this worker, or on the only one that may run it.
    fn run(self, index: usize) {
        let index = self.only.unwrap_or(index);
        as_worker(&self.registry, index, |worker| match self.work {
            // SAFETY: the frame of the `join` lives until both closures have run (2).
            Work::Half(half) => unsafe { half.as_ref() }.run(worker),
            // SAFETY: the job was in the list, so it has not run (1), and is alive (2).
            Work::Job(job) => unsafe { job.execute() },
            Work::Detached(job) => job(worker),
        });
    }
}

/// Runs both closures, in an order that the simulation decides. `injected` is passed to the first one.
pub(crate) fn join<A, B, RA, RB>(worker: &Worker, injected: bool, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(&Worker, bool) -> RA,
    B: FnOnce(&Worker, bool) -> RB,
{
    let (registry, index) = (worker.registry(), worker.index());
    // The second one is not stolen, or stolen and first, or stolen and last.
    let choice = choose(registry.num_threads().min(2) * 2 - 1, |choice| {
        let order = if choice == 1 { "before" } else { "after" };
        format!("the second closure of a `join` is stolen, and runs {order} the first one")
    });
    let thief = match choice {
        0 => index,
        _ => choose_other(registry, index),
    };
    // Another job that blocks may run the second one, and has stolen it then.
    let (a, b) = (Half::new(a, injected), Half::new(b, true));
    let (first, second) = {
        let first = add(registry, 0, Some(index), Work::Half(erase(&a)));
        (first, add(registry, 0, None, Work::Half(erase(&b))))
    };
    // If one of them is left, its frame is about to end.
    let _left = OnDrop(|| drop((take(first), take(second))));
    let run = |number, index| {
        if let Some(half) = take(number) {
            half.run(index);
        }
    };
    if choice == 1 {
        run(second, thief);
    }
    run(first, index);
    b.has_migrated.set(choice != 0);
    run(second, thief);
    match (a.result(), b.result()) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(payload), _) | (_, Err(payload)) => panic::resume_unwind(payload),
    }
}

/// Returns a pointer to a closure of a `join`, without its lifetime.
fn erase<'a>(half: &'a (dyn Run + 'a)) -> NonNull<dyn Run> {
    let half = NonNull::from(half);
    // SAFETY: only the lifetime changes. The pointer is used while the closure is alive (2).
    unsafe { std::mem::transmute::<NonNull<dyn Run + 'a>, NonNull<dyn Run>>(half) }
}

/// Takes a job of the scope `tag`, which [`finish`] runs on any worker, or on the only one that may.
pub(crate) fn queue(registry: &Arc<Registry>, tag: usize, only: Option<usize>, job: JobRef) {
    add(registry, tag, only, Work::Job(job));
}

/// Runs all jobs of the scope `tag`, and those that they spawn into it.
pub(crate) fn finish(registry: &Arc<Registry>, tag: usize) {
    let owner = Worker::current_simulated().map_or(0, Worker::index);
    while let Some(job) = take_one(registry.num_threads(), |pending| pending.tag == tag) {
        let index = job.only.unwrap_or_else(|| choose_worker(registry, owner));
        job.run(index);
    }
}

/// Makes a job for which no frame waits: a task of the simulation. The job ends with the task, so it does not
/// outlive its host.
pub(crate) fn detach(
    registry: &Arc<Registry>,
    only: Option<usize>,
    job: impl FnOnce(&Worker) + 'static,
) {
    let keeper = registry.clone();
    let job = move |worker: &Worker| keeper.catch_unwind(|| job(worker));
    let number = add(registry, 0, only, Work::Detached(Box::new(job)));
    let dropped = OnDrop(move || drop(take(number)));
    decisions::run_later(Box::new(move || {
        let _dropped = dropped;
        if let Some(job) = take(number) {
            let index = choose_worker(&job.registry, 0);
            job.run(index);
        }
    }));
}

/// Returns `true` if a job that this worker has made has not begun.
pub(crate) fn has_jobs(worker: &Worker) -> bool {
    PENDING.with_borrow(|list| list.iter().any(|pending| pending.is_made_by(worker)))
}

/// Runs one job of this worker's pool on this worker, or only one that this worker has made.
pub(crate) fn run_one(worker: &Worker, is_local: bool) -> Yield {
    let (host, threads) = (decisions::host(), worker.registry().num_threads());
    let job = take_one(threads, |pending| {
        let may_run = pending.only.is_none_or(|only| only == worker.index());
        let is_of_pool = Arc::ptr_eq(&pending.registry, worker.registry());
        let is_near = !is_local || pending.is_made_by(worker);
        may_run && is_of_pool && is_near && pending.host == host
    });
    match job {
        Some(job) => {
            job.run(worker.index());
            Yield::Executed
        }
        None => Yield::Idle,
    }
}

impl Pending {
    fn is_made_by(&self, worker: &Worker) -> bool {
        self.maker == Some(worker.index()) && Arc::ptr_eq(&self.registry, worker.registry())
    }
}

/// This thread is about to sleep. Runs all jobs of this host, each of which may wake it.
fn help() {
    let host = decisions::host();
    while let Some(job) = take_one(usize::MAX, |pending| pending.host == host) {
        let blocked = Worker::current_simulated();
        let blocked = blocked.filter(|worker| Arc::ptr_eq(worker.registry(), &job.registry));
        let index = match (job.only, blocked) {
            (Some(only), _) => only,
            (None, Some(blocked)) => choose_other(&job.registry, blocked.index()),
            (None, None) => choose_worker(&job.registry, 0),
        };
        job.run(index);
    }
}
