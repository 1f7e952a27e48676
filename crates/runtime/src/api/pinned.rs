//! The runtime's part of fibers: tasks that stay on the thread of their first poll, and
//! whether the thread's context lets a fiber suspend.
//!
//! Not part of the public interface.

use std::future::Future;
use std::task::Waker;

use crate::api::enter;
use crate::api::errors::{NESTED, TryCurrentError};
use crate::api::runtime::Handle;
use crate::api::scheduler::{self, with_current};
use crate::api::task::inspected::inspected;
use crate::api::task::spawn::new_task;
use crate::api::trace::{SpawnMeta, spawn_meta, traced};
use crate::kernel::context;
use crate::kernel::context::Entered;
use crate::kernel::task::{self, JoinHandle, task_of};

const HELD: &str = "a fiber cannot wait while it holds the guard of `Handle::enter`";

/// A future that is polled by one thread only.
///
/// # Safety
///
/// The future may be sent to another thread before its first poll. Later it may be dropped on
/// any thread.
pub unsafe trait Pinnable: Future {}

#[cfg(feature = "tracing")]
// SAFETY: a span may be sent and dropped anywhere.
unsafe impl<F: Pinnable> Pinnable for crate::api::trace::Traced<F> {}

#[cfg(feature = "inspect")]
// SAFETY: the record may be sent and dropped anywhere.
unsafe impl<F: Pinnable> Pinnable for crate::api::task::inspected::Inspected<F> {}

/// Starts a task on the current runtime. The task stays on the thread of its first poll.
///
/// # Errors
///
/// Outside of a runtime.
#[track_caller]
pub fn spawn<F>(future: F, name: Option<&str>) -> Result<JoinHandle<F::Output>, TryCurrentError>
where
    F: Pinnable<Output: Send + 'static> + 'static,
{
    let meta = spawn_meta!(F, name);
    with_current(|handle| spawn_in(handle, future, meta))
}

/// Starts a task on the runtime of `handle`.
#[track_caller]
pub fn spawn_on<F>(future: F, name: Option<&str>, handle: &Handle) -> JoinHandle<F::Output>
where
    F: Pinnable<Output: Send + 'static> + 'static,
{
    spawn_in(&handle.inner, future, spawn_meta!(F, name))
}

#[inline]
fn spawn_in<F>(handle: &scheduler::Handle, future: F, meta: SpawnMeta<'_>) -> JoinHandle<F::Output>
where
    F: Pinnable<Output: Send + 'static> + 'static,
{
    let id = new_task(handle.common(), meta);
    let future = traced!(task(future, "fiber", meta, id));
    let future = inspected(future, id, meta, handle.common().id, true);
    // SAFETY: `Pinnable` has the same contract.
    unsafe { handle.spawn_pinned(future, id) }
}

/// The part of a thread's context that may not change between the resumption of a fiber and
/// the next suspension: guards on the fiber's stack would change it back too late.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Surroundings {
    depth: usize,
    looking: u32,
    entered: Entered,
    local_set: *const (),
    task: *const (),
}

/// How a fiber may wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// The fiber suspends its stack.
    Suspend,
    /// The fiber suspends its stack, and this task is put back when the fiber is resumed. The fiber
    /// is dropping the output of this task.
    SuspendAs(*const ()),
    /// The fiber blocks its thread.
    Block,
}

impl Surroundings {
    /// Returns those of this thread now.
    #[inline(always)]
    pub fn now() -> Self {
        context::with(|context| Self {
            depth: context.depth.get(),
            looking: context.looking.get(),
            entered: context.entered.get(),
            local_set: context.local_set.get(),
            task: context.task(),
        })
    }

    /// Returns `true` if the thread's context has not changed. Then a fiber may suspend that was resumed
    /// in these surroundings.
    #[inline(always)]
    pub fn are_now(&self) -> bool {
        Self::now() == *self
    }

    /// Returns how a fiber may wait that was resumed in these surroundings.
    ///
    /// # Panics
    ///
    /// If it may not wait at all: it drives tasks itself, or holds a guard that makes a runtime
    /// the current one.
    #[track_caller]
    pub fn wait(&self) -> Wait {
        let now = &Self::now();
        if now == self {
            return Wait::Suspend;
        }
        if now.entered == Entered::No {
            // It is in `block_in_place`.
            return Wait::Block;
        }
        if (Self {
            task: now.task,
            ..*self
        }) == *now
        {
            return Wait::SuspendAs(now.task);
        }
        let nested = now.entered != self.entered || now.local_set != self.local_set;
        std::panic::panic_any(if nested { NESTED } else { HELD });
    }
}

impl Surroundings {
    /// Makes the task of these surroundings the thread's current task.
    ///
    /// # Safety
    ///
    /// The thread's other surroundings are these, and the task is alive.
    pub unsafe fn restore_task(&self) {
        context::with(|context| context.set_task(self.task));
    }
}

/// Makes the task of [`Wait::SuspendAs`] the thread's current task.
///
/// # Safety
///
/// The fiber for which that was returned has been resumed after its wait.
pub unsafe fn resume_as(task: *const ()) {
    context::with(|context| context.set_task(task));
}

/// Cancels the task that a waker wakes. Returns `false` if the waker is not a task's of this library.
pub fn cancel(waker: &Waker) -> bool {
    let task = task_of(waker);
    if let Some(task) = task {
        // SAFETY: the waker has a reference.
        unsafe { task::cancel(task) }
    }
    task.is_some()
}

/// Blocks the thread until `future` is ready.
///
/// # Panics
///
/// If the thread drives tasks.
#[track_caller]
pub fn block_thread<F: Future>(future: F) -> F::Output {
    enter::assert_not_nested();
    enter::block_for_a_moment(future)
}

/// Waits for a future on a thread that may drive tasks, which then wait.
pub fn block_anyway<F: Future>(future: F) -> F::Output {
    enter::block_for_a_moment(future)
}

/// Panics as a nested `block_on` does.
#[cold]
#[track_caller]
pub fn panic_nested() -> ! {
    std::panic::panic_any(NESTED)
}
