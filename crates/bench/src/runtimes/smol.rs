//! smol: its executor on threads of its own, as the executor's documentation
//! shows it, and its timers, blocking threads and channel.
//!
//! The executor is leaked, which its documentation calls faster.

use std::future::pending;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use async_executor::{Executor, StaticExecutor, Task};
use async_io::Timer;
use futures_lite::future;

use super::{Channels, Job, Later, Runtime, Spawn};

/// smol.
#[derive(Clone, Copy, Debug)]
pub struct Smol(&'static StaticExecutor);

/// A smol timer, without the time that it returns.
#[derive(Debug)]
pub struct SmolSleep(Timer);

impl Future for SmolSleep {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx).map(drop)
    }
}

impl Runtime for Smol {
    type Task<T: Send + 'static> = Task<T>;
    type Sleep = SmolSleep;

    fn start(workers: usize) -> Smol {
        let executor = Executor::new().leak();
        for worker in 0..workers {
            thread::Builder::new()
                .name(format!("smol-{worker}"))
                .spawn(|| future::block_on(executor.run(pending::<()>())))
                .expect("the system has threads for a runtime");
        }
        Smol(executor)
    }

    fn block_on<F: Future>(self, future: F) -> F::Output {
        future::block_on(future)
    }

    #[inline]
    fn spawn_from_outside<F: Spawn>(self, future: F) -> Task<F::Output> {
        self.0.spawn(future)
    }

    #[inline]
    fn spawn<F: Spawn>(self, future: F) -> Task<F::Output> {
        self.0.spawn(future)
    }

    #[inline]
    fn spawn_detached<F: Spawn>(self, future: F) {
        self.0.spawn(future).detach();
    }

    #[inline]
    async fn cancel<T: Send + 'static>(task: Task<T>) -> bool {
        task.cancel().await.is_none()
    }

    #[inline]
    fn yield_now() -> impl Future<Output = ()> + Send {
        future::yield_now()
    }

    #[inline]
    fn sleep(duration: Duration) -> SmolSleep {
        SmolSleep(Timer::after(duration))
    }

    /// There is no limit.
    #[inline]
    fn unconstrained<F: Future + Send>(future: F) -> impl Later<F::Output> {
        future
    }

    #[inline]
    fn spawn_blocking<T: Send + 'static>(job: impl Job<T>) -> impl Later<T> {
        blocking::unblock(job)
    }
}

impl Channels for Smol {
    type Tx = async_channel::Sender<u64>;
    type Rx = async_channel::Receiver<u64>;

    fn channel(capacity: usize) -> (Self::Tx, Self::Rx) {
        async_channel::bounded(capacity)
    }

    #[inline]
    async fn send(tx: &Self::Tx, message: u64) -> bool {
        tx.send(message).await.is_ok()
    }

    #[inline]
    async fn recv(rx: &mut Self::Rx) -> Option<u64> {
        rx.recv().await.ok()
    }
}
