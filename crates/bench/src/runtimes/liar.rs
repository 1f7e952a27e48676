//! A runtime that does half the work, to check that verification detects it.

use std::future::{Ready, ready};
use std::time::Duration;

use super::tokio_names::TokioTask;
use super::{Channels, Job, Joins, Later, Oneshots, Runtime, Spawn, Tokio};

/// Tokio, except that its sleeps end at once, its sets forget every hundredth task,
/// and a message arrives with a smaller number than was sent.
#[derive(Clone, Copy, Debug)]
pub struct Liar(Tokio);

impl Runtime for Liar {
    type Task<T: Send + 'static> = TokioTask<T>;
    type Sleep = Ready<()>;

    fn start(workers: usize) -> Liar {
        Liar(Tokio::with_workers(workers))
    }
    fn block_on<F: Future>(self, future: F) -> F::Output {
        self.0.block_on(future)
    }
    fn spawn_from_outside<F: Spawn>(self, future: F) -> TokioTask<F::Output> {
        self.0.spawn_from_outside(future)
    }
    fn spawn<F: Spawn>(self, future: F) -> TokioTask<F::Output> {
        self.0.spawn(future)
    }
    fn spawn_detached<F: Spawn>(self, future: F) {
        self.0.spawn_detached(future);
    }
    /// Never cancels anything that has not ended.
    async fn cancel<T: Send + 'static>(task: TokioTask<T>) -> bool {
        Tokio::cancel(task).await;
        false
    }
    fn yield_now() -> impl Future<Output = ()> + Send {
        Tokio::yield_now()
    }
    fn sleep(_duration: Duration) -> Ready<()> {
        ready(())
    }
    fn unconstrained<F: Future + Send>(future: F) -> impl Later<F::Output> {
        future
    }
    fn spawn_blocking<T: Send + 'static>(job: impl Job<T>) -> impl Later<T> {
        ready(job())
    }
}

impl Joins for Liar {
    type Set<T: Send + 'static> = (u64, <Tokio as Joins>::Set<T>);

    fn new_set<T: Send + 'static>() -> Self::Set<T> {
        (0, Tokio::new_set())
    }
    fn spawn_on<F: Spawn>((spawned, set): &mut Self::Set<F::Output>, future: F) {
        *spawned += 1;
        if *spawned % 100 != 0 {
            Tokio::spawn_on(set, future);
        }
    }
    async fn join_next<T: Send + 'static>((_, set): &mut Self::Set<T>) -> Option<T> {
        Tokio::join_next(set).await
    }
}

impl Oneshots for Liar {
    type Sender<T: Send + 'static> = <Tokio as Oneshots>::Sender<T>;
    type Receiver<T: Send + 'static> = <Tokio as Oneshots>::Receiver<T>;

    fn oneshot<T: Send + 'static>() -> (Self::Sender<T>, Self::Receiver<T>) {
        Tokio::oneshot()
    }
    /// Loses the message.
    fn send_once<T: Send + 'static>(_sender: Self::Sender<T>, _message: T) -> bool {
        true
    }
}

impl Channels for Liar {
    type Tx = <Tokio as Channels>::Tx;
    type Rx = <Tokio as Channels>::Rx;

    fn channel(capacity: usize) -> (Self::Tx, Self::Rx) {
        Tokio::channel(capacity)
    }
    async fn send(tx: &Self::Tx, message: u64) -> bool {
        Tokio::send(tx, message.saturating_sub(1)).await
    }
    async fn recv(rx: &mut Self::Rx) -> Option<u64> {
        Tokio::recv(rx).await
    }
}
