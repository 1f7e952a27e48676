//! Children that run in parallel, while their parent's thread waits.

use std::future::Future;
use std::marker::PhantomData;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::abort;
use std::sync::Arc;

use blitz_io_core::{OnDrop, debug_is_name};
use blitz_io_observe::trace;
use blitz_io_observe::{Caller, Kind, Wait, WaitKind};
use blitz_io_sync::thread::Mutex;

use super::super::TaskTracker;
use super::handle::{Abort, ScopedJoinHandle};
use super::member::{Member, Shared, erase};
use crate::api::blocking::block_in_place_or;
use crate::api::enter::block_for_a_moment;
use crate::api::runtime::Handle;
use crate::kernel::task::{Id, ScopeHandle};

const REFUSED: &str = "a `blocking_scope` blocks its thread, so it needs the multi-threaded runtime, such as that of \
                       `#[test(flavor = \"multi_thread\")]`; `parallel_scope` runs on each runtime";

/// Starts children of a [`blocking_scope`].
///
/// ```
/// use blitz_io::{runtime::Runtime, task::{BlockingScope, blocking_scope}};
///
/// fn double<'scope>(s: &'scope BlockingScope<'scope, '_>, numbers: &'scope mut [u32]) {
///     for number in numbers {
///         s.spawn(async move { *number *= 2 });
///     }
/// }
///
/// let mut numbers = [1, 2, 3];
/// Runtime::new()?.block_on(async { blocking_scope(|s| double(s, &mut numbers)) });
/// assert_eq!(numbers, [2, 4, 6]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct BlockingScope<'scope, 'env: 'scope> {
    runtime: Handle,
    /// Counts the children that have not been dropped.
    children: TaskTracker,
    /// The children, to abort them. Once they have been aborted: the reason, for each that is started later.
    tasks: Mutex<Result<Vec<ScopeHandle>, trace::Abort>>,
    shared: Arc<Shared>,
    _scope: PhantomData<&'scope mut &'scope ()>,
    _env: PhantomData<&'env mut &'env ()>,
}

/// Lets a function have children that borrow from it and run in parallel, as tasks of the
/// current runtime. Blocks the thread until all of them have ended, also if the closure returns early, as by `?`: to end
/// them first, see [`BlockingScope::abort_all`].
///
/// On a thread of a multi-thread runtime, other tasks go on during the call, as with
/// [`block_in_place`](crate::task::block_in_place). The other futures that the calling task joins or selects from do
/// not. On a thread that has only entered a runtime's [`Handle`], another thread has to
/// drive that runtime.
///
/// # Panics
///
/// Outside of a runtime, and where [`block_in_place`](crate::task::block_in_place) panics: within a current-thread
/// runtime. If the closure panics: the children have been aborted and have ended then. If a
/// child panics, and its result is not taken: when all other children have ended.
///
/// ```
/// use blitz_io::{runtime::Runtime, task};
///
/// let runtime = Runtime::new()?;
/// let sum = runtime.block_on(async {
///     let numbers: Vec<u64> = (0..1000).collect();
///     let (left, right) = numbers.split_at(500);
///     task::blocking_scope(|s| {
///         let left = s.spawn(async { left.iter().sum::<u64>() });
///         let right = s.spawn(async { right.iter().sum::<u64>() });
///         s.block_on(async { left.await.unwrap() + right.await.unwrap() })
///     })
/// });
/// assert_eq!(sum, 499_500);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// The closure's own variables are dropped before the children are, so they must not
/// borrow these:
///
/// ```compile_fail,E0373
/// use blitz_io::task::blocking_scope;
///
/// blocking_scope(|s| {
///     let inside = String::from("gone too soon");
///     s.spawn(async { println!("{inside}") });
/// });
/// ```
#[track_caller]
pub fn blocking_scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope BlockingScope<'scope, 'env>) -> T,
{
    let runtime = Handle::current();
    let made_at = Caller::here();
    block_in_place_or(REFUSED, || {
        let scope = BlockingScope {
            runtime,
            children: TaskTracker::new(),
            tasks: Mutex::new(Ok(Vec::new())),
            shared: Shared::new(),
            _scope: PhantomData,
            _env: PhantomData,
        };
        scope.shared.members.awaited();
        // The children must not outlive this function.
        let never_unwinds = OnDrop(|| abort());
        let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
        if result.is_err() {
            scope.abort_as(trace::Abort::ScopeFailed, Caller::UNKNOWN);
        }
        // Only children start others now, so there are none left once there are none.
        scope.children.close();
        {
            let _waits = scope.record(made_at);
            block_for_a_moment(scope.children.wait());
        }
        mem::forget(never_unwinds);
        let panic = scope.shared.unclaimed.lock().take();
        match (result, panic) {
            (Ok(output), None) => output,
            (Err(panic), _) | (Ok(_), Some(panic)) => resume_unwind(panic),
        }
    })
}

