use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::api::kind::{Kind, WhenFull};
use crate::kernel::wait::Failure;

/// The error returned when a segment could not be made, opened or joined.
///
/// The text states the error and how to correct it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// This library does not support memory that is shared between processes on this
    /// system.
    Unsupported,
    /// The name cannot be the name of a segment.
    Name {
        /// The name.
        name: String,
        /// The reason why the name is invalid.
        reason: &'static str,
    },
    /// A setting of the builder is out of its range.
    Setting {
        /// The setting.
        setting: &'static str,
        /// The reason why the value is invalid.
        reason: String,
    },
    /// The directory cannot be trusted.
    Directory {
        /// The directory.
        path: PathBuf,
        /// The reason why it cannot be trusted.
        reason: &'static str,
    },
    /// The file cannot be trusted: it belongs to another user, other users may write to it,
    /// or it has a second name. See [`Builder::allow_owner`](crate::Builder::allow_owner)
    /// and [`Builder::mode`](crate::Builder::mode).
    Untrusted {
        /// The file.
        path: PathBuf,
        /// The reason why it cannot be trusted.
        reason: String,
    },
    /// The segment does not exist where this process would make it, but in another
    /// directory of the same user: `XDG_RUNTIME_DIR` differs between the processes.
    Elsewhere {
        /// The path at which this process would make it.
        path: PathBuf,
        /// The path at which it exists.
        found: PathBuf,
    },
    /// The permission for a file or directory is missing.
    Permission {
        /// The file or directory.
        path: PathBuf,
    },
    /// There is not enough shared memory.
    NoSpace {
        /// The number of bytes that the segment needs.
        needed: usize,
    },
    /// The file is not a segment, or not one of this version.
    Foreign {
        /// The file; empty if it has no name.
        path: PathBuf,
        /// The difference by which this was recognized.
        reason: String,
    },
    /// The segment exists with another setting.
    Mismatch {
        /// The setting.
        setting: &'static str,
        /// The requested value; of a [`Kind`] or a [`WhenFull`], its number. A capacity is not rounded yet.
        wanted: u64,
        /// The value that the segment has.
        found: u64,
    },
    /// No segment has this name.
    NotFound {
        /// The name.
        name: String,
        /// The path at which it was looked for.
        path: PathBuf,
    },
    /// The segment has its largest number of senders or receivers.
    Occupied {
        /// `"sender"` or `"receiver"`.
        role: &'static str,
        /// The largest number.
        limit: usize,
        /// The kind of the segment. A route never has more than one sender.
        kind: Kind,
        /// The file; empty if it has no name.
        path: PathBuf,
        /// The processes that have these places, as they have written their numbers.
        pids: Vec<u32>,
    },
    /// Another process has been joining or leaving for a long time; it is probably stopped.
    Busy,
    /// The value was made before a fork and is used in the child.
    Forked,
    /// Another error of the system.
    Io {
        /// The operation that failed.
        what: &'static str,
        /// The file or directory; empty if it has no name.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn from_io(what: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            ErrorKind::PermissionDenied => Self::Permission { path },
            ErrorKind::Unsupported => Self::Unsupported,
            _ => Self::Io { what, path, source },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported => f.write_str(
                "memory shared between processes is not supported on this system; use sockets here",
            ),
            Self::Name { name, reason } => {
                write!(f, "{name:?} cannot be the name of a segment: {reason}")
            }
            Self::Setting { setting, reason } => write!(f, "{setting}: {reason}"),
            Self::Directory { path, reason } => {
                write!(f, "cannot trust {}: {reason}", path.display())
            }
            Self::Untrusted { path, reason } => {
                write!(f, "cannot trust {}: {reason}", path.display())
            }
            Self::Elsewhere { path, found } => write!(
                f,
                "the segment exists at {}, and this process looks for it at {}; set \
                 XDG_RUNTIME_DIR to the same in all processes, or the directory",
                found.display(),
                path.display()
            ),
            Self::Permission { path } => write!(
                f,
                "no permission for {}; its owner can make it with another mode",
                Place(path)
            ),
            Self::NoSpace { needed } => write!(
                f,
                "not enough shared memory for {needed} bytes; make capacity or max_len smaller, \
                 or the limit of the file system \
                 or of the process larger"
            ),
            Self::Foreign { path, reason } => write!(
                f,
                "{} is not a segment that this version can use: {reason}; use another name, or \
                 the same version in all processes, or remove the file",
                Place(path)
            ),
            Self::Mismatch {
                setting,
                wanted,
                found,
            } => write!(
                f,
                "the segment exists with {setting} {}, and {}{} was asked for; {}",
                Value(setting, *found),
                Value(setting, *wanted),
                Rounded(setting, *wanted),
                match *setting {
                    "kind" => "ask for the same, or use another name",
                    _ => "ask for the same, or leave the setting out to take what there is",
                }
            ),
            Self::NotFound { name, path } => write!(
                f,
                "there is no segment {name:?}: {} does not exist; is its maker running?",
                path.display()
            ),
            Self::Occupied {
                role: "sender",
                kind: Kind::Route,
                path,
                pids,
                ..
            } => write!(
                f,
                "{} has its sender already{}, and a route has only one; for several, use a \
                 channel",
                Place(path),
                Processes(pids)
            ),
            Self::Occupied {
                role,
                limit,
                path,
                pids,
                ..
            } => write!(
                f,
                "{} has its {limit} {role}{} already{}; make it with a larger limit",
                Place(path),
                if *limit == 1 { "" } else { "s" },
                Processes(pids)
            ),
            Self::Busy => f.write_str(
                "another process has not finished joining or leaving the segment; it may be \
                 stopped: continue or kill it",
            ),
            Self::Forked => f.write_str(
                "made before a fork and used in the child; open the segment again there",
            ),
            Self::Io { what, path, source } => {
                write!(f, "cannot {what} {}: {source}", Place(path))
            }
        }
    }
}

