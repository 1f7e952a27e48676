//! `Snapshot`: the waits of a process at one moment, and `Finding`: the judgement of some of them. Both
//! are plain data.

use std::collections::BTreeMap;

use blitz_io_observe::Semantics;
use serde::{Deserialize, Serialize};

/// A thread, a task or a process. In a snapshot of several processes, the upper 16 bits of a thread's or
/// task's number are the index of its process in [`Snapshot::processes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Waiter {
    /// The thread with this number, which is the process's own.
    Thread(u64),
    /// The task with this number.
    Task(u64),
    /// All threads of the process with this id.
    Process(u32),
}

/// The waits of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The process.
    pub pid: u32,
    /// The threads that have waited or held a lock.
    pub threads: Vec<Thread>,
    /// The tasks that have not ended, in the order of their numbers.
    pub tasks: Vec<Task>,
    /// The requests for which these tasks work, in the order of the tasks. Only requests that the program marks for
    /// `blitz trace`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<Serves>,
    /// The closures on threads for blocking work.
    #[serde(default)]
    pub jobs: Vec<Job>,
    /// All waits.
    pub waits: Vec<Wait>,
    /// The objects for which a wait has ended, and the channels. `None` if the
    /// version of the process does not say.
    #[serde(default)]
    pub objects: Option<Vec<Resource>>,
    /// The time that was spent waiting for objects that were dropped since, by kind.
    #[serde(default)]
    pub dropped: Vec<Contention>,
    /// The runtimes of the process. `None` if its version does not say.
    #[serde(default)]
    pub runtimes: Option<Vec<Runtime>>,
    /// The time at which this was made, in milliseconds of the system's monotonic clock; 0 if the version
    /// of the process does not say.
    #[serde(default)]
    pub at_ms: u64,
    /// The ends of shared memory that the process has.
    #[serde(default)]
    pub ends: Vec<End>,
    /// A number, if each thread sleeps until another one of the process wakes it. It changes when one of
    /// them has run.
    #[serde(default)]
    pub all_asleep: Option<u64>,
    /// The process has handlers of signals, beside those of the inspector and those for its own faults.
    #[serde(default)]
    pub handles_signals: bool,
    /// The stacks of the threads that have been in one poll for more than a second or sleep in an
    /// `unknown futex`. Of some systems only.
    #[serde(default)]
    pub stacks: Vec<Stack>,
    /// The facts that the system keeps from this process, and the parts of a report that are missing for that reason.
    #[serde(default)]
    pub missing: Vec<String>,
    /// The tasks and threads that made the objects of waits, where they are known. Only in the process itself: they would
    /// make the text half as long again.
    #[serde(skip)]
    pub makers: Vec<Maker>,
    /// The tasks and closures that could have been given one of these objects when they were spawned. As `makers`,
    /// they are in no text.
    #[serde(skip)]
    pub spawned: Vec<Spawned>,
    /// The numbers, in the order of a simulated run, of objects that waits know by their origins only, by the
    /// [`id`](Wait::id) of the wait. As `makers`, they are in no text.
    #[serde(skip)]
    pub made: BTreeMap<u64, u64>,
    /// The hosts of tasks, in a simulation of several hosts. As `makers`, they are in no text.
    #[serde(skip)]
    pub hosts: Vec<Hosted>,
    /// The names that the program has given tasks of a simulation that have ended. As `makers`, they are in no text.
    #[serde(skip)]
    pub ended: BTreeMap<u64, String>,
    /// The thread of the simulation of which this is a snapshot. As `makers`, it is in no text.
    #[serde(skip)]
    pub simulation: Option<u64>,
    /// The simulation of which this is a snapshot is finished: no task is ready, and nothing is left that could wake one.
    #[serde(skip)]
    pub is_finished: bool,
    /// The number of threads that may run other code than tasks and closures of a runtime. `None` if it is not known.
    #[serde(default)]
    pub other_threads: Option<usize>,
    /// The timers that are due, and whose runtime no thread drives, as far as is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overdue: Vec<Overdue>,
    /// The timers that are not due yet, of tasks and threads for which others wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timers: Vec<Timer>,
    /// Counts of the waits and tasks that the snapshot leaves out, as there are too many. `None` if it has them all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// The process itself, if it has such ends. After [`join`](crate::join), the other processes, too.
    #[serde(default)]
    pub processes: Vec<Process>,
}

