//! The future that resumes a stack.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

use blitz_io_runtime::pinned;
use corosensei::{Coroutine, CoroutineResult};

use crate::builder::{Builder, Settings};
use crate::home::{self, Begun, Home};
use crate::running::{Resumption, Running};
use crate::stack::Stack;
use crate::switch::Switch;

/// A fiber that any executor can run.
///
/// It is not `Send`: use `block_on`, `LocalSet`, or `spawn_local` of any executor; those of other
/// libraries within [`extent`]. Dropping it unwinds its stack, so destructors run. If it is dropped on another
/// thread or forgotten, the end of its extent does that. Created by [`run`].
///
/// # Panics
///
/// The first poll panics outside of extents. A later one in another extent, or on another thread, cancels the task that
/// it is a part of; it panics if no task of this library polls it.
///
/// ```
/// use blitz_io::fiber;
///
/// let fiber = fiber::run(|| 6 * 7);
/// assert_eq!(fiber::block_on(fiber), 42);
/// ```
#[must_use = "a fiber does nothing unless polled"]
pub struct Fiber<T>(Pin<Box<dyn Future<Output = T>>>);

impl<T> Future for Fiber<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        self.0.as_mut().poll(context)
    }
}

impl<T> fmt::Debug for Fiber<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fiber").finish_non_exhaustive()
    }
}

/// Creates a fiber that runs `function` when it is polled.
///
/// The function need not be `Send`. The fiber runs under any executor; call one of another library in
/// [`extent`].
///
/// ```
/// use blitz_io::{fiber, runtime::Builder, sync::oneshot, task::LocalSet};
///
/// let runtime = Builder::new_current_thread().build()?;
/// let (sender, receiver) = oneshot::channel();
/// let set = LocalSet::new();
/// let fiber = set.spawn_local(fiber::run(|| fiber::block_on(receiver)));
/// sender.send(1).unwrap();
/// assert_eq!(set.block_on(&runtime, fiber).unwrap(), Ok(1));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn run<F, T>(function: F) -> Fiber<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    Fiber::new(Inner::new(function, Settings::default()))
}

/// Runs `function`, in which this thread may poll fibers, and then ends those that are left.
///
/// A fiber lives in the extent in which its first poll came: its destructors have run before the extent's caller
/// goes on. The outermost of these is the extent: a worker of a runtime; a call of this crate's or the
/// runtime's `block_on`; a call of this function. At its end the stacks of fibers that have not ended are
/// unwound, as [`JoinHandle::abort`](crate::JoinHandle::abort) does, and their tasks are cancelled: the handle's
/// error [is cancelled](blitz_io_runtime::task::JoinError::is_cancelled), also if a destructor panics. A task in which a [`Fiber`] is only a
/// part of the future is woken, and cancelled when it polls the fiber.
///
/// With `panic = "abort"` nothing can be unwound: a fiber that is left ends the process, with a message.
///
/// Call this:
///
/// * around the executor of another library that polls a [`Fiber`], which panics otherwise;
/// * around several calls of `block_on` of a current-thread runtime, if its fibers are to stay from one call to
///   the next.
///
/// # Cancel safety
///
/// It is not asynchronous. If `function` panics, the fibers end too.
///
/// ```
/// use blitz_io::fiber;
///
/// let product = fiber::extent(|| pollster::block_on(fiber::run(|| 6 * 7)));
/// assert_eq!(product, 42);
/// ```
pub fn extent<R>(function: impl FnOnce() -> R) -> R {
    blitz_io_core::fibers::extent(function)
}

impl<T: 'static> Fiber<T> {
    pub(crate) fn new<F>(inner: Inner<F, T, false>) -> Self
    where
        F: FnOnce() -> T + 'static,
    {
        Self(Box::pin(inner))
    }
}

impl Builder {
    /// Creates a fiber that runs `function` when it is polled, as [`run`] does.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the size of the stack or of its guard is out of bounds.
    ///
    /// ```
    /// use blitz_io::fiber;
    ///
    /// let fiber = fiber::Builder::new().stack_size(64 * 1024).run(|| 1)?;
    /// assert_eq!(fiber::block_on(fiber), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn run<F, T>(self, function: F) -> std::io::Result<Fiber<T>>
    where
        F: FnOnce() -> T + 'static,
        T: 'static,
    {
        Ok(Fiber::new(Inner::new(function, self.settings()?)))
    }
}

/// A larger function goes into a box: otherwise it would be moved to the top of the stack, without
/// a check of how much room there is.
const BOX_ABOVE: usize = 1024;

const NOT_HERE: &str = "a fiber was polled on another thread, or after the extent in which it began has come to its end (see `fiber::extent`)";

/// A fiber, with the type of its function.
///
/// It is polled by one thread, and unwound by that thread (`home.rs`). `IS_TASK`: its task has no other future.
pub(crate) struct Inner<F, T: 'static, const IS_TASK: bool>(State<F, T>);

enum State<F, T: 'static> {
    New(Option<(F, Settings)>),
    Begun {
        fiber: NonNull<Begun<T>>,
        home: Home,
    },
    Ended,
}

// The stack does not move, and nothing refers to the rest.
impl<F, T, const IS_TASK: bool> Unpin for Inner<F, T, IS_TASK> {}

