//! Runtimes under Tokio's names: its own, and ours. The source is the same, so
//! neither is used in a better way than the other.

use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use super::{Channels, Job, Joins, Later, Oneshots, Runtime, Spawn};

/// Implements the traits, with the contents of the modules `runtime`, `task`, `time`,
/// `mpsc` and `oneshot` at the place of use. The runtime is built as `#[main]` builds it.
macro_rules! under_tokios_names {
    ($doc:literal, $runtime:ident, $task:ident, $receiver:ident) => {
        #[doc = $doc]
        #[derive(Clone, Copy, Debug)]
        pub struct $runtime(&'static runtime::Runtime);

        /// A task whose panic continues in the task that awaits it.
        #[derive(Debug)]
        pub struct $task<T>(task::JoinHandle<T>);

        impl<T> Future for $task<T> {
            type Output = T;

            #[inline]
            fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
                let ended = Pin::new(&mut self.0).poll(cx);
                ended.map(|end| end.unwrap_or_else(|error| resume_unwind(error.into_panic())))
            }
        }

        impl Runtime for $runtime {
            type Task<T: Send + 'static> = $task<T>;
            type Sleep = time::Sleep;

            fn start(workers: usize) -> $runtime {
                let runtime = runtime::Builder::new_multi_thread()
                    .worker_threads(workers)
                    .enable_time()
                    .build()
                    .expect("the system has threads for a runtime");
                $runtime(Box::leak(Box::new(runtime)))
            }

            fn block_on<F: Future>(self, future: F) -> F::Output {
                self.0.block_on(future)
            }

            #[inline]
            fn spawn_from_outside<F: Spawn>(self, future: F) -> $task<F::Output> {
                $task(self.0.spawn(future))
            }

            #[inline]
            fn spawn<F: Spawn>(self, future: F) -> $task<F::Output> {
                $task(task::spawn(future))
            }

            #[inline]
            fn spawn_detached<F: Spawn>(self, future: F) {
                drop(task::spawn(future));
            }

            #[inline]
            async fn cancel<T: Send + 'static>(task: $task<T>) -> bool {
                task.0.abort();
                task.0.await.is_err_and(|error| error.is_cancelled())
            }

            #[inline]
            fn yield_now() -> impl Future<Output = ()> + Send {
                task::yield_now()
            }

            #[inline]
            fn sleep(duration: Duration) -> time::Sleep {
                time::sleep(duration)
            }

            #[inline]
            fn unconstrained<F: Future + Send>(future: F) -> impl Later<F::Output> {
                task::coop::unconstrained(future)
            }

            #[inline]
            fn spawn_blocking<T: Send + 'static>(job: impl Job<T>) -> impl Later<T> {
                $task(task::spawn_blocking(job))
            }
        }

        /// The receiving end of a oneshot channel.
        #[derive(Debug)]
        pub struct $receiver<T>(oneshot::Receiver<T>);

        impl<T> Future for $receiver<T> {
            type Output = Option<T>;

            #[inline]
            fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
                Pin::new(&mut self.0).poll(cx).map(Result::ok)
            }
        }

        impl Oneshots for $runtime {
            type Sender<T: Send + 'static> = oneshot::Sender<T>;
            type Receiver<T: Send + 'static> = $receiver<T>;

            #[inline]
            fn oneshot<T: Send + 'static>() -> (oneshot::Sender<T>, $receiver<T>) {
                let (sender, receiver) = oneshot::channel();
                (sender, $receiver(receiver))
            }

            #[inline]
            fn send_once<T: Send + 'static>(sender: oneshot::Sender<T>, message: T) -> bool {
                sender.send(message).is_ok()
            }
        }

        impl Channels for $runtime {
            type Tx = mpsc::Sender<u64>;
            type Rx = mpsc::Receiver<u64>;

            fn channel(capacity: usize) -> (Self::Tx, Self::Rx) {
                mpsc::channel(capacity)
            }

            #[inline]
            async fn send(tx: &Self::Tx, message: u64) -> bool {
                tx.send(message).await.is_ok()
            }

            #[inline]
            async fn recv(rx: &mut Self::Rx) -> Option<u64> {
                rx.recv().await
            }
        }
    };
}

/// Implements the set of tasks.
macro_rules! join_set_under_tokios_name {
    ($runtime:ident) => {
        impl Joins for $runtime {
            type Set<T: Send + 'static> = task::JoinSet<T>;

            fn new_set<T: Send + 'static>() -> task::JoinSet<T> {
                task::JoinSet::new()
            }

            #[inline]
            fn spawn_on<F: Spawn>(set: &mut task::JoinSet<F::Output>, future: F) {
                set.spawn(future);
            }

            #[inline]
            async fn join_next<T: Send + 'static>(set: &mut task::JoinSet<T>) -> Option<T> {
                set.join_next()
                    .await
                    .map(|end| end.unwrap_or_else(|error| resume_unwind(error.into_panic())))
            }
        }
    };
}

mod of_blitz {
    use blitz_io_channel::{mpsc, oneshot};
    use blitz_io_runtime::{runtime, task, time};

    use super::*;

    under_tokios_names!("Ours.", Blitz, BlitzTask, BlitzReceiver);
    join_set_under_tokios_name!(Blitz);
}

mod of_tokio {
    use tokio::sync::{mpsc, oneshot};
    use tokio::{runtime, task, time};

    use super::*;

    under_tokios_names!("Tokio.", Tokio, TokioTask, TokioReceiver);
    join_set_under_tokios_name!(Tokio);
}

pub use of_blitz::Blitz;
pub use of_tokio::Tokio;
#[cfg(test)]
pub(super) use of_tokio::TokioTask;
