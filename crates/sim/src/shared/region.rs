//! Memory that the library shares with the program under simulation.
//!
//! The library writes the configuration before it asks the fork server for a run. The run writes its
//! decisions and its verdict. Neither writes while the other may: the pipe between them orders this,
//! except for `points`, `pid`, `running` and `alarm`, by which the library sees that a run still moves, and tells
//! it if not.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Version of this layout and of the trace file.
pub const VERSION: u32 = 2;
/// Descriptor of the region in the new program.
pub const REGION_FD: i32 = 900;
/// Descriptor from which the fork server reads its commands.
pub const COMMAND_FD: i32 = 901;
/// Descriptor on which the fork server answers.
pub const ANSWER_FD: i32 = 902;
/// Number of decisions that one run can record.
pub const DECISIONS: usize = 1 << 22;
/// Decisions between two checkpoints of the hash.
pub const CHECKPOINT: usize = 1024;
/// Number of scripted decisions of a replay.
pub const SCRIPTED: usize = 1 << 22;
/// Bytes of the report.
pub const TEXT: usize = 1 << 18;
/// Number of events that one run can record.
pub const EVENTS: usize = 1 << 18;
/// Bytes of the names in recorded events.
pub const NAMES: usize = 1 << 16;
/// Number of threads whose weights a run can know.
pub const WEIGHTS: usize = 1 << 10;
/// Number of shared objects that a run can know.
pub const SHARED: usize = 1 << 12;
/// Number of loops without a call that a run can know.
pub const LOOPS: usize = 64;
/// Instructions of the longest window, and one more.
pub const WINDOWS: usize = 1 << 12;
/// The object of a call that concerns no other thread.
pub const NOTHING: u64 = u64::MAX;
/// Class of a call that only reads its object.
pub const READS: u16 = 1;
/// What a thread waits for, by the number of the kind of object (`state::Class` of the object).
pub const WAITS: [&str; 11] = [
    "a time",
    "a mutex",
    "a read-write lock",
    "a condition",
    "a barrier",
    "a semaphore",
    "a pthread_once",
    "a word of memory",
    "the end of a thread",
    "a descriptor",
    "a signal",
];
/// The thread that woke another one, if time did.
pub const TIME: u32 = u32::MAX;

/// How a run ended, as far as the run itself knows. Zero: its exit status says it.
pub mod verdict {
    /// All threads waited, and none of them for a time.
    pub const DEADLOCK: u32 = 1;
    /// The run passed its limit of points.
    pub const LIVELOCK: u32 = 2;
    /// A call that is neither simulated nor harmless.
    pub const ESCAPED: u32 = 3;
    /// The recorded decisions do not fit to this run.
    pub const DIVERGED: u32 = 4;
    /// The record of the decisions is full.
    pub const FULL: u32 = 5;
    /// The run reached the step at which it was to stop.
    pub const STOPPED: u32 = 6;
    /// A loop without a call was found: its mark is in the region.
    pub const LOOP: u32 = 7;
}

/// Strategies.
pub mod strategy {
    /// Follows the script, then takes choice 0.
    pub const SCRIPT: u32 = 0;
    /// Random choices, with a tendency to stay that the seed draws.
    pub const RANDOM: u32 = 1;
    /// Priorities with `depth - 1` changes at random points (probabilistic concurrency testing).
    pub const PCT: u32 = 2;
    /// Each thread in its turn, with a change at every point.
    pub const ROUND_ROBIN: u32 = 3;
    /// A random priority for each pending call (partial order sampling).
    pub const POS: u32 = 4;
    /// Uniform over the orders of the calls on shared objects (selectively uniform random walk).
    pub const SURW: u32 = 5;
}

/// The kinds of recorded events.
pub mod happening {
    /// The thread reached a call on the object.
    pub const CALL: u16 = 0;
    /// The thread waits for the object; `class` says of which kind it is. If `other` is another thread, that
    /// one was faster.
    pub const WAIT: u16 = 1;
    /// The thread can run again: `other` woke it, or time did.
    pub const READY: u16 = 2;
    /// The thread was started by `other`.
    pub const START: u16 = 3;
    /// The thread ended.
    pub const END: u16 = 4;
    /// The thread got a name.
    pub const NAME: u16 = 5;
    /// A fault of the family `class` occurred.
    pub const FAULT: u16 = 6;
    /// A decision of the kind `class` had another result than the harmless one. The thread is the running one.
    /// `other` is the thread that was chosen, or the choice. `object` has the number of the decision in its lower half.
    /// If the decision is about threads, the upper half is the thread that choice 0 means.
    pub const CHOICE: u16 = 7;
}

