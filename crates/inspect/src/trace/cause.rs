//! `Cause`: why a request made no progress, or that it did.

use blitz_io_observe::{Kind, Mode};
use serde::Serialize;

use super::recording::{For, Recording, Target};

/// A kind of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Category {
    /// A thread ran its code.
    Running,
    /// A task blocked its thread in a poll, by a call that has no record: it had no processor and was not ready for one, by
    /// the system's own counters (on Linux). They are read for polls of a millisecond or more. Elsewhere, and in shorter
    /// polls, this is [`Running`](Self::Running).
    AsleepInPoll,
    /// It ran, and the system gave its processor to another thread, by the system's own counters (on Linux). A thread
    /// reads them for polls of a millisecond or more.
    Preempted,
    /// It was ready, and no worker was free.
    Runnable,
    /// It waited for a lock.
    Lock,
    /// It waited for a permit of a semaphore.
    Permit,
    /// It waited for a value, or for room, in a channel.
    Channel,
    /// A closure waited for a thread for blocking work.
    BlockingPool,
    /// A thread of a fork-join pool ran a job for it.
    PoolRunning,
    /// Its job waited for a thread of a fork-join pool.
    PoolQueue,
    /// It slept until a deadline.
    Timer,
    /// It waited for a socket, or another source of the system.
    Socket,
    /// It waited for a file.
    File,
    /// It waited for a task or a fork of which the recording knows nothing more.
    Task,
    /// It waited for a message of another process, which is not recorded.
    Process,
    /// It waited for another event: a notification, a barrier, a futex.
    Event,
    /// The recording does not say.
    Other,
}

impl Category {
    /// All categories.
    pub const ALL: [Self; 17] = [
        Self::Running,
        Self::AsleepInPoll,
        Self::Preempted,
        Self::Runnable,
        Self::Lock,
        Self::Permit,
        Self::Channel,
        Self::BlockingPool,
        Self::PoolRunning,
        Self::PoolQueue,
        Self::Timer,
        Self::Socket,
        Self::File,
        Self::Task,
        Self::Process,
        Self::Event,
        Self::Other,
    ];

    /// Returns the name that reports use.
    ///
    /// ```
    /// use blitz_io_inspect::trace::Category;
    ///
    /// assert_eq!(Category::BlockingPool.name(), "blocking pool");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::AsleepInPoll => "asleep in poll",
            Self::Preempted => "preempted",
            Self::Runnable => "runnable",
            Self::Lock => "lock",
            Self::Permit => "permit",
            Self::Channel => "channel",
            Self::BlockingPool => "blocking pool",
            Self::PoolRunning => "pool, running",
            Self::PoolQueue => "pool, waiting",
            Self::Timer => "timer",
            Self::Socket => "socket",
            Self::File => "file",
            Self::Task => "task",
            Self::Process => "in process",
            Self::Event => "event",
            Self::Other => "other",
        }
    }

    /// Returns `true` if a thread ran code.
    pub(super) const fn is_running(self) -> bool {
        matches!(self, Self::Running | Self::PoolRunning)
    }

    /// Returns the category of a wait of this kind.
    pub(super) fn of_kind(kind: Option<Kind>) -> Self {
        let Some(kind) = kind else {
            return Self::Other;
        };
        match (kind, kind.semantics().mode) {
            (kind, _) if kind.is_timer() => Self::Timer,
            (Kind::Readable | Kind::Writable, _) => Self::Socket,
            (Kind::FileRead | Kind::FileWrite | Kind::FileSync, _) => Self::File,
            (_, mode) if mode.is_of_lock() => Self::Lock,
            (_, Mode::Permit) => Self::Permit,
            (_, Mode::Send | Mode::Receive) => Self::Channel,
            (_, Mode::Queue) => Self::BlockingPool,
            (_, Mode::Join | Mode::Drive) => Self::Task,
            (_, Mode::Unknown) => Self::Other,
            _ => Self::Event,
        }
    }
}

/// Why: the same for all times that a report adds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Cause {
    pub(super) category: Category,
    /// The kind of the wait, among those of the recording.
    pub(super) kind: Option<u8>,
    /// The place of the object, or 0.
    pub(super) object: usize,
    /// The place of a location: of the wait, or of the spawn of the task that ran; or 0.
    pub(super) location: usize,
    /// The number of the other process in which this happened, or 0.
    pub(super) process: u32,
}

impl Cause {
    pub(super) const fn of(category: Category, location: usize) -> Self {
        Self {
            category,
            kind: None,
            object: 0,
            location,
            process: 0,
        }
    }

    pub(super) fn of_wait(recording: &Recording, wait: For) -> Self {
        let object = match wait.target {
            Target::Object(object) => object,
            Target::Number(_) => 0,
        };
        Self {
            category: Category::of_kind(recording.kind(wait.kind).0),
            kind: Some(wait.kind),
            object,
            location: wait.location,
            process: 0,
        }
    }

    /// Returns the cause of a wait for a message of a process of which there is no recording. `process` is 0 if it may
    /// be one of several.
    pub(super) const fn of_process(process: u32, location: usize) -> Self {
        Self {
            process,
            ..Self::of(Category::Process, location)
        }
    }

    /// Returns the cause under which a report adds this one up. It is the same for all waits for an object that lives
    /// long or has a name, and else for all at one line.
    pub(super) fn group(self, recording: &Recording) -> Self {
        let has_name = recording.object(self.object).is_some();
        let lives_long = matches!(self.category, Category::Lock | Category::Permit);
        if self.object != 0 && (has_name || lives_long) {
            Self {
                location: 0,
                ..self
            }
        } else {
            Self { object: 0, ..self }
        }
    }

    /// Returns the text for reports, without the line.
    pub(super) fn text(&self, recording: &Recording) -> String {
        match (self.category, self.process) {
            (Category::Process, 0) => "(one of several, not recorded)".to_owned(),
            (Category::Process, pid) => format!("{pid} (not recorded)"),
            (_, 0) => self.text_here(recording),
            (_, pid) => format!("{} in process {pid}", self.text_here(recording))
                .trim_start()
                .to_owned(),
        }
    }

    fn text_here(&self, recording: &Recording) -> String {
        let what = match self.kind {
            Some(kind) => recording.kind(kind).1,
            None => "",
        };
        match self.object {
            0 => what.to_owned(),
            object => recording.named(what, object),
        }
    }
}
