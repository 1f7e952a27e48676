//! The side of a fiber that runs: how it waits.
//!
//! # States
//!
//! A thread has a chain of fibers that run: the *current* one, which its poll has resumed; the
//! fiber in whose [`block_on`] that poll happened; and so on. Each has a [`Running`] on its own
//! stack. Switching there and back keeps the chain:
//!
//! 1. [`resume`](crate::fiber) switches to the stack with the poll's context.
//! 2. The fiber puts itself in front of the chain.
//! 3. It polls the future that it waits for, with that context. If the future is ready, the
//!    wait ends.
//! 4. Otherwise it takes itself out of the chain, and switches back. The poll returns `Pending`.
//!
//! No wake-up is lost, because a fiber has none of its own. The future of step 3 has the
//! task's waker. Its wake-up leads to a poll, which resumes the fiber, which polls the future
//! again.
//!
//! # Nested waits
//!
//! The context of step 3 is borrowed from the poll, and gone after step 4. So a future that is
//! polled in step 3 must not suspend the same fiber: a nested [`block_on`] panics, as it does in
//! any task. Another fiber in that future is resumed and suspended within step 3.
//!
//! # What moves with a fiber
//!
//! The scopes in which the fiber is, such as that of a task-local value, leave the thread in step 4 and
//! come back when the stack is resumed: see `scopes.rs` of blitz-io-core. The rest of the thread's
//! context must be as it was when the fiber was resumed ([`Surroundings`]); otherwise the fiber may not
//! suspend. `book/src/how/fibers.md` lists all thread-local variables.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::ptr::{self, NonNull};
use std::task::{Context, Poll};

use blitz_io_core::fibers::{self, Condition};
use blitz_io_core::scopes::FiberScopes;
use blitz_io_runtime::pinned::{self, Surroundings, Wait};
use corosensei::Yielder;

const AT_ONCE: &str = "a fiber cannot wait in the function that `trace_with` calls";

/// Returns the first fiber of this thread's chain, or null.
#[inline(always)]
fn current() -> *const Running {
    fibers::current().cast()
}

#[inline(always)]
fn set_current(running: *const Running) {
    fibers::set_current(running.cast());
}

/// The value with which a stack is resumed: a poll, or none to unwind it.
pub(crate) type Resume = Option<NonNull<Resumption>>;

/// The poll that resumes a fiber. It is alive until the fiber suspends.
pub(crate) struct Resumption {
    context: *mut Context<'static>,
    surroundings: Surroundings,
}

impl Resumption {
    #[inline(always)]
    pub(crate) fn new(context: &mut Context<'_>) -> Self {
        Self {
            context: ptr::from_mut(context).cast(),
            surroundings: Surroundings::now(),
        }
    }
}

/// The payload of the unwinding that ends a fiber.
pub(crate) struct Unwound;

/// A fiber that has begun, on its own stack.
pub(crate) struct Running {
    yielder: *const Yielder<Resume, ()>,
    /// The rest of the chain.
    outer: Cell<*const Running>,
    resumption: Cell<NonNull<Resumption>>,
    /// It polls a future with the context of that.
    polling: Cell<bool>,
    /// The scopes in which the fiber is.
    scopes: FiberScopes,
    /// The fiber was dropped.
    unwinding: Cell<bool>,
    /// A pointer for the code that runs in the fiber.
    local: Cell<*const ()>,
    /// The messages of an overflow, and of an unwinding that is not possible, need it.
    name: Option<Box<str>>,
    /// The message of an overflow needs it.
    #[cfg_attr(not(unix), expect(dead_code, reason = "the system reports overflows"))]
    stack: Addresses,
}

/// The addresses of a stack.
#[derive(Clone, Copy)]
#[cfg_attr(
    not(unix),
    allow(dead_code, reason = "the system reports overflows there")
)]
pub(crate) struct Addresses {
    /// The start of the guard, below the stack.
    pub(crate) low: usize,
    /// The size of the guard in bytes.
    pub(crate) guard: usize,
    /// The size of the rest in bytes.
    pub(crate) size: usize,
}

impl Running {
    /// Runs `body` as a fiber, on the stack to which `yielder` belongs.
    pub(crate) fn enter<T>(
        yielder: &Yielder<Resume, ()>,
        first: Resume,
        name: Option<Box<str>>,
        stack: Addresses,
        body: impl FnOnce() -> T,
    ) -> T {
        let Some(resumption) = first else {
            unreachable!("a fiber that has not begun has no stack to unwind");
        };
        let running = Running {
            yielder,
            outer: Cell::new(current()),
            resumption: Cell::new(resumption),
            polling: Cell::new(false),
            scopes: FiberScopes::new(),
            unwinding: Cell::new(false),
            local: Cell::new(ptr::null()),
            name,
            stack,
        };
        set_current(&running);
        let _leave = Leave(&running);
        body()
    }

