//! The same scenario under Tokio, smol, and a plain `block_on`.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

/// Returns a duration in milliseconds.
#[must_use]
pub const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A runtime for futures.
pub trait Runtime: Copy + Send + Sync + 'static {
    /// Runs a future to its end, on this thread.
    fn block_on<F: Future>(self, future: F) -> F::Output;

    /// Runs a future concurrently with the others.
    fn start(self, future: impl Future<Output = ()> + Send + 'static);

    /// Waits for some time.
    fn sleep(self, duration: Duration) -> impl Future<Output = ()> + Send;

    /// Runs a future concurrently with the others, even if the result is not awaited.
    fn spawn<F>(self, future: F) -> Task<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let task = Task(Arc::default());
        let end = task.0.clone();
        self.start(async move {
            let guard = Unfinished(end);
            let result = future.await;
            guard.finish(result);
        });
        task
    }

    /// Returns `None` if the future takes longer than this. Then it is dropped.
    fn timeout<F: Future + Send>(
        self,
        duration: Duration,
        future: F,
    ) -> impl Future<Output = Option<F::Output>> + Send
    where
        F::Output: Send,
    {
        async move {
            let (mut future, mut sleep) = (pin!(future), pin!(self.sleep(duration)));
            std::future::poll_fn(|context| {
                if let Poll::Ready(result) = future.as_mut().poll(context) {
                    return Poll::Ready(Some(result));
                }
                sleep.as_mut().poll(context).map(|()| None)
            })
            .await
        }
    }
}

enum Progress<T> {
    Runs(Option<Waker>),
    Done(T),
    Panicked,
}

impl<T> Default for Progress<T> {
    fn default() -> Self {
        Self::Runs(None)
    }
}

/// The future result of a spawned future. Panics if the spawned future did.
pub struct Task<T>(Arc<Mutex<Progress<T>>>);

struct Unfinished<T>(Arc<Mutex<Progress<T>>>);

impl<T> Unfinished<T> {
    fn finish(self, result: T) {
        self.end(Progress::Done(result));
    }

    fn end(&self, end: Progress<T>) {
        let mut progress = self.0.lock().unwrap();
        if let Progress::Runs(waker) = &mut *progress {
            let waker = waker.take();
            *progress = end;
            drop(progress);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

impl<T> Drop for Unfinished<T> {
    fn drop(&mut self) {
        self.end(Progress::Panicked);
    }
}

impl<T> Future for Task<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut progress = self.0.lock().unwrap();
        match std::mem::replace(&mut *progress, Progress::Panicked) {
            Progress::Runs(_) => {
                *progress = Progress::Runs(Some(context.waker().clone()));
                Poll::Pending
            }
            Progress::Done(result) => Poll::Ready(result),
            Progress::Panicked => {
                drop(progress);
                panic!("a spawned future panicked");
            }
        }
    }
}

/// Tokio, with four workers.
#[derive(Clone, Copy, Debug)]
pub struct Tokio;

impl Runtime for Tokio {
    fn block_on<F: Future>(self, future: F) -> F::Output {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(4)
            .enable_time()
            .build()
            .unwrap()
            .block_on(future)
    }

    fn start(self, future: impl Future<Output = ()> + Send + 'static) {
        tokio::spawn(future);
    }

    fn sleep(self, duration: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(duration)
    }
}

/// smol's global executor.
#[derive(Clone, Copy, Debug)]
pub struct Smol;

impl Runtime for Smol {
    fn block_on<F: Future>(self, future: F) -> F::Output {
        smol::block_on(future)
    }

    fn start(self, future: impl Future<Output = ()> + Send + 'static) {
        smol::spawn(future).detach();
    }

    async fn sleep(self, duration: Duration) {
        smol::Timer::after(duration).await;
    }
}

/// A `block_on`, and a thread for every future.
#[derive(Clone, Copy, Debug)]
pub struct Bare;

impl Runtime for Bare {
    fn block_on<F: Future>(self, future: F) -> F::Output {
        pollster::block_on(future)
    }

    fn start(self, future: impl Future<Output = ()> + Send + 'static) {
        thread::spawn(move || pollster::block_on(future));
    }

    fn sleep(self, duration: Duration) -> impl Future<Output = ()> + Send {
        let timer = Task(Arc::default());
        let end = Unfinished(timer.0.clone());
        thread::spawn(move || {
            thread::sleep(duration);
            end.finish(());
        });
        timer
    }
}

/// Declares tests that run under each [`Runtime`]. The argument is the runtime. With `--cfg ours_alone`
/// (see [`the_same`](crate::the_same)), smol is not among them.
///
/// ```
/// blitz_io_testing::everywhere! {
///     async fn spawned_futures_run(rt) {
///         let task = rt.spawn(async { 7 });
///         assert_eq!(task.await, 7);
///     }
/// }
/// ```
#[macro_export]
macro_rules! everywhere {
    ($($(#[$attribute:meta])* async fn $name:ident($rt:ident) $body:block)*) => {
        $(
            mod $name {
                #[allow(unused_imports)]
                use super::*;

                #[allow(unused_imports)]
                use $crate::Runtime as _;

                async fn scenario<R: $crate::Runtime>(
                    #[allow(unused_variables)] $rt: R,
                ) $body

                $(#[$attribute])*
                #[test]
                fn tokio() {
                    $crate::Runtime::block_on($crate::Tokio, scenario($crate::Tokio));
                }

                $(#[$attribute])*
                #[test]
                #[cfg(not(ours_alone))]
                fn smol() {
                    $crate::Runtime::block_on($crate::Smol, scenario($crate::Smol));
                }

                $(#[$attribute])*
                #[test]
                fn bare() {
                    $crate::Runtime::block_on($crate::Bare, scenario($crate::Bare));
                }
            }
        )*
    };
}

#[cfg(test)]
mod tests {
    use super::ms;

    everywhere! {
        async fn what_takes_too_long_is_given_up(rt) {
            assert_eq!(rt.timeout(ms(5), rt.sleep(ms(2000))).await, None);
            assert_eq!(rt.timeout(ms(2000), async { 7 }).await, Some(7));
        }

        #[should_panic = "a spawned future panicked"]
        async fn a_panic_is_passed_on(rt) {
            let task = rt.spawn(async { assert_eq!(1, 2) });
            task.await;
        }
    }
}