/// A request for which a task works.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Serves {
    /// The number of the task.
    pub task: u64,
    /// The name of the request, such as `GET /users/{id}`.
    pub name: String,
}

/// The waits and tasks that a snapshot of a large process does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Those that are alike, the largest groups first.
    pub groups: Vec<Group>,
    /// The number of those that are in no group, as there are too many groups.
    pub others: u64,
    /// The tasks without details that have not ended, and have an object for which a wait of the snapshot is.
    pub alive: Vec<u64>,
}

/// Waits or tasks that are alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The kind of the waits, such as `Mutex`; `task` for tasks.
    pub kind: String,
    /// The location of the waits, or at which the tasks were spawned; or an empty string.
    pub location: String,
    /// The number of those without a detailed record.
    pub count: u64,
}

/// A task of a host of a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosted {
    /// The number of the task.
    pub task: u64,
    /// The name of its host.
    pub host: String,
}

/// The task or thread that made the object of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maker {
    /// The [`id`](Wait::id) of the wait.
    pub wait: u64,
    /// The task or thread.
    pub maker: Waiter,
    /// The number of the object, in the order in which objects are made.
    pub number: u64,
}

/// A timer whose deadline has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overdue {
    /// The [`id`](Wait::id) of the wait.
    pub wait: u64,
    /// The time since the deadline, in milliseconds.
    pub late_ms: u64,
}

/// A timer whose deadline has not passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timer {
    /// The [`id`](Wait::id) of the wait.
    pub wait: u64,
    /// The time to the deadline, in milliseconds.
    pub left_ms: u64,
}

/// The task or thread that spawned a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spawned {
    /// The number of the task, or of the closure.
    pub task: u64,
    /// The task or thread that spawned it; `None` if that is not known.
    pub by: Option<Waiter>,
    /// The number of the last object that was made before.
    pub number: u64,
}

/// An end of shared memory: a sender, receiver, listener, semaphore or barrier of `ipc`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// The [`id`](Object::id) of the object in this end's waits.
    pub object: u64,
    /// Its process.
    pub pid: u32,
    /// The file of the shared memory, or an empty string.
    pub path: String,
    /// A random number that identifies the shared memory.
    pub segment: u64,
    /// `route`, `channel`, `queue`, `event`, `semaphore` or `barrier`.
    pub kind: String,
    /// Its number among the participants of the shared memory.
    pub participant: usize,
    /// The thread or task that joined, has waited last, or has acquired a permit last.
    pub user: Option<Waiter>,
    /// All participants.
    pub peers: Vec<Peer>,
    /// Not only a participant can end a wait of this end: a sender may still join, or a permit is free.
    pub is_open: bool,
}

/// A participant of shared memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// Its number.
    pub participant: usize,
    /// Its process, as the process has written it.
    pub pid: u32,
    /// The time at which that process started, in the unit of `/proc/PID/stat`; 0 if it is not known.
    pub started: u64,
    /// It sends or notifies. Otherwise it receives, listens or takes part.
    pub sends: bool,
    /// It has what this end waits for: the message at the position of this receiver, which it writes;
    /// the oldest message of a full ring; or a permit.
    pub holds: bool,
}

/// A process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its command line, or an empty string if it is not known.
    pub command: String,
    /// Its state.
    pub state: ProcessState,
    /// The time for which none of its threads has run, in milliseconds, if the system says so.
    pub idle_ms: Option<u64>,
    /// Its waits are in the snapshot.
    pub has_records: bool,
    /// The number of its threads without those of the inspector; 0 if it is not known.
    pub threads: usize,
}

/// The state of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProcessState {
    /// The system does not say.
    #[default]
    Unknown,
    /// Its main thread runs, or could run.
    Running,
    /// Its main thread sleeps.
    Sleeping,
    /// A signal or a debugger has stopped it.
    Stopped,
    /// It has ended.
    Ended,
}

/// An object, whether or not it is waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    /// Its holders and its name.
    pub object: Object,
    /// The time that was spent waiting for it, by kind of wait.
    pub contention: Vec<Contention>,
    /// How full it is, for a channel.
    pub fill: Option<Fill>,
}

