//! Functions of the user's that a runtime calls when something happens.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::core::Id;

/// Called when something happens to a thread.
pub(crate) type Callback = Arc<dyn Fn() + Send + Sync>;

/// Called when something happens to a task.
pub(crate) type TaskCallback = Arc<dyn Fn(&TaskMeta<'_>) + Send + Sync>;

/// What a hook for tasks learns of the task.
///
/// See [`Builder::on_task_spawn`](crate::runtime::Builder::on_task_spawn) and its like.
pub struct TaskMeta<'a> {
    id: Id,
    _borrowed: PhantomData<&'a ()>,
}

impl TaskMeta<'_> {
    /// Returns the task's number.
    #[must_use]
    pub fn id(&self) -> Id {
        self.id
    }
}

impl fmt::Debug for TaskMeta<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskMeta")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The hooks of one runtime. One that is not set costs a look.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    pub(crate) on_thread_start: Option<Callback>,
    pub(crate) on_thread_stop: Option<Callback>,
    pub(crate) on_thread_park: Option<Callback>,
    pub(crate) on_thread_unpark: Option<Callback>,
    pub(crate) on_task_spawn: Option<TaskCallback>,
    pub(crate) on_task_terminate: Option<TaskCallback>,
    pub(crate) before_task_poll: Option<TaskCallback>,
    pub(crate) after_task_poll: Option<TaskCallback>,
}

impl Hooks {
    /// A thread of the runtime begins: a worker or one for blocking work.
    pub(crate) fn thread_start(&self) {
        call(self.on_thread_start.as_ref());
    }

    /// A thread of the runtime is about to end.
    pub(crate) fn thread_stop(&self) {
        call(self.on_thread_stop.as_ref());
    }

    /// A worker has nothing to do and is about to sleep.
    pub(crate) fn thread_park(&self) {
        call(self.on_thread_park.as_ref());
    }

    /// A worker has slept and goes on.
    pub(crate) fn thread_unpark(&self) {
        call(self.on_thread_unpark.as_ref());
    }

    /// A task has been made and is about to be queued.
    #[inline]
    pub(crate) fn task_spawn(&self, id: Id) {
        tell(self.on_task_spawn.as_ref(), id);
    }

    /// A task has ended, in whichever way.
    #[inline]
    pub(crate) fn task_terminate(&self, id: Id) {
        tell(self.on_task_terminate.as_ref(), id);
    }

    /// Whether a hook looks at polls; if not, the task's number is not needed.
    #[inline]
    pub(crate) fn polls(&self) -> bool {
        self.before_task_poll.is_some() || self.after_task_poll.is_some()
    }

    /// A task is about to be polled.
    #[inline]
    pub(crate) fn before_poll(&self, id: Id) {
        tell(self.before_task_poll.as_ref(), id);
    }

    /// A task has been polled.
    #[inline]
    pub(crate) fn after_poll(&self, id: Id) {
        tell(self.after_task_poll.as_ref(), id);
    }
}

fn call(hook: Option<&Callback>) {
    if let Some(hook) = hook {
        hook();
    }
}

#[inline]
pub(crate) fn tell(hook: Option<&TaskCallback>, id: Id) {
    if let Some(hook) = hook {
        let meta = TaskMeta {
            id,
            _borrowed: PhantomData,
        };
        hook(&meta);
    }
}
