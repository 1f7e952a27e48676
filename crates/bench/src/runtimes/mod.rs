//! The runtimes that are measured, behind one trait.
//!
//! Each is started once for each number of workers and kept (`kept.rs`).
//! Between two samples no runtime has work left, so their threads sleep, and only the
//! threads of the runtime under measurement are awake.

mod kept;
#[cfg(test)]
mod liar;
mod smol;
mod tokio_names;

use std::time::Duration;

pub(crate) use self::kept::kept;
#[cfg(test)]
pub(crate) use self::liar::Liar;
pub use self::smol::Smol;
pub use self::tokio_names::{Blitz, Tokio};

/// A future that any thread may run.
pub trait Spawn: Future<Output: Send> + Send + 'static {}

impl<F: Future<Output: Send> + Send + 'static> Spawn for F {}

/// A future of a `T`, for a task that moves between threads.
pub trait Later<T>: Future<Output = T> + Send {}

impl<T, F: Future<Output = T> + Send> Later<T> for F {}

/// A function that any thread may run.
pub trait Job<T>: FnOnce() -> T + Send + 'static {}

impl<T, F: FnOnce() -> T + Send + 'static> Job<T> for F {}

/// A multi-thread runtime in its best documented configuration.
///
/// A value is a handle: cheap to copy, and valid for ever.
pub trait Runtime: Copy + Send + Sync + 'static {
    /// A spawned task; its output is the value with which the task ends. A panic of the
    /// task continues in the task that awaits it. Dropping it may or may not end the task.
    type Task<T: Send + 'static>: Future<Output = T> + Send + Unpin + 'static;
    /// A timer that starts when it is polled for the first time.
    type Sleep: Future<Output = ()> + Send + 'static;

    /// Starts a runtime with `workers` workers. It is never stopped.
    fn start(workers: usize) -> Self;

    /// Runs a future on this thread, which does not belong to the runtime.
    fn block_on<F: Future>(self, future: F) -> F::Output;
    /// Spawns from a thread that does not belong to the runtime.
    fn spawn_from_outside<F: Spawn>(self, future: F) -> Self::Task<F::Output>;
    /// Spawns from a task of this runtime.
    fn spawn<F: Spawn>(self, future: F) -> Self::Task<F::Output>;
    /// Spawns from a task of this runtime a task that is never awaited.
    fn spawn_detached<F: Spawn>(self, future: F);
    /// Cancels a task and waits until it has been dropped. Returns `true` if the task had
    /// not ended before.
    fn cancel<T: Send + 'static>(task: Self::Task<T>) -> impl Later<bool>;
    /// Lets the other tasks run.
    fn yield_now() -> impl Future<Output = ()> + Send;
    /// Creates a timer that fires after `duration`.
    fn sleep(duration: Duration) -> Self::Sleep;
    /// Removes the limit on the work in one poll of the future.
    fn unconstrained<F: Future + Send>(future: F) -> impl Later<F::Output>;
    /// Runs `job` on a thread that may block.
    fn spawn_blocking<T: Send + 'static>(job: impl Job<T>) -> impl Later<T>;

    /// Returns the runtime with `workers` workers, started on first use.
    fn with_workers(workers: usize) -> Self {
        kept::<Self, _>(workers, 0, Self::start)
    }

    /// Returns two runtimes with `workers` workers each.
    fn pair(workers: usize) -> [Self; 2] {
        [0, 1].map(|which| kept::<Self, _>(workers, which, Self::start))
    }
}

/// A runtime with a set of tasks that are awaited in the order in which they end.
pub trait Joins: Runtime {
    /// The set.
    type Set<T: Send + 'static>: Send + 'static;
    /// Creates an empty set.
    fn new_set<T: Send + 'static>() -> Self::Set<T>;
    /// Spawns a task into the set, from a task of the runtime.
    fn spawn_on<F: Spawn>(set: &mut Self::Set<F::Output>, future: F);
    /// Returns the value of a task that has ended, or `None` if none is left.
    fn join_next<T: Send + 'static>(set: &mut Self::Set<T>) -> impl Later<Option<T>>;
}

/// A runtime that comes with a channel for one message.
pub trait Oneshots: Runtime {
    /// The sending end.
    type Sender<T: Send + 'static>: Send + 'static;
    /// The receiving end. Resolves to `None` if the sender was dropped.
    type Receiver<T: Send + 'static>: Future<Output = Option<T>> + Send + Unpin + 'static;
    /// Creates a channel.
    fn oneshot<T: Send + 'static>() -> (Self::Sender<T>, Self::Receiver<T>);
    /// Sends the message. Returns `false` if the receiver was dropped.
    fn send_once<T: Send + 'static>(sender: Self::Sender<T>, message: T) -> bool;
}

/// A runtime that comes with a bounded channel.
pub trait Channels: Runtime {
    /// The sending end.
    type Tx: Send + 'static;
    /// The receiving end.
    type Rx: Send + 'static;
    /// Creates a channel with room for `capacity` messages.
    fn channel(capacity: usize) -> (Self::Tx, Self::Rx);
    /// Waits for room. Returns `false` if the receiver was dropped.
    fn send(tx: &Self::Tx, message: u64) -> impl Later<bool>;
    /// Returns the next message, or `None` if the sender was dropped.
    fn recv(rx: &mut Self::Rx) -> impl Later<Option<u64>>;
}
