//! `Brief`: the part of a record by which a reader chooses it, before it copies the rest.

use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

use super::place::{Target, TaskFacts, TaskState, Value};
use super::scope::ScopeFacts;
use super::{Kind, Waiter};
use crate::EndedBy;

/// The part of a record that a reader sees first.
#[derive(Clone, Copy)]
pub struct Brief {
    /// The kind.
    pub kind: Kind,
    /// The thread or task that waits, or the task whose record this is.
    pub waiter: Waiter,
    /// The location at which the program waits, or has spawned the task.
    pub location: Option<&'static Location<'static>>,
    /// The thread sleeps; otherwise a future is pending.
    pub blocks_thread: bool,
    /// The state of a task, for [`Kind::Task`].
    pub state: Option<TaskState>,
    /// It is the record of a future that a thread drives.
    pub is_root: bool,
    /// The task or thread that awaits the scope of which a task is a child.
    pub owner: Option<Waiter>,
    target: Target,
}

impl Brief {
    pub(super) fn new(
        value: &Value,
        task: Option<&TaskFacts>,
        state: TaskState,
        scope: Option<ScopeFacts>,
    ) -> Self {
        Self {
            kind: value.kind,
            waiter: value.waiter,
            location: value.location,
            blocks_thread: value.blocks_thread,
            state: task.map(|_| state),
            is_root: task.is_some_and(|task| task.is_root),
            owner: scope.map(|scope| scope.owner),
            target: value.target,
        }
    }

    /// Calls `f` with each thread and task that the record names as one that may end the wait: holders, readers
    /// or members, the last users of a channel, and the awaited task.
    pub fn for_each_ender(&self, mut f: impl FnMut(Waiter)) {
        match self.target {
            Target::Object(block, generation) if block.is_still(generation) => {
                for waiter in block.users() {
                    f(waiter);
                }
            }
            Target::Number(number) if self.kind.semantics().ended_by == EndedBy::Task => {
                f(Waiter::task(number));
            }
            Target::Object(..) | Target::Number(_) | Target::Made(_) | Target::Until(_) => {}
        }
    }
}

impl super::Block {
    /// Returns the holder, the readers that are known, and the last users of both ends.
    fn users(&self) -> impl Iterator<Item = Waiter> + '_ {
        let load = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let holder = Waiter::from_word(self.holder_word());
        let others = [&self.sender, &self.receiver]
            .into_iter()
            .chain(&self.readers);
        let others = others.filter_map(move |word| Waiter::from_word(load(word)));
        holder.into_iter().chain(others)
    }
}