/// The number to which a requested capacity is rounded up, if it is rounded.
struct Rounded<'a>(&'a str, u64);

impl fmt::Display for Rounded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Self(setting, wanted) = self;
        match wanted.checked_next_power_of_two() {
            Some(rounded) if setting == "capacity" && rounded != wanted => {
                write!(f, ", rounded up to {rounded},")
            }
            _ => Ok(()),
        }
    }
}

/// A setting's value, as text for people.
struct Value<'a>(&'a str, u64);

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Self(setting, value) = self;
        match (setting, Kind::from_word(value), WhenFull::from_word(value)) {
            ("kind", Some(kind), _) => write!(f, "{kind:?}"),
            ("when_full", _, Some(policy)) => write!(f, "{policy:?}"),
            _ => write!(f, "{value}"),
        }
    }
}

/// The processes of participants, in parentheses. Some of many.
struct Processes<'a>(&'a [u32]);

/// The most processes that an error names.
const NAMED: usize = 4;

impl fmt::Display for Processes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named: Vec<_> = self.0.iter().take(NAMED).map(u32::to_string).collect();
        let word = match self.0 {
            [] => return Ok(()),
            [_] => "process",
            _ => "processes",
        };
        let more = if self.0.len() > NAMED { ", …" } else { "" };
        write!(f, " ({word} {}{more})", named.join(", "))
    }
}

/// A path, which is empty for a segment without a name.
struct Place<'a>(&'a Path);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.as_os_str().is_empty() {
            f.write_str("the segment")
        } else {
            self.0.display().fmt(f)
        }
    }
}

/// The text of [`Error::Io`] contains that of the system's error, so `source` returns the source of that error. A
/// report that prints a chain of errors then has each text once.
impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => source.source(),
            _ => None,
        }
    }
}

/// An error of the system as its kind and its number, which can be copied and compared.
///
/// ```
/// use blitz_io::ipc::IoError;
///
/// let error = IoError::from(std::io::Error::from_raw_os_error(24));
/// assert_eq!(error.raw_os_error(), Some(24));
/// assert_eq!(std::io::Error::from(error).raw_os_error(), Some(24));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IoError {
    kind: ErrorKind,
    code: Option<i32>,
}

impl IoError {
    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the system's number of the error, if it is an error of the system.
    pub fn raw_os_error(&self) -> Option<i32> {
        self.code
    }
}

impl From<io::Error> for IoError {
    fn from(error: io::Error) -> Self {
        Self {
            kind: error.kind(),
            code: error.raw_os_error(),
        }
    }
}

impl From<IoError> for io::Error {
    fn from(error: IoError) -> Self {
        match error.code {
            Some(code) => Self::from_raw_os_error(code),
            None => error.kind.into(),
        }
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        io::Error::from(*self).fmt(f)
    }
}

impl std::error::Error for IoError {}

/// The error returned when a message was not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SendError {
    /// It is longer than the segment's messages may be.
    TooLong {
        /// Its length in bytes.
        len: usize,
        /// The longest that fits.
        max: usize,
    },
    /// The ring is full.
    Full,
    /// The deadline passed while the ring was full.
    TimedOut,
    /// The descriptor to wait on could not be made, or waiting for it failed.
    Io(IoError),
    /// The sender was made before a fork and is used in the child.
    Forked,
    /// The segment holds a value that this library never writes: a participant has
    /// overwritten it. The sender cannot be used any more.
    Corrupt,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { len, max } => {
                write!(f, "a message of {len} bytes, where {max} is the limit")
            }
            Self::Full => f.write_str("the ring is full"),
            Self::TimedOut => f.write_str("the ring was full until the deadline"),
            Self::Io(error) => write!(f, "cannot wait: {error}"),
            Self::Forked => f.write_str(FORKED),
            Self::Corrupt => f.write_str(CORRUPT),
        }
    }
}

impl std::error::Error for SendError {}

