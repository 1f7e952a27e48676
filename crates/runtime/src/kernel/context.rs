//! A thread's view of the runtime that it is in.
//!
//! One thread-local structure of plain cells, without a destructor: reading it costs an
//! address, and works also while the thread ends. A guard undoes each change, also when a
//! panic passes.
//!
//! Four things are kept apart, because they may differ on one thread:
//!
//! - the **current** runtime, which `spawn` and timers use. A guard of
//!   `Handle::enter` sets it, on any thread (`enter.rs`).
//! - whether the thread is **entered**: it drives tasks or blocks for a future, and
//!   must not do so a second time (`enter.rs`).
//! - the **worker** that the thread is at the moment, with the scheduler it works for.
//!   Another runtime may be the current one.
//! - the **task** that is being polled.

use std::cell::Cell;
use std::mem;
use std::panic::Location;
use std::ptr::{self, NonNull};
use std::thread;
use std::thread::ThreadId;

use blitz_io_core::Random;
use blitz_io_core::coop;
use blitz_io_observe as observe;
use blitz_io_observe::decisions;

#[cfg(not(loom))]
thread_local! {
    static CONTEXT: Context = const { Context::new() };
}

// The threads of a model share one thread of the system.
#[cfg(loom)]
loom::thread_local! {
    static CONTEXT: Context = Context::new();
}

/// The state of one thread; see the module documentation.
pub struct Context {
    /// The runtime that `spawn` and timers use, as an address.
    pub current: Cell<Current>,
    /// Number of guards that have set [`current`](Self::current).
    pub depth: Cell<usize>,
    /// Number of closures that look at the current runtime by reference at the moment.
    pub looking: Cell<u32>,
    /// The thread's use: it drives tasks, blocks for a future, or neither.
    pub entered: Cell<Entered>,
    /// The scheduler that the thread works for, if it is a worker. Its flavor decides the type
    /// that [`worker`](Self::worker) points to.
    pub worker_of: Cell<Current>,
    /// The worker that this thread is at the moment, if it is one.
    pub worker: Cell<*const ()>,
    /// The timers of that worker, if there are any.
    pub wheel: Cell<*const ()>,
    /// The set of local tasks (`LocalSet`) that is being polled.
    pub local_set: Cell<*const ()>,
    /// The header of the task that is being polled or whose parts are being dropped, with
    /// a [`MARK`].
    task: Cell<*const ()>,
    /// A future has yielded whose waker is not that of the current task.
    yielded: Cell<bool>,
    /// The thread's number. To ask the system's library for it counts references.
    pub thread: Cell<Option<ThreadId>>,
    /// Random numbers for the order of stealing and the like.
    pub random: Cell<Random>,
}

/// Bit in the pointer to a task: the task requests its place at the end of the queue.
const MARK: usize = 1;

/// Which kind of scheduler an address is of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// None: there is no current runtime.
    Absent,
    /// `current_thread::Shared`.
    CurrentThread,
    /// `multi_thread::Shared`.
    MultiThread,
}

/// A runtime's scheduler, as an address. The code that sets it keeps the scheduler alive.
#[derive(Clone, Copy)]
pub struct Current {
    pub flavor: Flavor,
    pub shared: *const (),
}

impl Current {
    const NONE: Self = Self {
        flavor: Flavor::Absent,
        shared: ptr::null(),
    };
}

/// A thread's use: it drives tasks, blocks for a future, or neither.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Entered {
    /// It does neither: it may start to.
    No,
    /// It does.
    Yes {
        /// `block_in_place` may block here.
        allow_block_in_place: bool,
    },
}

impl Context {
    const fn new() -> Self {
        Self {
            current: Cell::new(Current::NONE),
            depth: Cell::new(0),
            looking: Cell::new(0),
            entered: Cell::new(Entered::No),
            worker_of: Cell::new(Current::NONE),
            worker: Cell::new(ptr::null()),
            wheel: Cell::new(ptr::null()),
            local_set: Cell::new(ptr::null()),
            task: Cell::new(ptr::null()),
            yielded: Cell::new(false),
            thread: Cell::new(None),
            random: Cell::new(Random::unseeded()),
        }
    }

    /// Returns a number below `below`, from this thread's sequence.
    #[inline]
    pub fn random(&self, below: u32) -> u32 {
        let mut random = self.random.get();
        let number = random.below(below);
        self.random.set(random);
        number
    }

    /// Returns the header of the current task, or null.
    pub fn task(&self) -> *const () {
        self.task.get().map_addr(|address| address & !MARK)
    }

    /// Makes this the current task, for a fiber.
    pub fn set_task(&self, task: *const ()) {
        self.task.set(task);
    }

    /// Returns the worker that this thread is for the scheduler at `shared`; null if it is
    /// none of its workers. The type follows from the scheduler's.
    #[inline]
    pub fn worker_for(&self, shared: *const ()) -> *const () {
        if self.worker_of.get().shared == shared {
            self.worker.get()
        } else {
            ptr::null()
        }
    }