/// The time that was spent waiting for an object, in waits that slept and have ended. Waits of threads,
/// and those of 20 ms or more, are all counted. Of the shorter ones of tasks, each thread measures the
/// first thousand, and later one of 64, which then counts 64 times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contention {
    /// The kind of the waits, such as `Mutex`.
    pub kind: String,
    /// Nanoseconds in all.
    pub waited_ns: u64,
    /// The histogram of the times of the waits. The first number counts those below one microsecond, and
    /// number `i` those from 2^(i-1) to 2^i microseconds. The last one has no upper end.
    pub buckets: Vec<u64>,
    /// The location of the last wait, or an empty string.
    pub location: String,
}

/// The fill level of a channel, and the number of its ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fill {
    /// The values that have not been received, and the room that senders have reserved.
    pub used: usize,
    /// The room in all; `None` for a channel without a limit.
    pub capacity: Option<usize>,
    /// The number of senders. `None` if the version of the process does not say.
    #[serde(default)]
    pub senders: Option<usize>,
    /// The number of receivers. `None` if the version of the process does not say.
    #[serde(default)]
    pub receivers: Option<usize>,
}

/// A runtime.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runtime {
    /// Its number.
    pub id: u64,
    /// Its workers.
    pub workers: Vec<Worker>,
    /// The number of tasks that have not ended.
    pub alive_tasks: usize,
    /// The number of tasks that were spawned.
    pub spawned_tasks: u64,
    /// The number of tasks in the queue of all workers.
    pub global_queue: usize,
    /// The number of threads for blocking work.
    pub blocking_threads: usize,
    /// The number of these threads that are idle.
    pub idle_blocking_threads: usize,
    /// The number of closures that wait for such a thread.
    pub blocking_queue: usize,
    /// The histogram of the times of polls: pairs of the upper end in nanoseconds and the count, in
    /// ascending order. Empty unless the runtime has the histogram of poll times.
    pub poll_times: Vec<(u64, u64)>,
    /// Which workers sleep, and where. `None` for a runtime of one thread.
    #[serde(default)]
    pub scheduler: Option<Scheduler>,
    /// The number of tasks that were made ready from outside of the workers.
    #[serde(default)]
    pub injected: u64,
    /// The number of polls that ended because the task had used up its budget.
    #[serde(default)]
    pub forced_yields: u64,
}

/// The state of a scheduler's idle protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduler {
    /// The number of workers that are awake. One that was called is, before it gets up.
    pub awake: usize,
    /// The number of these that look for tasks of others.
    pub searching: usize,
    /// The numbers of the workers that are parked; the worker that has slept for longest is first.
    pub parked: Vec<usize>,
    /// The workers that wait in each driver.
    pub drivers: Vec<Waiting>,
    /// The sleepers that look for stalled workers.
    pub monitor: Option<Monitor>,
    /// The monitor has found all quiet for a while, and looks rarely.
    pub is_dozing: bool,
}

/// The workers that wait in a driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The number of workers that were not called.
    pub waiting: usize,
    /// The number of calls that no worker has taken yet.
    pub called: usize,
}

/// The sleepers that look for stalled workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Monitor {
    /// The parked worker with this number.
    Worker(usize),
    /// The workers that wait in the driver with this number.
    Driver(usize),
}

/// A worker of a runtime.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worker {
    /// It does not sleep.
    pub is_busy: bool,
    /// The time for which it was busy in all, in nanoseconds. Grows when the worker goes to sleep.
    pub busy_ns: u64,
    /// The number of polls that it has made.
    pub polls: u64,
    /// The mean duration of its last polls, in nanoseconds.
    pub mean_poll_ns: u64,
    /// The number of tasks in its own queue.
    pub queued: usize,
    /// The number of tasks that it has stolen.
    pub stolen: u64,
    /// The number of times that it has stolen some.
    #[serde(default)]
    pub steals: u64,
    /// The number of times that it went to sleep.
    #[serde(default)]
    pub parks: u64,
    /// The number of times that it got up and went to sleep without a poll.
    #[serde(default)]
    pub noops: u64,
    /// The number of times that its queue was full, and a part of it went to the queue of all workers.
    #[serde(default)]
    pub overflows: u64,
}

