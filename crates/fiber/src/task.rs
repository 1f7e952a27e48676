//! Fibers as tasks of the runtime.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use blitz_io_runtime::pinned::{self, Pinnable};
use blitz_io_runtime::runtime::Handle;
use blitz_io_runtime::task::JoinHandle;

use crate::builder::{Builder, Settings};
use crate::fiber::Inner;

/// A fiber whose function is `Send`.
struct Task<F, T: 'static>(Inner<F, T, true>);

impl<F, T> Future for Task<F, T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    type Output = T;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        Pin::new(&mut self.0).poll(context)
    }
}

// SAFETY: before the first poll there is only the function, which is `Send`. Later the drop on
// another thread touches nothing of the stack.
unsafe impl<F, T> Pinnable for Task<F, T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
}

/// Starts a fiber as a task of the current runtime. It runs also if the handle is dropped.
///
/// The fiber begins on any worker, and stays on its thread from then on. A panic in it is
/// reported by the handle. [`abort`](JoinHandle::abort), and the end of the runtime, unwind its
/// stack where it waits, so destructors run. With a current-thread runtime the same goes for the end of
/// `block_on`, unless that is called in [`extent`](crate::extent). In each case the task counts as cancelled.
///
/// Code that catches the unwinding, with [`catch_unwind`](std::panic::catch_unwind), continues it with its next wait.
/// If the code returns instead, its value is dropped. It must do one of the two: the thread waits for it.
///
/// # Panics
///
/// Outside of a runtime. If there is no memory for a stack, the *fiber* panics.
///
/// ```
/// use blitz_io::{fiber, runtime::Runtime};
///
/// let runtime = Runtime::new()?;
/// let sum = runtime.block_on(async {
///     let one = fiber::spawn(|| 1);
///     let two = fiber::spawn(|| fiber::block_on(async { 2 }));
///     one.await.unwrap() + two.await.unwrap()
/// });
/// assert_eq!(sum, 3);
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn spawn<F, T>(function: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    match pinned::spawn(Task(Inner::new(function, Settings::default())), None) {
        Ok(join) => join,
        Err(error) => panic!("{error}"),
    }
}

impl Builder {
    /// Starts the fiber on the current runtime, as [`spawn`] does.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the size of the stack or of its guard is out of bounds; `Other` outside of a runtime.
    ///
    /// ```
    /// use blitz_io::fiber;
    ///
    /// assert!(fiber::Builder::new().spawn(|| {}).is_err()); // no runtime
    /// ```
    #[track_caller]
    pub fn spawn<F, T>(self, function: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let settings = self.settings()?;
        let name = settings.name.clone();
        pinned::spawn(Task(Inner::new(function, settings)), name.as_deref())
            .map_err(io::Error::other)
    }

    /// Starts the fiber on a runtime.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the size of the stack or of its guard is out of bounds.
    ///
    /// ```
    /// use blitz_io::{fiber, runtime::Runtime};
    ///
    /// let runtime = Runtime::new()?;
    /// let fiber = fiber::Builder::new().spawn_on(|| 1, runtime.handle())?;
    /// assert_eq!(fiber::block_on(fiber).unwrap(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_on<F, T>(self, function: F, handle: &Handle) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let settings = self.settings()?;
        let name = settings.name.clone();
        let task = Task(Inner::new(function, settings));
        Ok(pinned::spawn_on(task, name.as_deref(), handle))
    }
}