    /// Returns the worker that this thread is for a scheduler of this flavor; null if it works for
    /// none, or one of the other flavor.
    #[inline]
    pub fn worker_as(&self, flavor: Flavor) -> *const () {
        if self.worker_of.get().flavor == flavor {
            self.worker.get()
        } else {
            ptr::null()
        }
    }

    /// Makes the thread the worker `worker` of a scheduler, until the guard is dropped. Both
    /// must stay where they are so long.
    pub fn set_worker(&self, scheduler: Current, worker: *const ()) -> WorkerGuard {
        WorkerGuard {
            worker_of: self.worker_of.replace(scheduler),
            worker: self.worker.replace(worker),
        }
    }
}

/// Undoes [`Context::set_worker`].
#[must_use]
pub struct WorkerGuard {
    worker_of: Current,
    worker: *const (),
}

impl Drop for WorkerGuard {
    fn drop(&mut self) {
        observe::forget_time();
        with(|context| {
            context.worker_of.set(self.worker_of);
            context.worker.set(self.worker);
        });
    }
}

/// Undoes [`enter_task`].
#[must_use]
pub struct TaskGuard(*const ());

/// Makes `task` the current one until the guard is dropped.
#[inline]
pub fn enter_task<T>(task: NonNull<T>) -> TaskGuard {
    const { assert!(align_of::<T>() > MARK) };
    with(|context| TaskGuard(context.task.replace(plain(task))))
}

impl Drop for TaskGuard {
    #[inline]
    fn drop(&mut self) {
        with(|context| context.task.set(self.0));
    }
}

/// Requests a place at the end of the queue for a task. Returns `false` if it is not the current one.
#[inline]
pub fn step_back<T>(task: NonNull<T>) -> bool {
    let (plain, marked) = (plain(task), plain(task).wrapping_byte_add(MARK));
    with(|context| {
        let current = context.task.get();
        if ptr::eq(current, plain) {
            context.task.set(marked);
            return true;
        }
        ptr::eq(current, marked)
    })
}

/// Returns `true` if this thread runs the tasks of a scheduler.
#[inline]
pub fn is_worker() -> bool {
    with(|context| !context.worker.get().is_null())
}

/// Records a yield of a future whose waker is its own: that of `block_on`, or of a combinator.
#[inline]
pub fn yields() {
    with(|context| context.yielded.set(true));
}

/// Returns `true` if the future that this thread has just polled has yielded with a waker of its
/// own, or was turned away by an operation because its budget is used up. Then a wake-up during
/// the poll does not mean that there is something for it to do. For a scheduler, within the
/// budget of the poll.
#[inline]
pub fn take_yielded() -> bool {
    with(|context| context.yielded.take()) || coop::is_refused()
}

/// Returns `true` if the task, which is the current one, has requested its place at the end of the queue.
#[inline]
pub fn has_stepped_back<T>(task: NonNull<T>) -> bool {
    with(|context| !ptr::eq(context.task.get(), plain(task)))
}

/// Returns the pointer to a task, without a mark.
fn plain<T>(task: NonNull<T>) -> *const () {
    task.as_ptr().cast_const().cast()
}

/// Gives the thread's context to `with`.
#[inline]
pub fn with<R>(with: impl FnOnce(&Context) -> R) -> R {
    const { assert!(!mem::needs_drop::<Context>()) };
    // The whole of `with` in `LocalKey::with` would not be inlined into its caller.
    let context = CONTEXT.with(ptr::from_ref);
    // SAFETY: nothing drops the context, so it stays there as long as its thread, and
    // the reference does not leave the call.
    with(unsafe { &*context })
}

/// Returns the number of the branch with which `select!` begins, of `branches`.
#[inline]
#[track_caller]
pub fn thread_rng_n(branches: u32) -> u32 {
    if !decisions::is_on() {
        return with(|context| context.random(branches));
    }
    let place = Location::caller();
    decisions::meaning(|| random(branches), |first| begins_with(*first, place))
}

/// Says with which branch `select!` begins, for the report of a simulation.
#[cold]
fn begins_with(first: u32, place: &Location<'_>) -> String {
    let (file, line, branch) = (place.file(), place.line(), first + 1);
    format!("`select!` at {file}:{line} begins with branch {branch}")
}

/// Returns a number below `below`, from this thread's sequence.
#[inline]
pub fn random(below: u32) -> u32 {
    if let Some(decided) = decisions::random(below) {
        return decided;
    }
    with(|context| context.random(below))
}

/// Returns this thread's number.
#[inline]
pub fn thread_id() -> ThreadId {
    with(|context| {
        let known = context.thread.get();
        known.unwrap_or_else(|| {
            let id = thread::current().id();
            context.thread.set(Some(id));
            id
        })
    })
}