/// The error returned when no message was received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RecvError {
    /// There is no message at the moment.
    Empty,
    /// The deadline passed before a message came.
    TimedOut,
    /// All messages have been received and every sender has left or died. In a queue, every
    /// message is also consumed, so that none can come back, and it does not matter whether the
    /// receiver joined before the senders left. A later receive finds the messages of a new
    /// sender.
    Disconnected,
    /// This many messages were dropped because the ring was full.
    Lagged(u64),
    /// This many messages of a sender on another machine did not arrive: a sender has
    /// reported it with [`Loan::send_gap`](crate::Loan::send_gap). Each receiver sees the
    /// report once, in its place among the messages. If the count is 0, the number is unknown,
    /// and perhaps none is missing: the other machine was restarted, for example.
    Gap(u64),
    /// The buffer is too short for the message, which can be received again.
    TooShort {
        /// The message's length in bytes.
        len: usize,
    },
    /// The message is not a value of the requested type: its length differs.
    WrongLength {
        /// The message's length in bytes.
        len: usize,
        /// The length of the type.
        expected: usize,
    },
    /// The message was sent as a value of another type of the same length: the
    /// [fingerprints](crate::Fingerprint) of the types differ.
    WrongType {
        /// The name of the requested type.
        expected: &'static str,
    },
    /// The descriptor to wait on could not be made, or waiting for it failed.
    Io(IoError),
    /// The receiver was made before a fork and is used in the child.
    Forked,
    /// The segment holds a value that this library never writes: a participant has
    /// overwritten it. The receiver cannot be used any more.
    Corrupt,
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("there is no message"),
            Self::TimedOut => f.write_str("there was no message until the deadline"),
            Self::Disconnected => f.write_str("there is no message and no sender"),
            Self::Lagged(count) => write!(f, "{count} messages were dropped before"),
            Self::Gap(0) => f.write_str("messages from another machine may be missing"),
            Self::Gap(count) => write!(f, "{count} messages from another machine are missing"),
            Self::TooShort { len } => write!(f, "the message has {len} bytes: more than fit"),
            Self::WrongLength { len, expected } => {
                write!(
                    f,
                    "the message has {len} bytes, and a value of this type {expected}"
                )
            }
            Self::WrongType { expected } => write!(
                f,
                "the message was sent as another type than {expected}: the struct's name, or the \
                 name, type or order of a field differs; declare it alike in all programs"
            ),
            Self::Io(error) => write!(f, "cannot wait: {error}"),
            Self::Forked => f.write_str(FORKED),
            Self::Corrupt => f.write_str(CORRUPT),
        }
    }
}

impl std::error::Error for RecvError {}

/// The error returned when a wait for an [`Event`](crate::Event), a
/// [`Semaphore`](crate::Semaphore) or a [`Barrier`](crate::Barrier) has failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WaitError {
    /// The deadline passed.
    TimedOut,
    /// Listeners: every notifier has left or died. A later wait finds the notifications of
    /// a new one.
    Disconnected,
    /// Barriers: a participant has died.
    Broken,
    /// The descriptor to wait on could not be made, or waiting for it failed.
    Io(IoError),
    /// This end was opened before a fork and is used in the child.
    Forked,
    /// The segment holds a value that this library never writes: a participant has
    /// overwritten it. This end cannot be used any more.
    Corrupt,
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut => f.write_str("the deadline passed"),
            Self::Disconnected => f.write_str("there is no notifier any more"),
            Self::Broken => f.write_str(
                "a participant of the barrier has died; drop the barrier everywhere and open \
                 it again",
            ),
            Self::Io(error) => write!(f, "cannot wait: {error}"),
            Self::Forked => f.write_str(FORKED),
            Self::Corrupt => f.write_str(CORRUPT),
        }
    }
}

impl std::error::Error for WaitError {}

/// The error returned when an event could not be notified.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NotifyError {
    /// The event has no such id.
    NoSuchId {
        /// The id.
        id: usize,
        /// The number of ids. They count from 0.
        ids: usize,
    },
    /// The notifier was made before a fork and is used in the child.
    Forked,
}

impl fmt::Display for NotifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchId { id, ids } => {
                write!(
                    f,
                    "there is no id {id}: the event has the ids 0 to {}",
                    ids - 1
                )
            }
            Self::Forked => f.write_str(FORKED),
        }
    }
}

impl std::error::Error for NotifyError {}

macro_rules! failure {
    ($error:ident, $not_now:ident) => {
        impl Failure for $error {
            const NOT_NOW: Self = Self::$not_now;
            const TIMED_OUT: Self = Self::TimedOut;
            const FORKED: Self = Self::Forked;
            const CORRUPT: Self = Self::Corrupt;

            #[cfg(unix)]
            fn io(error: io::Error) -> Self {
                Self::Io(error.into())
            }

            #[cfg(all(feature = "async", unix))]
            fn is_io(&self) -> bool {
                matches!(self, Self::Io(_))
            }
        }
    };
}

failure!(SendError, Full);
failure!(RecvError, Empty);
failure!(WaitError, TimedOut);

const FORKED: &str = "made before a fork and used in the child; open the segment again there";
const CORRUPT: &str = "the segment was overwritten by one of its participants";
