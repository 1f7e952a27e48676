//! The runtimes that are measured, behind one trait.
//!
//! Each is started once for each number of workers and kept, see [`Cache`].
//! Between two samples nothing is left to do on any of them, so their threads
//! sleep, and only the threads of the one that is being measured are awake.

mod cache;
#[cfg(test)]
mod liar;
mod smol;
mod tokio_names;

use std::time::Duration;

pub use self::cache::Cache;
#[cfg(test)]
pub(crate) use self::liar::Liar;
pub use self::smol::Smol;
pub use self::tokio_names::{Blitz, Tokio};

/// A multi-thread runtime in its best documented configuration.
///
/// A value of it is a handle: cheap to copy, and good for ever.
pub trait Runtime: Copy + Send + Sync + 'static {
    /// A spawned task; the value with which it ends. A panic of the task goes
    /// on in whoever awaits it. Dropping it may or may not end the task.
    type Task<T: Send + 'static>: Future<Output = T> + Send + Unpin + 'static;
    /// A timer that starts when it is polled for the first time.
    type Sleep: Future<Output = ()> + Send + 'static;

    /// Starts a runtime with so many workers. It is never stopped.
    fn start(workers: usize) -> Self;
    /// The runtimes of this kind that were started.
    fn cache() -> &'static Cache<Self>;

    /// Runs a future on this thread, which is none of the runtime's.
    fn block_on<F: Future>(self, future: F) -> F::Output;
    /// Spawns from a thread that is none of the runtime's.
    fn spawn_from_outside<F>(self, future: F) -> Self::Task<F::Output>
    where
        F: Future<Output: Send> + Send + 'static;
    /// Spawns from a task of this runtime.
    fn spawn<F>(self, future: F) -> Self::Task<F::Output>
    where
        F: Future<Output: Send> + Send + 'static;
    /// Spawns from a task of this runtime, for nobody to await.
    fn spawn_detached<F>(self, future: F)
    where
        F: Future<Output: Send> + Send + 'static;
    /// Cancels a task and waits until it is gone. `true` if it had not ended
    /// by itself before.
    fn cancel<T: Send + 'static>(task: Self::Task<T>) -> impl Future<Output = bool> + Send;
    /// Lets the other tasks run.
    fn yield_now() -> impl Future<Output = ()> + Send;
    /// A timer that will go off after `duration`.
    fn sleep(duration: Duration) -> Self::Sleep;
    /// The same future without the limit of how much a task may do at a time.
    fn unconstrained<F: Future + Send>(future: F) -> impl Future<Output = F::Output> + Send;
    /// Runs `job` on a thread that may block.
    fn spawn_blocking<T: Send + 'static>(
        job: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = T> + Send;

    /// The runtime with so many workers, started when it is asked for first.
    fn with_workers(workers: usize) -> Self {
        Self::cache().get(workers, 0, Self::start)
    }

    /// Two runtimes with so many workers each.
    fn pair(workers: usize) -> [Self; 2] {
        [0, 1].map(|which| Self::cache().get(workers, which, Self::start))
    }
}

/// A runtime with a set of tasks that are awaited in the order they end.
pub trait Joins: Runtime {
    /// The set.
    type Set<T: Send + 'static>: Send + 'static;
    /// An empty set.
    fn new_set<T: Send + 'static>() -> Self::Set<T>;
    /// Spawns a task into the set, from a task of the runtime.
    fn spawn_on<F>(set: &mut Self::Set<F::Output>, future: F)
    where
        F: Future<Output: Send> + Send + 'static;
    /// The value of a task that has ended; `None` when none is left.
    fn join_next<T: Send + 'static>(
        set: &mut Self::Set<T>,
    ) -> impl Future<Output = Option<T>> + Send;
}

/// A runtime that comes with a channel for one message.
pub trait Oneshots: Runtime {
    /// The end that sends.
    type Sender<T: Send + 'static>: Send + 'static;
    /// The end that receives. `None` when the sender is gone.
    type Receiver<T: Send + 'static>: Future<Output = Option<T>> + Send + Unpin + 'static;
    /// A new channel.
    fn oneshot<T: Send + 'static>() -> (Self::Sender<T>, Self::Receiver<T>);
    /// Sends the message. `false` when nobody is there to receive it.
    fn send_once<T: Send + 'static>(sender: Self::Sender<T>, message: T) -> bool;
}

/// A runtime that comes with a bounded channel.
pub trait Channels: Runtime {
    /// The end that sends.
    type Tx: Send + 'static;
    /// The end that receives.
    type Rx: Send + 'static;
    /// A channel with room for `capacity` messages.
    fn channel(capacity: usize) -> (Self::Tx, Self::Rx);
    /// Waits for room. `false` when nobody is there to receive.
    fn send(tx: &Self::Tx, message: u64) -> impl Future<Output = bool> + Send;
    /// The next message; `None` when the sender is gone.
    fn recv(rx: &mut Self::Rx) -> impl Future<Output = Option<u64>> + Send;
}