impl Contention {
    /// Returns how many waits there were.
    #[must_use]
    pub fn waits(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Returns the end of a range of `buckets` in seconds; infinity for the last one.
    #[must_use]
    pub fn upper_end(&self, bucket: usize) -> f64 {
        if bucket + 1 >= self.buckets.len() {
            return f64::INFINITY;
        }
        let exponent = i32::try_from(bucket).unwrap_or(i32::MAX);
        2_f64.powi(exponent) / 1e6
    }
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Its number.
    pub id: u64,
    /// Its name, or an empty string.
    pub name: String,
    /// The system's number for it, if that is known and the thread has not ended.
    #[serde(default)]
    pub system: Option<u32>,
    /// It has ended, as the system says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_ended: bool,
}

/// The functions that a thread is in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// The thread's number.
    pub thread: u64,
    /// The innermost function comes first. Empty if there is no copy of the stack.
    pub frames: Vec<Frame>,
    /// The thread's activity as the system reports it, such as `sleeps in the system call poll`; or an empty string.
    #[serde(default)]
    pub state: String,
    /// Why functions are missing, or an empty string.
    #[serde(default)]
    pub missing: String,
}

/// A function that a thread is in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// Its name, or its address.
    pub function: String,
    /// The file and line, or an empty string.
    pub location: String,
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
    /// The time that its current poll has taken, in milliseconds.
    pub poll_ms: Option<u64>,
    /// The number of wakers of the task and of handles that can abort it, without those of its scope.
    pub wakers: usize,
    /// Changes when a poll begins.
    pub polls: u64,
    /// The scope of which it is a child. `None` if it is none, or the version of the process does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_of: Option<ChildOf>,
    /// It can only go on in its thread, as a fiber, once that has polled it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_pinned: bool,
}

impl Task {
    /// Returns `true` if it is a child that the future of its scope polls: a part of the task that awaits the scope.
    #[must_use]
    pub fn is_part(&self) -> bool {
        id_of_child(self.id).is_some()
    }
}

/// The scope of a child. A child that the future of its scope polls is a task with a number of its own, which tells it from
/// others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildOf {
    /// The task or thread that awaits the scope. If it stops to do so, the child is dropped or aborted.
    pub owner: Waiter,
    /// The [`id`](Object::id) of the object of the wait for the children.
    pub scope: u64,
    /// The children may borrow from the owner, and so have its guards.
    pub borrows: bool,
}

/// A closure that a thread for blocking work runs or will run, or an operation of this library on such a
/// thread. It is counted among the tasks: a [`Waiter::Task`] may be one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Its number.
    pub id: u64,
    /// Its operation, such as `open /etc/hosts`, or the name that the program gave it, or an empty string.
    pub name: String,
    /// Where it was spawned.
    pub location: String,
    /// The thread that runs it; `None` while it is queued.
    pub thread: Option<u64>,
    /// The number of its runtime; 0 if the version of the process does not say.
    #[serde(default)]
    pub runtime: u64,
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
    /// Identifies this wait within the process.
    pub id: u64,
    /// The thread or task that waits.
    pub waiter: Waiter,
    /// The thread that waits, or that polled the future first.
    pub thread: u64,
    /// The kind of the target, such as `Mutex`.
    pub kind: String,
    /// The facts about the end of such a wait. The default if the version of the process does not say.
    #[serde(default, with = "crate::semantics")]
    pub semantics: Semantics,
    /// The object.
    pub object: Option<Object>,
    /// The task that is awaited, for a `JoinHandle`, or the future that a `block_on` drives.
    pub task: Option<u64>,
    /// The runtime whose end is awaited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<u64>,
    /// The awaited event of a source of the operating system, such as `read from 127.0.0.1:80`. For a
    /// futex, its address, and the value that it holds if that is known.
    #[serde(default)]
    pub source: Option<String>,
    /// The location at which the program waits, or an empty string.
    pub location: String,
    /// The time at which it began, in milliseconds of the system's monotonic clock. For an `unknown futex`,
    /// the time of the snapshot.
    pub since_ms: u64,
    /// The time for which it has lasted, in milliseconds; 0 for an `unknown futex`.
    pub waiting_ms: u64,
    /// It ends at a deadline at the latest.
    pub is_timed: bool,
    /// The thread sleeps; otherwise a future is pending.
    pub blocks_thread: bool,
    /// The future has the task's own waker, and not one of a combinator such as
    /// `FuturesUnordered`.
    pub is_direct: bool,
    /// The object, or a permit, notification or place of it, was handed to this future, which has not been
    /// polled since. Of direct futures of one task, it is one of them.
    #[serde(default)]
    pub is_handed: bool,
}

