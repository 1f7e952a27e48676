//! The file of one process.

use blitz_io_observe::{Kind, Mode};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::snapshot::{Certainty, Waiter};

/// The format that this version reads.
const FORMAT: u32 = 1;

/// What one process did.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Run {
    /// The version of the format.
    pub format: u32,
    /// The number of the process.
    pub pid: u32,
    /// Its command line.
    pub command: String,
    /// Numbers of things that the recorder had no room for.
    pub lost: Lost,
    /// Locks that were taken while others were held.
    pub edges: Vec<Edge>,
    /// Guards of thread locks that tasks kept while they were suspended.
    pub guards: Vec<Event>,
    /// Waits that blocked the poll of a task.
    pub blocked: Vec<Event>,
    /// Long polls.
    pub polls: Vec<Event>,
    /// Locks and the like that were handed to a future of a task, which polled something else.
    pub handed: Vec<Event>,
    /// Sockets for which a task of a request waited, with no timer.
    pub sockets: Vec<Event>,
    /// Writers of locks that have readers.
    pub writes: Vec<Write>,
    /// Semaphores with permits that were forgotten or added.
    pub permits: Vec<Permits>,
    /// Channels without a limit.
    pub channels: Vec<Growth>,
    /// Events that woke tasks.
    pub storms: Vec<Storm>,
    /// Tasks that were left when a runtime ended.
    pub leaks: Vec<Leak>,
}

/// Numbers of things that the recorder had no room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lost {
    /// Locks beyond those that a thread's list has room for.
    pub held: u64,
    /// Suspended tasks with locks.
    pub tasks: u64,
    /// Pairs of locks.
    pub edges: u64,
    /// Lines at which a poll blocked.
    pub events: u64,
}

/// A lock, and how and where it was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// Identifies the lock among all that the process has had.
    pub lock: String,
    /// The kind of the wait for it.
    #[serde(with = "kind")]
    pub kind: Kind,
    /// Its name.
    #[serde(default)]
    pub name: Option<String>,
    /// The line at which it was created, if that is known.
    #[serde(default)]
    pub made_at: Option<String>,
    /// The line at which it was taken, if that is known.
    #[serde(default)]
    pub at: Option<String>,
}

/// Two locks, the second of which was taken while the first one was held.
#[derive(Clone, Debug, Deserialize)]
pub struct Edge {
    /// The lock that was held.
    pub from: Side,
    /// The lock that was taken.
    pub to: Side,
    /// The task or thread.
    pub owner: Option<Waiter>,
    /// The line at which the task was spawned, if that is known.
    #[serde(default)]
    pub owner_at: Option<String>,
    /// The guard of the first lock may have moved to another task.
    #[serde(default)]
    pub is_movable: bool,
    /// The task had pending futures that wait for a lock, a channel or a task: one of them may have taken the first lock.
    #[serde(default)]
    pub is_joined: bool,
    /// The task had pending futures that wait for a socket, a timer or an event, as those beside the handler of a
    /// connection do.
    #[serde(default)]
    pub is_beside: bool,
    /// Other locks that were held exclusively.
    #[serde(default)]
    pub gates: Vec<String>,
}

/// A line at which something happened in the polls of tasks.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Event {
    /// The lock or the wait.
    pub side: Option<Side>,
    /// The line at which the holder took the lock.
    pub holder_at: Option<String>,
    /// The line at which the task was spawned.
    pub task_at: Option<String>,
    /// One of the tasks.
    pub task: Option<Waiter>,
    /// The name of the request for which the longest one worked.
    pub request: Option<String>,
    /// The lines before and after the longest part of the poll, if they are known.
    pub between: [Option<String>; 2],
    /// The number of times that it happened.
    pub count: u64,
    /// The time of the longest, in nanoseconds.
    pub longest_ns: u64,
    /// The processor time of the longest.
    pub processor_ns: u64,
}

/// A writer of a lock.
#[derive(Clone, Debug, Deserialize)]
pub struct Write {
    /// The lock.
    pub side: Side,
    /// The task or thread.
    pub owner: Option<Waiter>,
    /// The line at which the task was spawned, if that is known.
    #[serde(default)]
    pub owner_at: Option<String>,
    /// Other locks that were held exclusively.
    #[serde(default)]
    pub gates: Vec<String>,
}

