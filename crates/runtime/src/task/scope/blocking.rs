//! Children that run in parallel, while their parent's thread waits.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::process::abort;
use std::sync::Arc;
use std::task::{Context, Poll};

use blitz_futex::atomic::{AtomicU32, Ordering};
use blitz_sync::thread::Mutex;

use super::super::block_in_place;
use super::member::{Erased, Member};
use super::{ScopedJoinHandle, Unclaimed};
use crate::core::AbortHandle;
use crate::runtime::Handle;

/// Starts children of a [`scope_blocking`].
///
/// ```
/// use blitz_io::{runtime::Runtime, task::{BlockingScope, scope_blocking}};
///
/// fn double<'scope>(s: &'scope BlockingScope<'scope, '_>, numbers: &'scope mut [u32]) {
///     for number in numbers {
///         s.spawn(async move { *number *= 2 });
///     }
/// }
///
/// let mut numbers = [1, 2, 3];
/// Runtime::new()?.block_on(async { scope_blocking(|s| double(s, &mut numbers)) });
/// assert_eq!(numbers, [2, 4, 6]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct BlockingScope<'scope, 'env: 'scope> {
    runtime: Handle,
    /// How many children there are.
    alive: Arc<AtomicU32>,
    /// `None` once they are to be aborted, and those that are still to come, too.
    tasks: Mutex<Option<Vec<AbortHandle>>>,
    unclaimed: Unclaimed,
    _scope: PhantomData<&'scope mut &'scope ()>,
    _env: PhantomData<&'env mut &'env ()>,
}

/// Lets a function have children that borrow from it, and run as tasks of the current
/// runtime, in parallel. Blocks the thread until all have ended.
///
/// On a thread of a multi-thread runtime, the other tasks go on meanwhile, as with
/// [`block_in_place`]; but what the calling task itself joins or selects from does not.
/// Where it is called on a thread that only has a runtime's
/// [`Handle`] entered, another thread has to drive that runtime.
///
/// # Panics
///
/// Outside of a runtime, and where [`block_in_place`] does: within a current-thread
/// runtime. If the closure does: the children are aborted then, and have ended. If a
/// child does, and its result was not taken: when all others have ended.
///
/// ```
/// use blitz_io::{runtime::Runtime, task};
///
/// let runtime = Runtime::new()?;
/// let sum = runtime.block_on(async {
///     let numbers: Vec<u64> = (0..1000).collect();
///     let (left, right) = numbers.split_at(500);
///     task::scope_blocking(|s| {
///         let left = s.spawn(async { left.iter().sum::<u64>() });
///         let right = s.spawn(async { right.iter().sum::<u64>() });
///         s.block_on(async { left.await.unwrap() + right.await.unwrap() })
///     })
/// });
/// assert_eq!(sum, 499_500);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// What the closure itself owns is gone before the children are, so they must not
/// borrow it:
///
/// ```compile_fail,E0373
/// use blitz_io::task::scope_blocking;
///
/// scope_blocking(|s| {
///     let inside = String::from("gone too soon");
///     s.spawn(async { println!("{inside}") });
/// });
/// ```
#[track_caller]
pub fn scope_blocking<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope BlockingScope<'scope, 'env>) -> T,
{
    let runtime = Handle::current();
    block_in_place(|| {
        let scope = BlockingScope {
            runtime,
            alive: Arc::default(),
            tasks: Mutex::new(Some(Vec::new())),
            unclaimed: Unclaimed::default(),
            _scope: PhantomData,
            _env: PhantomData,
        };
        let never_unwinds = AbortOnDrop;
        let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
        if result.is_err() {
            let tasks = scope.tasks.lock().take();
            tasks.iter().flatten().for_each(AbortHandle::abort);
        }
        wait_for_none(&scope.alive);
        std::mem::forget(never_unwinds);
        let panic = scope.unclaimed.lock().take();
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
    /// use blitz_io::{runtime::Runtime, task::scope_blocking};
    ///
    /// let runtime = Runtime::new()?;
    /// let _entered = runtime.enter();
    /// let mut numbers = [1, 2, 3, 4];
    /// scope_blocking(|s| {
    ///     for number in &mut numbers {
    ///         s.spawn(async { *number *= 2 });
    ///     }
    /// });
    /// assert_eq!(numbers, [2, 4, 6, 8]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn spawn<F>(&'scope self, future: F) -> ScopedJoinHandle<'scope, F::Output>
    where
        F: Future + Send + 'scope,
        F::Output: Send + 'scope,
    {
        let (member, result) = Member::new(future, self.unclaimed.clone());
        // SAFETY: `scope_blocking` does not return before `alive` has been dropped by
        // each child, which is after the member has been, and it does not return by
        // a panic either.
        let member = unsafe { member.erase() };
        let task = self.runtime.spawn(Counted {
            member,
            _alive: Alive::new(&self.alive),
        });
        let abort = task.abort_handle();
        self.remember(task.abort_handle());
        ScopedJoinHandle::of_task(result, abort)
    }

    /// Blocks the thread until a future is ready, say, the handle of a child.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    fn remember(&self, task: AbortHandle) {
        let mut tasks = self.tasks.lock();
        let Some(tasks) = &mut *tasks else {
            // By a child that goes on after the closure has panicked.
            return task.abort();
        };
        if tasks.len() == tasks.capacity() {
            tasks.retain(|task| !task.is_finished());
        }
        tasks.push(task);
    }
}

/// A child, which counts as alive until it has been dropped.
struct Counted {
    // The order counts: fields are dropped from the first to the last.
    member: Erased,
    _alive: Alive,
}

impl Future for Counted {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.member.as_mut().poll(context)
    }
}

/// Counts as a child.
struct Alive(Arc<AtomicU32>);

impl Alive {
    /// By the closure, or by a child, so zero is final once the closure has ended.
    fn new(count: &Arc<AtomicU32>) -> Self {
        if count.fetch_add(1, Ordering::Relaxed) > u32::MAX / 2 {
            abort();
        }
        Self(count.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        if self.0.fetch_sub(1, Ordering::AcqRel) == 1 {
            blitz_futex::wake_all(&raw const *self.0);
        }
    }
}

/// Blocks the thread until there is no child. Sees what they have done.
fn wait_for_none(alive: &AtomicU32) {
    loop {
        match alive.load(Ordering::Acquire) {
            0 => return,
            // Only zero wakes; any other change is seen when it goes to sleep.
            some => blitz_futex::wait(alive, some),
        };
    }
}

/// The children must not outlive the function that waits for them.
struct AbortOnDrop;

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        abort();
    }
}

impl fmt::Debug for BlockingScope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockingScope").finish_non_exhaustive()
    }
}