impl<F, T, const IS_TASK: bool> Inner<F, T, IS_TASK>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    #[inline]
    pub(crate) fn new(function: F, settings: Settings) -> Self {
        Self(State::New(Some((function, settings))))
    }

    #[inline]
    fn begin(new: &mut Option<(F, Settings)>) -> State<F, T> {
        let (function, settings) = new
            .take()
            .expect("a fiber was polled after it had panicked");
        let Settings {
            name,
            stack_size,
            guard_size,
        } = settings;
        let home = home::home();
        let stack = match Stack::take(stack_size, guard_size) {
            Ok(stack) => stack,
            Err(error) => no_stack(name.as_deref(), stack_size, &error),
        };
        let switch = if const { size_of::<F>() > BOX_ABOVE } {
            // The call of a sized one would move it to the stack.
            let function: Box<dyn FnOnce() -> T> = Box::new(function);
            Self::switch(stack, name, function)
        } else {
            Self::switch(stack, name, function)
        };
        let fiber = Begun::new(switch, IS_TASK);
        State::Begun { fiber, home }
    }

    #[inline]
    fn switch(
        stack: Stack,
        name: Option<Box<str>>,
        function: impl FnOnce() -> T + 'static,
    ) -> Switch<T> {
        let addresses = stack.addresses();
        let coroutine = Coroutine::with_stack(stack, move |yielder, first| {
            Running::enter(yielder, first, name, addresses, function)
        });
        Switch::new(coroutine)
    }
}

#[cold]
fn no_stack(name: Option<&str>, size: usize, error: &std::io::Error) -> ! {
    let name = name.unwrap_or("<unnamed>");
    panic!("no stack of {size} bytes for the fiber '{name}': {error}");
}

impl<F, T, const IS_TASK: bool> Future for Inner<F, T, IS_TASK>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    type Output = T;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        if let State::New(new) = &mut self.0 {
            self.0 = Self::begin(new);
        }
        let State::Begun { fiber, home } = self.0 else {
            panic!("a fiber was polled after it had ended");
        };
        if !home.is_here() {
            return self.poll_at_end(fiber, home, context);
        }
        // SAFETY: in the extent of the fiber.
        let polled = unsafe { Self::resume(fiber, context) };
        if polled.is_ready() {
            self.0 = State::Ended;
            // SAFETY: the extent and the future are still the same, and the fiber has ended.
            unsafe { Begun::free(fiber) };
        }
        polled
    }
}

impl<F, T: 'static, const IS_TASK: bool> Inner<F, T, IS_TASK> {
    /// Resumes the fiber.
    ///
    /// # Safety
    ///
    /// The caller polls this fiber's future, in its extent, or at the end of that, which has not unwound the fiber.
    #[inline(always)]
    unsafe fn resume(fiber: NonNull<Begun<T>>, context: &mut Context<'_>) -> Poll<T> {
        let resumption = Resumption::new(context);
        // SAFETY: this is the only future that frees or resumes it.
        let switch = unsafe { Begun::switch(fiber) };
        match switch.resume(Some(NonNull::from(&resumption))) {
            CoroutineResult::Yield(()) => {
                // SAFETY: the extent and the future are still the same, and the fiber has suspended.
                unsafe { Begun::keep(fiber, context.waker()) };
                Poll::Pending
            }
            CoroutineResult::Return(output) => Poll::Ready(output),
        }
    }

    /// Polls a fiber where its extent is not, or is ending.
    #[cold]
    fn poll_at_end(
        &mut self,
        fiber: NonNull<Begun<T>>,
        home: Home,
        context: &mut Context<'_>,
    ) -> Poll<T> {
        // SAFETY: at the end of the extent, which frees its blocks later.
        let is_left = home.is_ending() && !unsafe { Begun::has_unwound(fiber) };
        if !is_left {
            assert!(pinned::cancel(context.waker()), "{NOT_HERE}");
            return Poll::Pending;
        }
        // SAFETY: at the end of the extent, which has not unwound the fiber.
        let polled = unsafe { Self::resume(fiber, context) };
        if polled.is_ready() {
            self.0 = State::Ended;
        }
        polled
    }
}

impl<F, T, const IS_TASK: bool> Drop for Inner<F, T, IS_TASK> {
    #[inline]
    fn drop(&mut self) {
        if let State::Begun { .. } = self.0 {
            self.drop_begun();
        }
    }
}

impl<F, T: 'static, const IS_TASK: bool> Inner<F, T, IS_TASK> {
    #[cold]
    fn drop_begun(&mut self) {
        let State::Begun { fiber, home } = std::mem::replace(&mut self.0, State::Ended) else {
            return;
        };
        if !home.is_here() {
            if home.is_ending() {
                // SAFETY: the end of the extent frees the block later.
                unsafe { Begun::unwind_at_end(fiber) };
            }
            return;
        }
        /// Frees the fiber, also if a destructor on its stack panics.
        struct Frees<T: 'static>(NonNull<Begun<T>>);
        impl<T> Drop for Frees<T> {
            fn drop(&mut self) {
                // SAFETY: it has ended, is in the list, and its future is being dropped.
                unsafe { Begun::free(self.0) };
            }
        }
        let frees = Frees(fiber);
        // SAFETY: in the extent of the fiber, which does not run when its future is dropped.
        unsafe { Begun::switch(frees.0) }.unwind();
    }
}