    /// Returns the name that the user gave the fiber.
    #[cfg(unix)]
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    #[cfg(unix)]
    pub(crate) fn stack(&self) -> Addresses {
        self.stack
    }

    #[inline(always)]
    fn resumption(&self) -> &Resumption {
        // SAFETY: it is alive until this fiber suspends, and the reference does not leave the
        // functions of this type, which use it before they suspend.
        unsafe { self.resumption.get().as_ref() }
    }

    #[inline(always)]
    #[track_caller]
    fn block_on<F: Future>(&self, future: F) -> F::Output {
        let suspends = !std::thread::panicking()
            && !self.unwinding.get()
            && !self.polling.get()
            && self.scopes.may_suspend()
            && self.resumption().surroundings.are_now();
        if !suspends {
            return self.block_specially(future);
        }
        let mut future = pin!(future);
        loop {
            if let Poll::Ready(output) = self.poll(future.as_mut()) {
                return output;
            }
            self.suspend();
        }
    }

    /// Returns `true` if [`block_on`](Self::block_on) would block the thread.
    fn blocks_thread(&self) -> bool {
        let surroundings = &self.resumption().surroundings;
        let is_blocking = || !surroundings.are_now() && matches!(surroundings.wait(), Wait::Block);
        std::thread::panicking() || !self.unwinding.get() && is_blocking()
    }

    /// Waits for a future where the fiber may not simply suspend.
    #[cold]
    #[track_caller]
    fn block_specially<F: Future>(&self, future: F) -> F::Output {
        if std::thread::panicking() {
            // To suspend would make other tasks of the thread think that they panic.
            return pinned::block_anyway(future);
        }
        if self.unwinding.get() {
            // Code of the fiber has caught the unwinding.
            resume_unwind(Box::new(Unwound));
        }
        let task = match self.resumption().surroundings.wait() {
            Wait::Block => return pinned::block_anyway(future),
            _ if self.polling.get() => pinned::panic_nested(),
            _ if !self.scopes.may_suspend() => panic!("{AT_ONCE}"),
            Wait::SuspendAs(task) => task,
            Wait::Suspend => pinned::panic_nested(),
        };
        let mut future = pin!(future);
        loop {
            if let Poll::Ready(output) = self.poll(future.as_mut()) {
                return output;
            }
            self.suspend_as(task);
        }
    }

    #[inline(always)]
    fn poll<F: Future>(&self, future: Pin<&mut F>) -> Poll<F::Output> {
        struct Polling<'a>(&'a Cell<bool>);
        impl Drop for Polling<'_> {
            fn drop(&mut self) {
                self.0.set(false);
            }
        }

        self.polling.set(true);
        let _polling = Polling(&self.polling);
        // SAFETY: the poll of the last resumption lasts until this fiber suspends. `polling`
        // keeps the future from suspending this fiber, and from a second use of the context.
        future.poll(unsafe { &mut *self.resumption().context })
    }

    #[inline(always)]
    fn suspend(&self) {
        // SAFETY: it is the innermost fiber of this thread, and resumed below.
        unsafe { self.scopes.suspend() };
        set_current(self.outer.get());
        // SAFETY: it is the yielder of this stack, below whose frame this is.
        let resume = unsafe { &*self.yielder }.suspend(());
        self.outer.set(current());
        set_current(self);
        // SAFETY: it has suspended above, and stays on its thread.
        unsafe { self.scopes.resume() };
        match resume {
            Some(resumption) => self.resumption.set(resumption),
            None => self.unwind(),
        }
    }

    #[cold]
    fn unwind(&self) -> ! {
        if cfg!(panic = "abort") {
            // `resume_unwind` would abort without a message.
            let name = self.name.as_deref().unwrap_or("<unnamed>");
            eprintln!(
                "fiber '{name}' was dropped, or left at the end of its extent, before it had ended\n\
                 fatal runtime error: cannot unwind a fiber with `panic = \"abort\"`, aborting"
            );
        }
        self.unwinding.set(true);
        resume_unwind(Box::new(Unwound))
    }

    /// Suspends the fiber while it drops another task's output.
    #[cold]
    fn suspend_as(&self, task: *const ()) {
        // SAFETY: only the task differs, as `Wait` says; this fiber's task is being polled.
        unsafe { self.resumption().surroundings.restore_task() };
        self.suspend();
        // SAFETY: the fiber was resumed.
        unsafe { pinned::resume_as(task) };
    }
}