/// Subjects of decisions.
pub mod kind {
    /// The running thread could go on. Choice 0: it does.
    pub const SWITCH: u16 = 0;
    /// The running thread cannot go on. Choice 0: the next one by number.
    pub const NEXT: u16 = 1;
    /// The running thread yields. Choice 0: the next other one by number.
    pub const YIELD: u16 = 2;
    /// Waiter to signal. Choice 0: the thread that has waited longest.
    pub const WAITER: u16 = 3;
    /// Instructions after which the thread loses the baton. Choice 0: it keeps it until its next call.
    pub const WINDOW: u16 = 4;
    /// A fault of family `f` is `FAULT + f`. Choice 0: no fault; a higher one is a graver fault.
    pub const FAULT: u16 = 16;
}

/// Fault families, as bits of `Region::faults`.
pub mod fault {
    /// Reads and writes transfer fewer bytes than they could.
    pub const SHORT: u32 = 0;
    /// Waits of conditions and futexes end without a reason.
    pub const SPURIOUS: u32 = 1;
    /// Time passes to the next timer while threads could run.
    pub const STALL: u32 = 2;
    /// Blocking calls on descriptors fail with `EINTR`.
    pub const EINTR: u32 = 3;
    /// Calls on descriptors that do not block fail with `EAGAIN` although they could succeed.
    pub const EAGAIN: u32 = 4;
    /// Bytes of a connection arrive later.
    pub const LATENCY: u32 = 5;
    /// Connections are reset.
    pub const RESET: u32 = 6;
    /// `accept` fails with `EMFILE`.
    pub const EMFILE: u32 = 7;
    /// Datagrams are lost.
    pub const LOSS: u32 = 8;
    /// Datagrams arrive later than those sent after them.
    pub const REORDER: u32 = 9;
    /// Datagrams arrive twice.
    pub const DUPLICATE: u32 = 10;
    /// A port cannot be reached for a while.
    pub const PARTITION: u32 = 11;
    /// `getaddrinfo` is slow, or fails for now.
    pub const DNS: u32 = 12;
    /// The disk has no room, with files in memory.
    pub const ENOSPC: u32 = 13;
    /// Reads, writes and syncs of files in memory fail.
    pub const EIO: u32 = 14;
    /// The machine loses its power, and the program starts again on the files in memory that are left.
    pub const CRASH: u32 = 15;
    /// The calendar's clock is set to another time.
    pub const CLOCK: u32 = 16;
    /// A connection falls silent for ever, and no end is told.
    pub const HALF_OPEN: u32 = 17;
    /// What goes to a port, or what comes from one, does not arrive for a while.
    pub const ONE_WAY: u32 = 18;
}

/// One decision of a run.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Its kind: whether it is about a thread, a waiter or a fault.
    pub kind: u16,
    /// Number of choices.
    pub count: u16,
    /// The choice.
    pub choice: u16,
    /// 1 if the running thread's atomic operation concerns no other thread: it repeats one that has changed nothing, or its
    /// object is known to be of one thread. An exhaustive search does not take the processor away there.
    pub alone: u8,
    /// Number of the running thread, or the highest one that fits.
    pub thread: u8,
}

/// A choice that a replay prescribes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scripted {
    /// Number of decisions before this one.
    pub index: u32,
    /// The decision.
    pub kind: u16,
    /// Number of choices.
    pub count: u16,
    /// The choice.
    pub choice: u16,
    /// Always zero.
    pub reserved: u16,
}

/// One event of a recorded run.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Simulated nanoseconds since the start.
    pub now: u64,
    /// Number of points so far.
    pub step: u64,
    /// The object of a call or a wait, or [`NOTHING`].
    pub object: u64,
    /// Number of the thread.
    pub thread: u32,
    /// Number of another thread.
    pub other: u32,
    /// Start of a name in [`Region::names`].
    pub name: u32,
    /// One of [`happening`].
    pub what: u16,
    /// Kind of the object of a wait, family of a fault, or [`READS`].
    pub class: u16,
}