impl<'scope> BlockingScope<'scope, '_> {
    /// Starts a child, as a task of the runtime.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task::blocking_scope};
    ///
    /// let runtime = Runtime::new()?;
    /// let _entered = runtime.enter();
    /// let mut numbers = [1, 2, 3, 4];
    /// blocking_scope(|s| {
    ///     for number in &mut numbers {
    ///         s.spawn(async { *number *= 2 });
    ///     }
    /// });
    /// assert_eq!(numbers, [2, 4, 6, 8]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn<F>(&'scope self, future: F) -> ScopedJoinHandle<'scope, F::Output>
    where
        F: Future + Send + 'scope,
        F::Output: Send + 'scope,
    {
        let id = Id::next();
        let (member, result) = Member::new(future, id, self.shared.clone(), None);
        // SAFETY: `blocking_scope` does not return before each child has been dropped: the
        // tracker counts it until then. It does not return by a panic either.
        let member = unsafe { erase(member) };
        let task = self.runtime.spawn(self.children.track_future(member));
        let members = &self.shared.members;
        members.started(id.as_u64(), task.id().as_u64());
        self.remember(ScopeHandle::new(&task, members));
        ScopedJoinHandle::new(id, result, Abort::Task(ScopeHandle::new(&task, members)))
    }

    /// Aborts all children: those that exist, and those that are started later. The closure continues.
    ///
    /// A child is dropped at its next `.await` that waits; until then what it borrows is in use, so `blocking_scope` returns
    /// after that. A child that never waits runs to its end. Awaiting the handle of a child that was aborted gives an error
    /// for which [`JoinError::is_cancelled`](crate::task::JoinError::is_cancelled) holds. Further calls do nothing.
    ///
    /// # Panics
    ///
    /// Never.
    ///
    /// ```
    /// use blitz_io::{runtime::Runtime, task::blocking_scope};
    /// use std::future::pending;
    ///
    /// let runtime = Runtime::new()?;
    /// let _entered = runtime.enter();
    /// let word = String::from("two");
    /// let number = blocking_scope(|s| {
    ///     s.spawn(pending::<()>()); // without `abort_all`, the function would wait for it
    ///     let child = s.spawn(async { word.parse::<u32>() });
    ///     let number = s.block_on(child).unwrap();
    ///     if number.is_err() {
    ///         s.abort_all();
    ///     }
    ///     number
    /// });
    /// assert!(number.is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn abort_all(&self) {
        self.abort_as(trace::Abort::Called, Caller::here());
    }

    /// Blocks the thread until a future is ready, such as the handle of a child.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Records that the thread waits for the children.
    fn record(&self, made_at: Caller) -> Wait {
        let mut record = Wait::new(made_at);
        record.begin_blocking(
            WaitKind::new(Kind::Scope),
            self.shared.members.object(),
            false,
        );
        record
    }

    fn abort_as(&self, why: trace::Abort, at: Caller) {
        // An aborted task may be dropped in the call, and its destructors may start children.
        let tasks = mem::replace(&mut *self.tasks.lock(), Err(why));
        let end = |task: &ScopeHandle| task.abort_as(why, at);
        tasks.iter().flatten().for_each(end);
    }

    fn remember(&self, task: ScopeHandle) {
        let mut tasks = self.tasks.lock();
        let tasks = match &mut *tasks {
            Ok(tasks) => tasks,
            Err(why) => {
                // A child that still ran, or the closure, has started it.
                let why = *why;
                drop(tasks);
                return task.abort_as(why, Caller::UNKNOWN);
            }
        };
        if tasks.len() == tasks.capacity() {
            tasks.retain(|task| !task.is_finished());
        }
        tasks.push(task);
    }
}

debug_is_name!(impl BlockingScope<'_, '_>);
