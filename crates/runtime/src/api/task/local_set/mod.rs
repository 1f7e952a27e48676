//! `LocalSet`: tasks that stay on one thread, so that their futures need not be `Send`.
//!
//! A set is a future, or a part of one (`run_until`), that a task or thread polls: its
//! *host*. Its tasks wait in two queues. The first belongs to the set's thread and
//! has no lock; the second is for wake-ups from other threads (`queues.rs`). A poll of
//! the set runs up to [`TASKS_PER_POLL`] tasks from them, and then wakes its own host
//! if there are more, so that the host's other work has its turn. Tasks that yield are queued at
//! the end of the poll. If no others are left, the host yields for them, so that they run after
//! all that its runtime has to do. On a thread that runs the tasks of no runtime they go on at once.
//!
//! # No wake-up is lost
//!
//! A wake-up from another thread puts the task into the second queue and takes the host's
//! waker, both under the same lock; then it wakes the host. A poll stores its waker under
//! that lock before it checks the queues. So either this poll sees the task, or the
//! wake-up finds the waker.
//!
//! The poll avoids the lock if the word beside the lock says that its waker is stored
//! already. That word may be out of date: a wake-up may just have taken the waker. Then
//! the waker is called after this poll began, so another poll follows. For a waker's call
//! happens before the poll that it causes: had it come before, this poll would have seen
//! the word change.
//!
//! A wake-up from the set's own thread needs no waker while the set is being polled;
//! otherwise it wakes the host as one from outside does.

mod current;
mod queues;

use std::cell::Cell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use blitz_io_core::{coop, default_is_new};

use self::current::Enter;
use self::queues::Shared;
use crate::api::config::UnhandledPanic;
use crate::api::enter;
use crate::api::runtime::{self, Runtime};
use crate::api::task::inspected::inspected;
use crate::api::task::yield_now::step_back;
use crate::api::trace::{SpawnMeta, spawn_meta, traced};
use crate::kernel::context;
use crate::kernel::task::{BOX_ABOVE, Id, JoinHandle, Ran};

#[cfg(any(feature = "inspect", feature = "tracing"))]
pub(super) use self::current::spawn_local_named;
pub use self::current::{LocalEnterGuard, spawn_local};

/// Number of tasks that one poll of the set runs.
const TASKS_PER_POLL: usize = 61;
/// One of this many pops takes from the queue of the other threads first.
const REMOTE_FIRST: u8 = 31;

/// The part of a set that its guards share.
struct Local {
    shared: Arc<Shared>,
    /// Counts the pops from the queues.
    looks: Cell<u8>,
}

/// Tasks that stay on this thread.
///
/// [`spawn_local`] adds a task whose future need not be `Send`. The tasks make progress
/// while the set is polled: by [`run_until`](Self::run_until), by
/// [`block_on`](Self::block_on), or by an `.await` on the set itself, which ends when all
/// tasks have ended. Dropping the set drops the tasks that have not ended.
///
/// ```
/// use std::rc::Rc;
/// use blitz_io::{runtime::Builder, task};
///
/// let runtime = Builder::new_current_thread().build().unwrap();
/// let set = task::LocalSet::new();
/// let word = set.block_on(&runtime, async {
///     let word = Rc::new(String::from("not Send"));
///     task::spawn_local(async move { word.to_string() }).await.unwrap()
/// });
/// assert_eq!(word, "not Send");
/// ```
///
/// Inside a set, [`spawn`](super::spawn) still starts tasks of the runtime, and
/// [`block_in_place`](super::block_in_place) panics.
pub struct LocalSet {
    local: Rc<Local>,
}

