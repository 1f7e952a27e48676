//! Children that are tasks of the runtime, and end before their parent continues.
//!
//! 1. A child is in `tasks` from its start on, or is aborted: `spawn` starts it first and then adds it
//!    under the lock, where it finds the reason to abort it once the scope has failed, ended or aborted all children. So
//!    after `abort_all` each child is aborted, also if another child starts it at the same time.
//! 2. The tracker counts a child until its future has been dropped. The scope's future closes the
//!    tracker and waits for it, so no child is left when that future is ready.
//! 3. The first panic is in `panic` before `failed` is notified. `Notify` keeps that permit until the
//!    scope's future, its only waiter, takes it.

use std::any::Any;
use std::future::{Future, pending, poll_fn};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use blitz_io_core::debug_is_name;
use blitz_io_observe::trace::Abort;
use blitz_io_observe::{Caller, Kind, Members, WaitKind, decisions};
use blitz_io_sync::task::Notify;
use blitz_io_sync::thread::Mutex;

use super::super::{TaskTracker, spawn, spawn_blocking};
use crate::kernel::task::{JoinHandle, ScopeHandle};

type Panic = Box<dyn Any + Send>;

/// Starts children of a [`parallel_scope`]. All clones start children of the same one, and a child may
/// have one.
///
/// ```
/// use blitz_io::{runtime::Runtime, task::{ParallelScope, parallel_scope}};
/// use std::pin::Pin;
///
/// fn walk(scope: ParallelScope, depth: u32) -> Pin<Box<dyn Future<Output = ()> + Send>> {
///     Box::pin(async move {
///         for _ in 0..depth {
///             scope.spawn(walk(scope.clone(), depth - 1));
///         }
///     })
/// }
///
/// Runtime::new()?.block_on(parallel_scope(|scope| walk(scope, 3)));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct ParallelScope(Arc<Shared>);

struct Shared {
    children: TaskTracker,
    /// Once children are to be aborted: the reason, for each that is started later.
    tasks: Mutex<Result<Vec<ScopeHandle>, Abort>>,
    panic: Mutex<Option<Panic>>,
    failed: Notify,
    members: Members,
}

/// Lets an async function have children that run in parallel, as tasks of the current runtime. The future
/// is ready when the closure's future and all children have ended; its output is that of the closure's
/// future. So a `?` in the closure waits for the children too: to end them first, see [`ParallelScope::abort_all`].
///
/// The children are `'static`: they own what they use, or share it by an `Arc`. They cannot borrow from
/// the function that awaits the scope. That would be unsound: its future may be leaked at any `.await`
/// (`mem::forget`), and then the borrow ends without a destructor, while workers poll the children. So
/// of three properties a scope has two:
///
/// | | awaited | parallel | borrows |
/// |---|---|---|---|
/// | [`scope`](super::scope()) | yes | no: all children are in one task | yes |
/// | `parallel_scope` | yes | yes | no |
/// | [`blocking_scope`](super::blocking_scope) | no: it blocks its thread | yes | yes |
///
/// A [`JoinSet`](crate::task::JoinSet) has such children too, but they may outlive the function: it
/// aborts them when it is dropped, and does not wait.
///
/// # Panics
///
/// Outside of a runtime, if a child is started. If the closure, its future or a child panics: the rest is
/// aborted, and when all children have ended, this function panics with the same value. Of several panics,
/// it is the first.
///
/// # Cancel safety
///
/// If the future is dropped, the closure's future is dropped and all children are aborted. Nothing
/// waits for them then.
///
/// ```
/// use blitz_io::{runtime::Runtime, task};
/// use std::sync::Arc;
///
/// let numbers: Arc<[u64]> = (0..1000).collect();
/// let sum = Runtime::new()?.block_on(task::parallel_scope(async |scope| {
///     let half = |range: std::ops::Range<usize>| {
///         let numbers = numbers.clone();
///         scope.spawn(async move { numbers[range].iter().sum::<u64>() })
///     };
///     let (left, right) = (half(0..500), half(500..1000));
///     left.await.unwrap() + right.await.unwrap()
/// }));
/// assert_eq!(sum, 499_500);
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn parallel_scope<F, Fut>(f: F) -> impl Future<Output = Fut::Output> + use<F, Fut>
where
    F: FnOnce(ParallelScope) -> Fut,
    Fut: Future,
{
    run(f, Caller::here())
}

