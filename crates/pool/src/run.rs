//! Parallel work that a task of any runtime awaits, without blocking a worker of the
//! runtime.

use std::future::Future;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;

use blitz_io_channel::oneshot;

use crate::scope::{Scope, scope};
use crate::spawn::spawn_in;
use crate::thread_pool::{ThreadPool, with_current};

/// The result of a closure that runs in a pool. See [`run`].
///
/// # Cancel safety
///
/// If the future is dropped before the closure has begun, the closure never runs. If it is
/// dropped later, the closure runs to its end, and the result is dropped in the pool. A
/// closure borrows nothing, so no thread has to wait for it. The pool runs its closures
/// even if the pool is dropped.
#[must_use = "a future does nothing unless it is awaited, and its closure may not run"]
#[derive(Debug)]
pub struct Run<R> {
    result: oneshot::Receiver<thread::Result<R>>,
}

impl<R> Future for Run<R> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        Pin::new(&mut self.result)
            .poll(cx)
            .map(|result| match result {
                Ok(Ok(value)) => value,
                Ok(Err(payload)) => panic::resume_unwind(payload),
                Err(_) => panic!("the pool has dropped a closure that it was to run"),
            })
    }
}

/// Runs `f` in the pool of this thread, or the global one, and returns a future of its
/// result, for a task of any runtime. `f` begins even if the future is not polled.
///
/// A worker of the pool that blocks on the future runs no jobs while it waits: call
/// [`join`](crate::join()) or [`scope`] there.
///
/// # Panics
///
/// The future panics with `f`'s panic.
///
/// # Examples
///
/// ```
/// use blitz_io::pool;
/// # pollster::block_on(async {
/// let sum = pool::run(|| pool::map_reduce(0..1001, 0, |n| n, |a, b| a + b)).await;
/// assert_eq!(sum, Some(500_500));
/// # });
/// ```
pub fn run<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> Run<R> {
    with_current(|pool| pool.run(f))
}

/// Runs `f` with a [`Scope`] in the pool of this thread, or the global one, and returns a
/// future that is ready when all jobs of the scope have ended.
///
/// The scope's jobs may borrow those of `f`'s own variables that outlive the scope. They
/// may not borrow from the task, which may be cancelled while they run.
///
/// # Panics
///
/// The future panics if `f` or a job panics.
///
/// # Examples
///
/// ```
/// use blitz_io::pool;
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// # pollster::block_on(async {
/// let count = Arc::new(AtomicUsize::new(0));
/// let counter = count.clone();
/// pool::scope_async(move |scope| {
///     for _ in 0..10 {
///         let counter = counter.clone();
///         scope.spawn(move |_| {
///             counter.fetch_add(1, Ordering::Relaxed);
///         });
///     }
/// })
/// .await;
/// assert_eq!(count.load(Ordering::Relaxed), 10);
/// # });
/// ```
pub fn scope_async<R: Send + 'static>(
    f: impl FnOnce(&Scope<'static>) -> R + Send + 'static,
) -> Run<R> {
    run(move || scope(f))
}

impl ThreadPool {
    /// Runs `f` in this pool and returns a future of its result; see [`run`](crate::run()).
    ///
    /// # Panics
    ///
    /// The future panics with `f`'s panic.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::pool;
    /// let two = pool::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// // With the crate pollster.
    /// assert_eq!(pollster::block_on(two.run(|| 6 * 7)), 42);
    /// ```
    pub fn run<R: Send + 'static>(&self, f: impl FnOnce() -> R + Send + 'static) -> Run<R> {
        let (sender, result) = oneshot::channel();
        spawn_in(&self.registry, move || {
            if sender.is_closed() {
                return;
            }
            // If the task has been dropped, the result is dropped here. If that panics, the pool's
            // handler gets the panic.
            let _ = sender.send_as_part(panic::catch_unwind(AssertUnwindSafe(f)));
        });
        Run { result }
    }

    /// Runs `f` with a [`Scope`] in this pool and returns a future that is ready when all
    /// jobs have ended; see [`scope_async`](crate::scope_async()).
    ///
    /// # Panics
    ///
    /// The future panics if `f` or a job panics.
    pub fn scope_async<R: Send + 'static>(
        &self,
        f: impl FnOnce(&Scope<'static>) -> R + Send + 'static,
    ) -> Run<R> {
        self.run(move || scope(f))
    }
}