/// A semaphore with permits that were forgotten or added.
#[derive(Clone, Debug, Deserialize)]
pub struct Permits {
    /// The semaphore, and the line at which permits were forgotten last.
    pub side: Side,
    /// The task or thread that has forgotten them.
    pub owner: Option<Waiter>,
    /// The line at which that task was spawned, if it is known.
    #[serde(default)]
    pub owner_at: Option<String>,
    /// The number of times that permits were forgotten.
    pub forgotten: u64,
    /// The number of times that permits were taken since the first time.
    pub taken: u64,
    /// A future or a thread waited for permits when some were forgotten, or later.
    #[serde(default)]
    pub is_awaited: bool,
    /// Permits were added.
    pub is_refilled: bool,
}

/// A channel without a limit, at which a thread looked with each 1,024th value that it sent.
#[derive(Clone, Debug, Deserialize)]
pub struct Growth {
    /// The channel.
    pub side: Side,
    /// The task or thread that has sent last.
    pub sender: Option<Waiter>,
    /// The line at which that task was spawned, if it is known.
    #[serde(default)]
    pub sender_at: Option<String>,
    /// The task or thread that received last, if any.
    pub receiver: Option<Waiter>,
    /// The line at which that task was spawned, if it is known.
    #[serde(default)]
    pub receiver_at: Option<String>,
    /// The number of looks at which it was longer than before.
    pub longer: u64,
    /// The number of looks at which it was shorter than before.
    pub shorter: u64,
    /// Its length at the last look.
    pub length: u64,
}

/// An event, at a line at which tasks wait for it.
#[derive(Clone, Debug, Deserialize)]
pub struct Storm {
    /// The event.
    pub side: Side,
    /// The line at which one of the tasks was spawned.
    #[serde(default)]
    pub task_at: Option<String>,
    /// One of the tasks.
    #[serde(default)]
    pub task: Option<Waiter>,
    /// The number of tasks, up to a bound.
    pub tasks: u64,
    /// The number of times that a task waited again at once.
    pub again: u64,
    /// The number of times that a task did not.
    pub progressed: u64,
}

/// One task or thread of a finding, and its step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Step {
    /// The task or thread, if it is known.
    pub who: Option<Waiter>,
    /// The line at which the task was spawned.
    pub spawned_at: Option<String>,
    /// The request for which it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The lines before and after the longest part of its poll.
    #[serde(skip_serializing_if = "is_unknown")]
    pub between: [Option<String>; 2],
    /// The lock that it holds.
    pub holds: Option<Side>,
    /// The lock or other object that it waits for.
    pub takes: Option<Side>,
}

/// Tasks that no longer could be woken when a runtime ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Leak {
    /// How sure it is.
    pub certainty: Certainty,
    /// One sentence.
    pub summary: String,
    /// The tasks and threads.
    pub steps: Vec<Step>,
}

/// Returns `true` if both lines are not known.
fn is_unknown(between: &[Option<String>; 2]) -> bool {
    between.iter().all(Option::is_none)
}

impl Run {
    /// Reads the file of a process.
    ///
    /// # Errors
    ///
    /// Fails if the text is no such file, or one of another version.
    ///
    /// ```
    /// use blitz_io_inspect::lint::Run;
    ///
    /// assert!(Run::parse("{\"format\":1}").is_ok());
    /// assert!(Run::parse("{\"format\":1000}").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let run: Self = serde_json::from_str(text)?;
        if run.format == FORMAT {
            Ok(run)
        } else {
            Err(serde_json::Error::custom("another version made this file"))
        }
    }
}

impl Side {
    pub(super) fn mode(&self) -> Mode {
        self.kind.semantics().mode
    }
}

/// A kind by its name.
mod kind {
    use super::{Deserialize, Deserializer, Error, Kind};

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Kind, D::Error> {
        let name = String::deserialize(from)?;
        let found = Kind::ALL.iter().copied().find(|kind| kind.name() == name);
        found.ok_or_else(|| D::Error::custom(format_args!("no kind has the name {name:?}")))
    }

    pub(super) fn serialize<S: serde::Serializer>(kind: &Kind, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(kind.name())
    }
}
