//! The future that resumes a stack.

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

use corosensei::{Coroutine, CoroutineResult};

use crate::builder::{Builder, Settings};
use crate::home::{self, Home};
use crate::running::{Resume, Resumption, Running, Unwound};
use crate::sanitizer::Sanitized;
use crate::stack::Stack;

/// A fiber that any executor can run.
///
/// It is not `Send`: use `block_on`, `LocalSet`, or `spawn_local` of any executor. Dropping it
/// unwinds its stack, so destructors run; only while its thread ends it is leaked instead. Created by
/// [`run`].
///
/// ```
/// use blitz_io::fiber;
///
/// let fiber = fiber::run(|| 6 * 7);
/// assert_eq!(pollster::block_on(fiber), 42);
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
/// The function need not be `Send`. The fiber runs under any executor.
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

impl<T: 'static> Fiber<T> {
    pub(crate) fn new<F>(inner: Inner<F, T>) -> Self
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

const NOT_HERE: &str = "a fiber was polled on another thread, or while its thread ends";

/// A stack, and the way to it.
struct Switch<T> {
    coroutine: Coroutine<Resume, (), T, Stack>,
    sanitized: Sanitized,
}

impl<T> Switch<T> {
    #[inline(always)]
    fn resume(&mut self, with: Resume) -> CoroutineResult<(), T> {
        let Self {
            coroutine,
            sanitized,
        } = self;
        sanitized.run(|| coroutine.resume(with))
    }
}

/// A fiber, with the type of its function.
///
/// It is polled by one thread, and unwound by that thread: a drop elsewhere leaks it
/// (`home.rs`).
pub(crate) struct Inner<F, T: 'static>(State<F, T>);

enum State<F, T: 'static> {
    New(Option<(F, Settings)>),
    Begun { switch: Switch<T>, home: Home },
    Ended,
}

// The stack does not move, and nothing refers to the rest.
impl<F, T> Unpin for Inner<F, T> {}

impl<F, T> Inner<F, T>
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
        State::Begun { switch, home }
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
        Switch {
            coroutine,
            sanitized: Sanitized::new(),
        }
    }
}

#[cold]
fn no_stack(name: Option<&str>, size: usize, error: &std::io::Error) -> ! {
    let name = name.unwrap_or("<unnamed>");
    panic!("no stack of {size} bytes for the fiber '{name}': {error}");
}

impl<F, T> Future for Inner<F, T>
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
        let State::Begun { switch, home } = &mut self.0 else {
            panic!("a fiber was polled after it had ended");
        };
        assert!(home.is_here(), "{}", NOT_HERE);
        let resumption = Resumption::new(context);
        match switch.resume(Some(NonNull::from(&resumption))) {
            CoroutineResult::Yield(()) => Poll::Pending,
            CoroutineResult::Return(output) => {
                self.0 = State::Ended;
                Poll::Ready(output)
            }
        }
    }
}

impl<F, T> Drop for Inner<F, T> {
    #[inline]
    fn drop(&mut self) {
        if let State::Begun { .. } = self.0 {
            self.drop_begun();
        }
    }
}

impl<F, T: 'static> Inner<F, T> {
    #[cold]
    fn drop_begun(&mut self) {
        let State::Begun { switch, home } = std::mem::replace(&mut self.0, State::Ended) else {
            return;
        };
        if switch.coroutine.done() {
            // It has panicked.
        } else if home.is_here() {
            unwind(switch);
        } else {
            std::mem::forget(switch);
        }
    }
}

/// Unwinds the stack of a fiber that is dropped on its own thread.
fn unwind<T>(mut switch: Switch<T>) {
    if !switch.coroutine.started() {
        return;
    }
    let unwound = catch_unwind(AssertUnwindSafe(|| switch.resume(None)));
    debug_assert!(switch.coroutine.done());
    match unwound {
        Ok(_) => {}
        Err(payload) if payload.is::<Unwound>() => {}
        // While this thread panics, a second panic would end the process.
        Err(payload) if std::thread::panicking() => std::mem::forget(payload),
        Err(payload) => resume_unwind(payload),
    }
}