/// The shared memory.
#[repr(C)]
pub struct Region {
    /// [`VERSION`].
    pub version: u32,
    /// One of [`strategy`].
    pub strategy: u32,
    /// Seed of the schedule, of the faults and of the program's randomness.
    pub seed: u64,
    /// Parameter of the strategy: the depth of PCT.
    pub depth: u32,
    /// Enabled fault families.
    pub faults: u32,
    /// Length of the schedule that PCT assumes, and the one from which follows how many windows there are.
    pub length: u64,
    /// Points after which a run counts as a livelock.
    pub limit: u64,
    /// Number of processors that the program sees.
    pub processors: u32,
    /// Number of entries of `script`.
    pub scripted: u32,
    /// Not zero: a scripted decision that does not fit ends the run.
    pub strict: u32,
    /// Nonzero if the run records its events.
    pub recording: u32,
    /// The step at which the run stops; zero for none.
    pub until: u64,
    /// Nonzero if it stops by a signal there, for a debugger.
    pub pause: u32,
    /// Number of entries of `weights`.
    pub weighted: u32,
    /// Number of entries of `shared`; zero: all objects count.
    pub sharing: u32,
    /// Not zero: threads may lose the baton between two calls.
    pub preempt: u32,
    /// Number of entries of `loops`.
    pub looping: u32,
    /// Not zero: atomic operations are points, too.
    pub atomics: u32,
    /// Not zero: time does not pass to a deadline because all threads wait.
    pub no_timeouts: u32,
    /// Not zero: the program has the instrumentation for that. The fork server says it at its start.
    pub instrumented: u32,

    /// Process id of the run.
    pub pid: AtomicU32,
    /// Points so far.
    pub points: AtomicU64,
    /// One of [`verdict`].
    pub verdict: u32,
    /// Number of entries of `decisions`.
    pub decided: u32,
    /// Hash of all events.
    pub hash: u64,
    /// Simulated nanoseconds since the start.
    pub now: u64,
    /// Number of threads that were started.
    pub threads: u32,
    /// Families of faults, as bits, of which the run has had an opportunity, also those that are not enabled.
    pub opportunities: u32,
    /// Not zero: the program has got random numbers.
    pub randomness: u32,
    /// Crashes so far. Each starts the program again.
    pub crashes: u32,
    /// Not zero: the process has ended by a crash.
    pub restarts: u32,
    /// The run has stopped for a debugger.
    pub paused: AtomicU32,
    /// The kernel's number of the thread with the baton.
    pub running: AtomicU32,
    /// Not zero: the library has sent a signal, because it sees no point for long.
    pub alarm: AtomicU32,
    /// The mark of a loop that was found, as a distance from the start of the program's code.
    pub mark: u64,
    /// Number of entries of `events`.
    pub happened: u32,
    /// Bytes of `names`.
    pub names_length: u32,
    /// Instructions of the program that were executed one by one in windows.
    pub stepped: u64,
    /// Names the waits that can never end, if a copy of the process has found some (`object/explain.rs`).
    pub finding: u64,
    /// Bytes of the report.
    pub text_length: u32,
    /// Report: which thread waits where, or what escaped.
    pub text: [u8; TEXT],
    /// Hash before every decision whose number is a multiple of [`CHECKPOINT`].
    pub checkpoints: [u64; DECISIONS / CHECKPOINT],
    /// Decisions of this run.
    pub decisions: [Decision; DECISIONS],
    /// Decisions of the run that is replayed.
    pub script: [Scripted; SCRIPTED],
    /// Calls that a thread and its descendants make, as an earlier run has shown.
    pub weights: [u32; WEIGHTS],
    /// Objects that several threads used in an earlier run, ascending.
    pub shared: [u64; SHARED],
    /// Marks of loops without a call that earlier runs have found.
    pub loops: [u64; LOOPS],
    /// Events of a recorded run.
    pub events: [Event; EVENTS],
    /// Names in the events: each is its length in one byte, and its bytes.
    pub names: [u8; NAMES],
}
