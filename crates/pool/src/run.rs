//! Parallel work that a task awaits, in any runtime: no worker of the runtime is blocked.

use std::future::Future;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;

use blitz_channel::oneshot;

use crate::in_worker::current;
use crate::registry::Registry;
use crate::scope::{Scope, scope};
use crate::spawn::spawn_in;
use crate::thread_pool::ThreadPool;

/// The result of a closure that runs in a pool. See [`run`].
///
/// # Cancel safety
///
/// Dropped before the closure has begun, it is never run. Dropped later, the closure runs to
/// its end, and the result is dropped there. A closure borrows nothing, so nobody has to
/// wait for it. The pool runs what it was given even if it is dropped.
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
/// A worker of the pool that blocks on the future runs nothing meanwhile: call
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
    run_in(&current(), f)
}

/// Runs `f` with a [`Scope`] in the pool of this thread, or the global one, and returns a
/// future that is ready when all jobs of the scope have ended.
///
/// The scope's jobs may borrow from `f`'s own variables as far as they outlive the scope, not
/// from the task: the task may be cancelled while they run.
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

fn run_in<R: Send + 'static>(
    registry: &std::sync::Arc<Registry>,
    f: impl FnOnce() -> R + Send + 'static,
) -> Run<R> {
    let (sender, result) = oneshot::channel();
    spawn_in(registry, move || {
        if sender.is_closed() {
            return;
        }
        // Not delivered: the task is gone, and the result is dropped here. If that panics,
        // the pool's handler gets it.
        let _ = sender.send(panic::catch_unwind(AssertUnwindSafe(f)));
    });
    Run { result }
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
        run_in(&self.registry, f)
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