impl LocalSet {
    /// Creates a set without tasks.
    ///
    /// ```
    /// let set = blitz_io::task::LocalSet::new();
    /// # drop(set);
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self {
            local: Rc::new(Local {
                shared: Arc::new(Shared::new()),
                looks: Cell::new(0),
            }),
        }
    }

    /// Makes this the set that [`spawn_local`] adds to, until the guard is dropped.
    ///
    /// The tasks do not run before the set is polled.
    ///
    /// ```
    /// use blitz_io::{runtime::Builder, task};
    ///
    /// let runtime = Builder::new_current_thread().build().unwrap();
    /// let set = task::LocalSet::new();
    /// let guard = set.enter();
    /// let task = task::spawn_local(async { 4 });
    /// drop(guard);
    /// assert_eq!(set.block_on(&runtime, task).unwrap(), 4);
    /// ```
    pub fn enter(&self) -> LocalEnterGuard {
        LocalEnterGuard::new(self.local.clone())
    }

    /// Adds a task. The set need not be entered.
    ///
    /// ```
    /// use blitz_io::{runtime::Builder, task::LocalSet};
    ///
    /// let runtime = Builder::new_current_thread().build().unwrap();
    /// let set = LocalSet::new();
    /// let task = set.spawn_local(async { 5 });
    /// runtime.block_on(set);
    /// assert_eq!(runtime.block_on(task).unwrap(), 5);
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        self.spawn_named(future, spawn_meta!(F))
    }

    /// [`spawn_local`](Self::spawn_local) with the task's metadata.
    pub(in crate::api::task) fn spawn_named<F>(
        &self,
        future: F,
        meta: SpawnMeta<'_>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let join = self.local.spawn(future, meta);
        self.local.shared.wake_host();
        join
    }

    /// Blocks the thread until `future` is ready, and runs the set's tasks until then.
    ///
    /// # Panics
    ///
    /// When [`Runtime::block_on`] panics.
    ///
    /// ```
    /// use blitz_io::{runtime::Builder, task};
    ///
    /// let runtime = Builder::new_current_thread().build().unwrap();
    /// let set = task::LocalSet::new();
    /// let seven = set.block_on(&runtime, async {
    ///     task::spawn_local(async { 7 }).await.unwrap()
    /// });
    /// assert_eq!(seven, 7);
    /// ```
    #[track_caller]
    pub fn block_on<F>(&self, rt: &Runtime, future: F) -> F::Output
    where
        F: Future,
    {
        rt.block_on(self.run_until(future))
    }

    /// Runs `future` to its end, together with the set's tasks.
    ///
    /// Tasks that have not ended then go on with the next poll of the set.
    ///
    /// # Cancel safety
    ///
    /// As cancel safe as `future`; the set's tasks stay where they are.
    ///
    /// ```
    /// use blitz_io::{runtime::Builder, task};
    ///
    /// let runtime = Builder::new_current_thread().build().unwrap();
    /// runtime.block_on(async {
    ///     let set = task::LocalSet::new();
    ///     set.run_until(async {
    ///         task::spawn_local(async {}).await.unwrap();
    ///     })
    ///     .await;
    /// });
    /// ```
    pub async fn run_until<F>(&self, future: F) -> F::Output
    where
        F: Future,
    {
        let (local, mut future) = (&self.local, pin!(future));
        poll_fn(|cx| {
            let _entered = local.enter();
            local.shared.register(cx.waker());
            let output = future.as_mut().poll(cx);
            if output.is_pending() {
                local.run_tasks(cx);
            }
            output
        })
        .await
    }

    /// Sets the effect of a task's panic on the set.
    ///
    /// With [`UnhandledPanic::ShutdownRuntime`] the other tasks are cancelled, and the poll
    /// of the set panics.
    ///
    /// ```should_panic
    /// use blitz_io::{runtime::{Builder, UnhandledPanic}, task::{self, LocalSet}};
    ///
    /// let runtime = Builder::new_current_thread().build().unwrap();
    /// let mut set = LocalSet::new();
    /// set.unhandled_panic(UnhandledPanic::ShutdownRuntime);
    /// set.block_on(&runtime, async {
    ///     task::spawn_local(async { panic!("boom") });
    ///     std::future::pending::<()>().await;
    /// });
    /// ```
    pub fn unhandled_panic(&mut self, behavior: UnhandledPanic) -> &mut Self {
        self.local.shared.set_on_panic(&behavior);
        self
    }

    /// Returns an id that no other runtime or set of the process has.
    ///
    /// ```
    /// use blitz_io::task::LocalSet;
    ///
    /// assert_ne!(LocalSet::new().id(), LocalSet::new().id());
    /// ```
    #[must_use]
    pub fn id(&self) -> runtime::Id {
        self.local.shared.id()
    }
}

