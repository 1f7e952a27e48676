//! Functions of the user's that a runtime calls when something happens.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use blitz_io_core::debug_fields;

use crate::api::stalls::StallCallback;
use crate::kernel::task::Id;

/// Called when something happens to a thread.
pub(crate) type Callback = Arc<dyn Fn() + Send + Sync>;

/// Called when something happens to a task.
pub(crate) type TaskCallback = Arc<dyn Fn(&TaskMeta<'_>) + Send + Sync>;

/// The metadata of a task that its hooks receive.
///
/// See [`Builder::on_task_spawn`](crate::runtime::Builder::on_task_spawn) and its like.
pub struct TaskMeta<'a> {
    id: Id,
    #[cfg(feature = "schedule-latency")]
    latency: Option<Duration>,
    _borrowed: PhantomData<&'a ()>,
}

impl TaskMeta<'_> {
    /// Returns the task's number.
    #[must_use]
    pub fn id(&self) -> Id {
        self.id
    }

    /// Returns how long the task was ready before its current poll began: since the wake-up, spawn or
    /// poll that made it ready.
    ///
    /// `None` unless
    /// [`track_task_schedule_latency`](crate::runtime::Builder::track_task_schedule_latency) or
    /// [`enable_metrics_schedule_latency_histogram`](crate::runtime::Builder::enable_metrics_schedule_latency_histogram)
    /// was called, and in the hooks for the spawn and the end of a task. The hooks before and after a
    /// poll get the same value.
    #[cfg(feature = "schedule-latency")]
    #[must_use]
    pub fn schedule_latency(&self) -> Option<Duration> {
        self.latency
    }
}

debug_fields!(impl TaskMeta<'_>, |this| { id: this.id, .. });

/// The hooks of one runtime. One that is not set costs a look.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    /// A thread of the runtime begins: a worker or one for blocking work.
    pub(crate) on_thread_start: Option<Callback>,
    /// A thread of the runtime is about to end.
    pub(crate) on_thread_stop: Option<Callback>,
    /// A worker has nothing to do and is about to sleep.
    pub(crate) on_thread_park: Option<Callback>,
    /// A worker has slept and is awake again.
    pub(crate) on_thread_unpark: Option<Callback>,
    /// A task has been made and is about to be queued.
    pub(crate) on_task_spawn: Option<TaskCallback>,
    /// A task has ended, in whichever way.
    pub(crate) on_task_terminate: Option<TaskCallback>,
    pub(crate) before_task_poll: Option<TaskCallback>,
    pub(crate) after_task_poll: Option<TaskCallback>,
    /// A poll has taken so long.
    pub(crate) on_worker_stalled: Option<(Duration, StallCallback)>,
}

impl Hooks {
    /// Returns `true` if a hook looks at polls; if not, the task's number is not needed.
    pub(crate) fn polls(&self) -> bool {
        self.before_task_poll.is_some() || self.after_task_poll.is_some()
    }
}

/// Calls a hook, if it is set.
pub(crate) fn call(hook: Option<&Callback>) {
    if let Some(hook) = hook {
        hook();
    }
}

/// Calls a hook for a task's spawn or end.
pub(crate) fn tell(hook: &TaskCallback, id: Id) {
    tell_poll(hook, id, None);
}

/// Calls a hook for a poll of a task that was ready for `latency` before the poll.
pub(crate) fn tell_poll(hook: &TaskCallback, id: Id, latency: Option<Duration>) {
    #[cfg(not(feature = "schedule-latency"))]
    let _ = latency;
    hook(&TaskMeta {
        id,
        #[cfg(feature = "schedule-latency")]
        latency,
        _borrowed: PhantomData,
    });
}