/// A wait that has lasted for less, in milliseconds, is a *short* one.
pub(crate) const SHORT: u64 = 1_000;

impl Wait {
    /// Returns `true` if the wait is a short one. What it waits for may just be slow, so rules whose evidence
    /// is weak leave it out.
    pub(crate) fn is_short(&self) -> bool {
        self.waiting_ms < SHORT
    }
}

/// An object that is waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// Identifies the object while it exists.
    pub id: u64,
    /// Its name, if the program gave it one.
    pub name: Option<String>,
    /// The thread or task that has it exclusively; of a semaphore, the last thread or task that acquired permits, unless it has
    /// returned them.
    pub holder: Option<Waiter>,
    /// The holder's guard may have moved to another task since.
    pub is_movable: bool,
    /// The holder is an upgradable reader, which keeps writers out, but not readers. `is_movable` is set,
    /// too, for versions that do not know this.
    #[serde(default)]
    pub is_beside_readers: bool,
    /// The holder has ended with a value that may have the guard or permit.
    #[serde(default)]
    pub is_given: bool,
    /// The readers that are known; of a `JoinSet`, scope or pipeline, its members; of a semaphore, those that have permits.
    pub readers: Vec<Waiter>,
    /// The number of readers or members that are not known; of a semaphore, of guards.
    pub unnamed: u32,
    /// Of a semaphore: the permits of `readers` are in guards that borrow it, so they have hardly moved to other tasks.
    #[serde(default)]
    pub are_kept: bool,
    /// The number of tasks or threads that meet at a barrier, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parties: Option<u32>,
    /// The location at which the object was taken last, or an empty string.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub taken_at: String,
    /// The location at which the object was created, or an empty string.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub created_at: String,
    /// The column of that location, or 0.
    #[serde(default)]
    pub created_column: u32,
    /// The last thread or task that sent to a channel.
    pub sender: Option<Waiter>,
    /// The last thread or task that received from it.
    pub receiver: Option<Waiter>,
}

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// By the semantics of the primitives, no step of the program ends this wait.
    Certain,
    /// It looks so; the finding says why it is not certain.
    Probable,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// How sure it is.
    pub certainty: Certainty,
    /// `deadlock`, `permits`, `self-wait`, `futurelock`, `pool-starvation`, `lost-holder`, `all-asleep`,
    /// `never-woken`, `stopped-peer`, `long-poll`, `not-polled`, `not-driven` or `long-wait`.
    pub kind: String,
    /// One sentence.
    pub summary: String,
    /// The threads, tasks and processes concerned, in the order of the chain.
    pub waiters: Vec<Waiter>,
    /// The waits of the chain.
    pub waits: Vec<Wait>,
    /// The other waits of these threads and tasks, if the end of one of them would let them go on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<Wait>,
}

#[cfg(test)]
impl Wait {
    /// Returns a task's wait of this kind, which has just begun.
    pub(crate) fn example(id: u64, waiter: Waiter, kind: blitz_io_observe::Kind) -> Self {
        Self {
            id,
            waiter,
            thread: 1,
            kind: kind.name().into(),
            semantics: kind.semantics(),
            object: None,
            task: None,
            runtime: None,
            source: None,
            location: String::new(),
            since_ms: 0,
            waiting_ms: 0,
            is_timed: false,
            blocks_thread: false,
            is_direct: true,
            is_handed: false,
        }
    }
}

impl Waiter {
    /// Returns the number, if it is a task.
    #[must_use]
    pub const fn task(self) -> Option<u64> {
        match self {
            Self::Task(id) => Some(id),
            Self::Thread(_) | Self::Process(_) => None,
        }
    }
}