async fn run<F, Fut>(f: F, caller: Caller) -> Fut::Output
where
    F: FnOnce(ParallelScope) -> Fut,
    Fut: Future,
{
    let scope = ParallelScope(Arc::new(Shared {
        children: TaskTracker::new(),
        tasks: Mutex::new(Ok(Vec::new())),
        panic: Mutex::new(None),
        failed: Notify::new(),
        members: Members::new(false),
    }));
    let shared = AbortOnDrop(scope.0.clone());
    let output = {
        let kind = WaitKind::new(Kind::ScopeFailure);
        let object = shared.0.members.object();
        let mut failed = pin!(shared.0.failed.notified_at(caller));
        let mut body = pin!(caught(async move { f(scope).await }));
        poll_fn(|context| {
            shared.0.members.awaited();
            if (failed.as_mut().poll_as(context, kind, Some(object))).is_ready() {
                return Poll::Ready(None);
            }
            body.as_mut().poll(context).map(Some)
        })
        .await
        // The closure's future is dropped here, before the children are waited for.
    };
    let output = match output {
        Some(Ok(output)) => Some(output),
        Some(Err(panic)) => {
            shared.0.fail(panic);
            None
        }
        None => None,
    };
    shared.0.children.close();
    let mut all_ended = pin!(shared.0.children.wait_at(caller));
    let kind = WaitKind::new(Kind::ParallelScope);
    poll_fn(|context| {
        shared.0.members.awaited();
        (all_ended.as_mut()).poll_as(context, kind, Some(shared.0.members.object()))
    })
    .await;
    match (shared.0.panic.lock().take(), output) {
        (None, Some(output)) => output,
        (Some(panic), _) => resume_unwind(panic),
        (None, None) => unreachable!("a scope that failed has a panic"),
    }
}