/// Takes a fiber that ends out of the chain.
struct Leave<'a>(&'a Running);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        set_current(self.0.outer.get());
    }
}

/// Gives the fiber that runs on this thread to `with`, if there is one.
#[inline]
pub(crate) fn with_current<R>(with: impl FnOnce(Option<&Running>) -> R) -> R {
    // SAFETY: a fiber in the chain has not ended, and its stack does not move. The
    // reference does not leave the call, which is further down that stack, or in a signal handler
    // that interrupts it.
    with(unsafe { current().as_ref() })
}

/// Lets the crates below this one wait in fibers.
pub(crate) fn wait_in_fibers() {
    fibers::set_wait(|condition: &mut Condition<'_>| {
        let suspends = with_current(|running| running.is_some_and(|it| !it.blocks_thread()));
        if suspends {
            block_on(poll_fn(condition));
        }
        suspends
    });
}

/// Waits until `future` is ready.
///
/// In a fiber, suspends the fiber, and the thread runs other tasks. In a plain thread,
/// blocks the thread. In a fiber in [`block_in_place`](blitz_io_runtime::task::block_in_place), or
/// in a destructor that runs because of a panic or an abort, blocks the thread, too.
///
/// # Panics
///
/// * In a task that is no fiber, as the runtime's `block_on` does.
/// * In a future that a fiber waits for.
/// * If the fiber holds the guard of `Handle::enter`.
/// * In the function that `runtime::dump::trace_with` calls for an operation.
///
/// # Cancel safety
///
/// If the fiber is aborted or dropped while it waits, `future` is dropped, and the fiber's stack
/// is unwound.
///
/// ```
/// use blitz_io::{fiber, runtime::Runtime, time::{Duration, sleep}};
///
/// let runtime = Runtime::new()?;
/// let sleeper = runtime.spawn(async {
///     fiber::spawn(|| {
///         fiber::block_on(async { sleep(Duration::from_millis(1)).await });
///         "slept"
///     })
///     .await
/// });
/// assert_eq!(fiber::block_on(sleeper).unwrap().unwrap(), "slept");
/// # Ok::<(), std::io::Error>(())
/// ```
// A future that is moved after the caller has written it is read before the stores are complete,
// which costs as much as the rest of a wait.
#[inline(always)]
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    // A closure would not pass the caller's place on.
    // SAFETY: a fiber in the chain has not ended, and this call is on its stack, or above.
    match unsafe { current().as_ref() } {
        Some(running) => running.block_on(future),
        None => pinned::block_thread(future),
    }
}

/// Returns whether the caller runs in a fiber.
///
/// ```
/// use blitz_io::fiber;
///
/// assert!(!fiber::is_fiber());
/// assert!(fiber::block_on(fiber::run(fiber::is_fiber)));
/// ```
#[inline]
#[must_use]
pub fn is_fiber() -> bool {
    fibers::is_fiber()
}

/// Returns what [`set_local`] has stored in the calling fiber: NULL at first, and outside of fibers.
///
/// Not part of the public interface.
#[doc(hidden)]
#[inline]
#[must_use]
pub fn local() -> *const () {
    with_current(|running| running.map_or(ptr::null(), |running| running.local.get()))
}

/// Stores a pointer in the calling fiber. Does nothing outside of fibers.
///
/// Not part of the public interface.
///
/// # Safety
///
/// The pointer is valid for every caller of [`local`] in this fiber.
#[doc(hidden)]
#[inline]
pub unsafe fn set_local(local: *const ()) {
    with_current(|running| {
        if let Some(running) = running {
            running.local.set(local);
        }
    });
}

/// Lets other tasks, or other threads, run.
///
/// In a fiber, the task goes to the end of the queue. In a plain thread this is
/// [`std::thread::yield_now`].
///
/// # Panics
///
/// In a fiber, as [`block_on`] does.
///
/// ```
/// use blitz_io::fiber;
///
/// fiber::block_on(fiber::run(fiber::yield_now));
/// ```
// As `block_on`: the return from a call would be predicted wrongly.
#[inline(always)]
#[track_caller]
pub fn yield_now() {
    if is_fiber() {
        block_on(blitz_io_runtime::task::yield_now());
    } else {
        std::thread::yield_now();
    }
}
