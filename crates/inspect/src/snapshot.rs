//! `Snapshot`: the waits of a process at one moment, as plain data.

use serde::{Deserialize, Serialize};

/// A thread or a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Waiter {
    /// The thread with this number, which is the process's own.
    Thread(u64),
    /// The task with this number.
    Task(u64),
}

/// The waits of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The process.
    pub pid: u32,
    /// The threads that have waited or held a lock.
    pub threads: Vec<Thread>,
    /// The tasks that have not ended.
    pub tasks: Vec<Task>,
    /// All waits.
    pub waits: Vec<Wait>,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Its number.
    pub id: u64,
    /// Its name, or an empty string.
    pub name: String,
}

/// A task that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its number.
    pub id: u64,
    /// Its name, or an empty string.
    pub name: String,
    /// Where it was spawned.
    pub location: String,
    /// It is not a task, but a future that a thread drives, such as that of `block_on`.
    pub is_root: bool,
    /// Its state.
    pub state: TaskState,
    /// The thread that polls it, or polled it last.
    pub thread: u64,
    /// How long its current poll has taken, in milliseconds.
    pub poll_ms: Option<u64>,
    /// How many wakers the task has, and handles that can abort it.
    pub wakers: usize,
    /// Changes when a poll begins.
    pub polls: u64,
}

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskState {
    /// It waits for a wake-up.
    Idle,
    /// It was woken and is queued.
    Scheduled,
    /// A thread polls it.
    Running,
}

/// One wait. A task may have several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// Tells this wait from others of the process.
    pub id: u64,
    /// The thread or task that waits.
    pub waiter: Waiter,
    /// The thread that waits, or that polled the future first.
    pub thread: u64,
    /// The kind of the target, such as `Mutex`.
    pub kind: String,
    /// The object.
    pub object: Option<Object>,
    /// The task that is awaited, for a `JoinHandle`, or the future that a `block_on` drives.
    pub task: Option<u64>,
    /// Where the program waits, or an empty string.
    pub location: String,
    /// When it began, in milliseconds of the system's monotonic clock.
    pub since_ms: u64,
    /// For how long, in milliseconds.
    pub waiting_ms: u64,
    /// It ends at a deadline at the latest.
    pub is_timed: bool,
    /// The thread sleeps; otherwise a future is pending.
    pub blocks_thread: bool,
    /// The future has the task's own waker, and not one of a combinator such as
    /// `FuturesUnordered`.
    pub is_direct: bool,
}

/// An object that is waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// Identifies the object while it exists.
    pub id: u64,
    /// Its name, if the program gave it one.
    pub name: Option<String>,
    /// The thread or task that has it exclusively; of a semaphore, the one that acquired last.
    pub holder: Option<Waiter>,
    /// The holder's guard may have moved to another task since.
    pub is_movable: bool,
    /// The readers that are known; of a `JoinSet`, its tasks.
    pub readers: Vec<Waiter>,
    /// How many readers are not known; of a `JoinSet`, whether its tasks are not known.
    pub unnamed: u32,
    /// The last one to send to a channel.
    pub sender: Option<Waiter>,
    /// The last one to receive from it.
    pub receiver: Option<Waiter>,
}

impl Waiter {
    /// Returns the number, if it is a task.
    #[must_use]
    pub const fn task(self) -> Option<u64> {
        match self {
            Self::Task(id) => Some(id),
            Self::Thread(_) => None,
        }
    }
}

impl Snapshot {
    /// Returns a task that has not ended.
    #[must_use]
    pub fn task(&self, id: u64) -> Option<&Task> {
        self.tasks.iter().find(|task| task.id == id)
    }
}