/// Returns the file and line of a location.
#[cfg(feature = "records")]
pub(crate) fn place(location: &std::panic::Location<'_>) -> String {
    format!("{}:{}", location.file(), location.line())
}

/// Returns the id of a child with this number that the future of its scope polls; `None` if it is another task.
pub(crate) fn id_of_child(number: u64) -> Option<u64> {
    blitz_io_observe::id_of_child(process_and_number(number).1)
}

/// Returns `true` for the number of a future of another runtime (`observe/src/records/foreign.rs`).
pub(crate) fn is_future(number: u64) -> bool {
    blitz_io_observe::is_future(process_and_number(number).1)
}

/// Returns the thread or task of a record.
#[cfg(feature = "records")]
pub(crate) fn waiter(waiter: blitz_io_observe::Waiter) -> Waiter {
    if waiter.is_task() {
        Waiter::Task(waiter.number())
    } else {
        Waiter::Thread(waiter.number())
    }
}

/// The bits of a number that are not the index of a process.
const NUMBER_BITS: u32 = 48;

/// Returns the number of a thread, task or object, with the index of its process.
pub(crate) const fn with_process(number: u64, process: usize) -> u64 {
    number ^ (process as u64) << NUMBER_BITS
}

/// Returns the index of the process, and the number within that process.
pub(crate) const fn process_and_number(number: u64) -> (usize, u64) {
    let process = (number >> NUMBER_BITS) as usize;
    (process, with_process(number, process))
}

impl Snapshot {
    /// Returns a task that has not ended.
    #[must_use]
    pub fn task(&self, id: u64) -> Option<&Task> {
        let at = self.tasks.binary_search_by_key(&id, |task| task.id).ok()?;
        self.tasks.get(at)
    }

    /// Returns the requests for which a task works.
    #[must_use]
    pub fn requests_of(&self, task: u64) -> &[Serves] {
        let first = self.requests.partition_point(|serves| serves.task < task);
        let own = &self.requests[first..];
        let count = own.partition_point(|serves| serves.task == task);
        &own[..count]
    }

    /// Returns a closure on a thread for blocking work that has not ended.
    #[must_use]
    pub fn job(&self, id: u64) -> Option<&Job> {
        self.jobs.iter().find(|job| job.id == id)
    }

    /// Returns `true` for a thread that has ended, as the system says.
    pub(crate) fn has_ended(&self, waiter: Waiter) -> bool {
        let mut threads = self.threads.iter();
        threads.any(|thread| thread.has_ended && Waiter::Thread(thread.id) == waiter)
    }

    /// Returns the process with this id, if the snapshot has it.
    #[must_use]
    pub fn process(&self, pid: u32) -> Option<&Process> {
        self.processes.iter().find(|process| process.pid == pid)
    }

    /// Returns the process of a thread or task, or the process itself. `None` if the snapshot has only
    /// one process, and no ends of shared memory.
    #[must_use]
    pub fn process_of(&self, waiter: Waiter) -> Option<&Process> {
        match waiter {
            Waiter::Process(pid) => self.process(pid),
            Waiter::Thread(number) | Waiter::Task(number) => {
                self.processes.get(process_and_number(number).0)
            }
        }
    }

    /// Returns the thread or task that uses the end of a participant, if its process is in the snapshot.
    pub(crate) fn user(&self, end: &End, peer: &Peer) -> Option<Waiter> {
        let is_it = |other: &&End| {
            let is_same = other.segment == end.segment && other.pid == peer.pid;
            is_same && other.participant == peer.participant
        };
        self.ends.iter().find(is_it)?.user
    }

    /// Returns how full the channel with this number is, and how many ends it has.
    #[must_use]
    pub fn channel(&self, object: u64) -> Option<&Fill> {
        let mut objects = self.objects.iter().flatten();
        let channel = objects.find(|resource| resource.object.id == object)?;
        channel.fill.as_ref()
    }

    /// Returns the end of shared memory for which a wait is.
    #[must_use]
    pub fn end(&self, wait: &Wait) -> Option<&End> {
        let object = wait.object.as_ref()?.id;
        self.ends.iter().find(|end| end.object == object)
    }
}
