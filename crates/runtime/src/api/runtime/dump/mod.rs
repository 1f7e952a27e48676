//! Task dumps, with the interface of `tokio::runtime::dump`.
//!
//! A dump comes from the records of waits, as `blitz why` does. So no future is polled, no worker
//! stops, and a worker that is blocked delays nothing. In a dump there are the locations at which
//! tasks wait, but no stacks. [`Trace::capture`] captures the stacks of one future.

mod capture;
mod stack;
mod trace;

use std::collections::HashSet;

use blitz_io_inspect::{TaskState, Waiter};
use blitz_io_observe as records;

use super::Handle;
use crate::api::task::yield_now;
use crate::kernel::task::Id;

pub use capture::{Root, TraceMeta, trace_with};
pub use stack::{Backtrace, BacktraceFrame, BacktraceSymbol};
pub use trace::Trace;

/// The tasks of a runtime that wait, and what for.
///
/// Returned by [`Handle::dump`].
#[derive(Debug)]
pub struct Dump {
    tasks: Tasks,
}

/// The tasks of a [`Dump`].
#[derive(Debug)]
pub struct Tasks {
    tasks: Vec<Task>,
}

/// A task of a [`Dump`].
#[derive(Debug)]
pub struct Task {
    id: Id,
    trace: Trace,
}

impl Dump {
    /// Returns the tasks.
    #[must_use]
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }
}

impl Tasks {
    /// Returns an iterator over the tasks.
    pub fn iter(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter()
    }
}

impl Task {
    /// Returns the task's identifier.
    #[must_use]
    pub fn id(&self) -> Id {
        self.id
    }

    /// Returns what the task waits for.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }
}

impl Handle {
    /// Returns the wait of each task of this runtime. Tasks that a thread polls at the moment are left
    /// out. So are tasks that have not been polled and have no name: these have no record yet.
    ///
    /// The answer comes from records: no future is polled, so it takes microseconds, changes nothing
    /// in the program, and also comes while workers are blocked. Unlike in Tokio, a program can call this
    /// on any thread, in any runtime. It yields once, so that a task that calls it again and again lets
    /// others run.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::runtime::Handle;
    /// use blitz_io::sync::oneshot;
    ///
    /// # blitz_io::runtime::Runtime::new().unwrap().block_on(async {
    /// let (_sender, receiver) = oneshot::channel::<()>();
    /// let task = blitz_io::spawn(receiver);
    /// let trace = loop {
    ///     let dump = Handle::current().dump().await;
    ///     let waits = dump.tasks().iter().find(|dumped| dumped.id() == task.id());
    ///     match waits.map(|dumped| dumped.trace().to_string()) {
    ///         Some(trace) if trace.contains("oneshot") => break trace,
    ///         _ => {}
    ///     }
    /// };
    /// println!("{trace}");
    /// # });
    /// ```
    pub async fn dump(&self) -> Dump {
        yield_now().await;
        let runtime = self.inner.common().id.number();
        let mine = |record: records::Record| {
            let task = record.task?;
            (task.runtime == runtime && !task.is_job).then_some(record.waiter.number())
        };
        let mine: HashSet<u64> = records::read().0.into_iter().filter_map(mine).collect();
        let snapshot = blitz_io_inspect::snapshot();
        let tasks = snapshot.tasks.iter().filter_map(|task| {
            let waits = task.state != TaskState::Running && mine.contains(&task.id);
            Some(Task {
                id: Id::from_u64(task.id).filter(|_| waits)?,
                trace: Trace::of_waits(&snapshot, Waiter::Task(task.id)),
            })
        });
        Dump {
            tasks: Tasks {
                tasks: tasks.collect(),
            },
        }
    }

    /// Returns whether this thread polls for a capture. For Tokio's own tests.
    #[doc(hidden)]
    #[must_use]
    pub fn is_tracing() -> bool {
        blitz_io_core::coop::is_capturing()
    }
}