impl ParallelScope {
    /// Starts a child, as a task of the current runtime. It runs even if its handle is dropped. Once the
    /// scope has ended or failed, and after [`abort_all`](Self::abort_all), the child is aborted at once.
    ///
    /// # Panics
    ///
    /// Outside of a runtime.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task::parallel_scope};
    ///
    /// let seven = Runtime::new()?.block_on(parallel_scope(async |scope| {
    ///     scope.spawn(async { 7 }).await.unwrap()
    /// }));
    /// assert_eq!(seven, 7);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let entry = Entry::new(&self.0);
        let key = entry.key;
        let child = async move {
            let entry = entry;
            match caught(future).await {
                Ok(output) => output,
                Err(panic) => {
                    entry.shared.fail(panic);
                    // That has aborted this task too.
                    pending().await
                }
            }
        };
        self.remember(key, spawn(self.0.children.track_future(child)))
    }

    /// Runs a function that may block on the blocking pool, as a child. One that has begun is not aborted:
    /// the scope waits for its end.
    ///
    /// # Panics
    ///
    /// Outside of a runtime.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task::parallel_scope};
    ///
    /// let sum = Runtime::new()?.block_on(parallel_scope(async |scope| {
    ///     scope.spawn_blocking(|| (1..=4).sum::<u32>()).await.unwrap()
    /// }));
    /// assert_eq!(sum, 10);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, function: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let counted = self.0.children.token();
        let entry = Entry::new(&self.0);
        let key = entry.key;
        let job = spawn_blocking(move || {
            let _counted = counted;
            let entry = entry;
            catch_unwind(AssertUnwindSafe(function)).unwrap_or_else(|panic| {
                entry.shared.fail(panic);
                // The scope has the panic's value; the handle has an error too.
                resume_unwind(Box::new("a child of a scope panicked"))
            })
        });
        self.remember(key, job)
    }

    fn remember<T>(&self, key: u64, child: JoinHandle<T>) -> JoinHandle<T> {
        self.0.members.started(key, child.id().as_u64());
        let mut tasks = self.0.tasks.lock();
        match &mut *tasks {
            Ok(tasks) => {
                if tasks.len() == tasks.capacity() {
                    tasks.retain(|task| !task.is_finished());
                    // So that the next look comes after as many children again.
                    tasks.reserve(tasks.len().max(4));
                }
                tasks.push(ScopeHandle::new(&child, &self.0.members));
            }
            Err(why) => {
                let why = *why;
                drop(tasks);
                child.abort_as(why, Caller::UNKNOWN);
            }
        }
        child
    }

    /// Aborts all children: those that exist, and those that are started later. The closure's future continues.
    ///
    /// A child is dropped at its next `.await` that waits, and the scope ends after that. A child that never waits runs to its
    /// end, and so does a function of [`spawn_blocking`](Self::spawn_blocking) that has begun. Awaiting the handle of a
    /// child that was aborted gives an error for which [`JoinError::is_cancelled`](crate::task::JoinError::is_cancelled)
    /// holds; the result of a child that has ended stays. Further calls do nothing.
    ///
    /// After [`JoinSet::abort_all`](crate::task::JoinSet::abort_all) the set may get new tasks. Here children may start
    /// others in parallel to this call, and none of these is to be left over.
    ///
    /// # Panics
    ///
    /// Never.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task::parallel_scope};
    /// use std::future::pending;
    ///
    /// let sum = Runtime::new()?.block_on(parallel_scope(async |scope| {
    ///     scope.spawn(pending::<()>()); // without `abort_all`, the scope would wait for it
    ///     let parsed = scope.spawn(async { "two".parse::<u32>() }).await.unwrap();
    ///     if parsed.is_err() {
    ///         scope.abort_all();
    ///     }
    ///     Ok::<_, std::num::ParseIntError>(parsed? + 1)
    /// }));
    /// assert!(sum.is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn abort_all(&self) {
        self.0.abort_as(Abort::Called, Caller::here());
    }
}

impl Shared {
    /// Keeps the first panic, and ends the scope.
    fn fail(&self, panic: Panic) {
        self.panic.lock().get_or_insert(panic);
        self.failed.notify_one_as_part();
        self.abort_as(Abort::ScopeFailed, Caller::UNKNOWN);
    }

    /// Aborts all children. `at`: the line of the program that does so, if that is known.
    fn abort_as(&self, why: Abort, at: Caller) {
        // The scope's future is dropped after a regular end, too.
        let later = if matches!(why, Abort::ScopeDropped) {
            Abort::ScopeEnded
        } else {
            why
        };
        // An aborted task may be dropped in the call, and its destructors may start children.
        let tasks = mem::replace(&mut *self.tasks.lock(), Err(later));
        let end = |task: &ScopeHandle| task.abort_as(why, at);
        tasks.iter().flatten().for_each(end);
    }
}

/// The entry of a child in the list for records, until its future is dropped.
struct Entry {
    shared: Arc<Shared>,
    key: u64,
}

impl Entry {
    fn new(shared: &Arc<Shared>) -> Self {
        let key = shared.members.add();
        Self {
            shared: shared.clone(),
            key,
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.shared.members.remove(self.key);
    }
}

/// Aborts the children when the scope's future is dropped: after a regular end there are none, and from then on there will be
/// none.
struct AbortOnDrop(Arc<Shared>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort_as(Abort::ScopeDropped, Caller::UNKNOWN);
    }
}

/// Awaits a future, and returns its panic as an error.
async fn caught<F: Future>(future: F) -> Result<F::Output, Panic> {
    let mut future = pin!(future);
    poll_fn(
        |context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => {
                decisions::child_panicked();
                Poll::Ready(Err(panic))
            }
        },
    )
    .await
}

debug_is_name!(impl ParallelScope);