impl Local {
    /// Makes a task, and queues it.
    fn spawn<F>(&self, future: F, meta: SpawnMeta<'_>) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        if const { size_of::<F>() > BOX_ABOVE } {
            self.spawn_sized(Box::pin(future), meta)
        } else {
            self.spawn_sized(future, meta)
        }
    }

    fn spawn_sized<F>(&self, future: F, meta: SpawnMeta<'_>) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let id = Id::next();
        let future = traced!(task(future, "local", meta, id));
        let future = inspected(future, id, meta, self.shared.id(), false);
        // SAFETY: a `Local` does not leave its thread, and the future is `'static`. The
        // queue gives tokens to this thread only: to `run_tasks`, and to the set's drop.
        let (join, task) = unsafe { self.shared.bind(future, id) };
        if let Some(task) = task {
            // SAFETY: this is the set's thread.
            unsafe { self.shared.push_and_wake(task) };
        }
        join
    }

    /// Makes the set the current one, and counts a poll of it, until the returned guard
    /// is dropped.
    fn enter(self: &Rc<Self>) -> impl Sized {
        let polled = self.shared.polled();
        (Enter::new(self), polled, enter::disallow_block_in_place())
    }

    /// Runs tasks. Returns whether it stopped although there may be more; then the host is
    /// polled again.
    ///
    /// # Panics
    ///
    /// If a task has panicked and the set is to end for it.
    fn run_tasks(&self, context: &Context<'_>) -> bool {
        for _ in 0..TASKS_PER_POLL {
            if self.shared.is_doomed() {
                self.end_for_panic();
            }
            let looks = self.looks.get();
            self.looks.set(looks.wrapping_add(1));
            // SAFETY: this is the set's thread.
            let task = unsafe { self.shared.pop(looks % REMOTE_FIRST == 0) };
            let Some(task) = task else {
                // SAFETY: this is the set's thread.
                let more = unsafe { self.shared.resume() };
                if more && !context::is_worker() {
                    // No runtime has anything else to do on this thread.
                    continue;
                }
                if more {
                    step_back(context.waker());
                }
                return more;
            };
            coop::budget(|| match self.shared.run(task) {
                // SAFETY: this is the set's thread.
                Ran::Again(task) if !context::take_yielded() => unsafe { self.shared.push(task) },
                // SAFETY: this is the set's thread.
                Ran::Again(task) | Ran::Yielded(task) => unsafe { self.shared.put_off(task) },
                // Tasks of a set are not pinned, so none is to be polled at once.
                Ran::Done | Ran::Idle | Ran::Here(_) => {}
            });
        }
        // SAFETY: this is the set's thread.
        unsafe { self.shared.resume() };
        context.waker().wake_by_ref();
        true
    }

    #[cold]
    fn end_for_panic(&self) -> ! {
        self.close();
        panic!(
            "a spawned task panicked and the LocalSet is configured to shutdown on unhandled panic"
        );
    }

    /// Refuses further tasks, and ends all tasks except those that this thread is polling,
    /// which end when their polls do.
    fn close(&self) {
        self.shared.close();
        if !self.drain() {
            self.drain_late_tasks();
        }
    }

    /// Ends the cancelled tasks in the queues. Returns whether no task is left.
    fn drain(&self) -> bool {
        // SAFETY: this is the set's thread.
        unsafe { self.shared.resume() };
        // SAFETY: this is the set's thread.
        while let Some(task) = unsafe { self.shared.pop(false) } {
            // It is cancelled, so it ends.
            let ran = self.shared.run(task);
            debug_assert!(matches!(ran, Ran::Done));
        }
        self.shared.is_drained()
    }

    /// Waits, as a host, for tasks that other threads have woken and are about to queue.
    #[cold]
    fn drain_late_tasks(&self) {
        enter::block_for_a_moment(poll_fn(|cx| {
            self.shared.register(cx.waker());
            if self.drain() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        }));
    }
}

impl Future for LocalSet {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let local = &self.local;
        let _entered = local.enter();
        local.shared.register(cx.waker());
        if !local.run_tasks(cx) && local.shared.tasks() == 0 {
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

default_is_new!(LocalSet);

impl fmt::Debug for LocalSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSet").finish()
    }
}

impl Drop for LocalSet {
    fn drop(&mut self) {
        let _entered = self.local.enter();
        self.local.close();
    }
}
