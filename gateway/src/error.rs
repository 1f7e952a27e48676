//! The reason why a gateway, an export or an import fails.

use std::fmt;
use std::io;
use std::path::PathBuf;

use blitz_io::ipc::{self, RecvError, SendError};

use crate::config;

/// The reason why a gateway, or one of its exports or imports, fails. Its text contains that of the inner error.
#[derive(Debug)]
pub enum Error {
    /// A file is not a configuration.
    Config {
        /// The file.
        file: PathBuf,
        /// The mistake.
        source: config::Error,
    },
    /// A change of the configuration needs a restart: which one.
    Restart(&'static str),
    /// Another gateway uses this directory of records.
    Locked(PathBuf),
    /// The user's directory of segments is not known.
    NoDirectory,
    /// A call of the system failed.
    System {
        /// The consequence.
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// A call of the engine failed.
    Engine {
        /// The consequence.
        what: &'static str,
        /// The engine's error.
        source: zenoh::Error,
    },
    /// A segment cannot be used.
    Segment(ipc::Error),
    /// A message cannot be received from a segment.
    Receive(RecvError),
    /// A message cannot be sent into a segment.
    Send(SendError),
}

impl Error {
    /// Returns a function that makes an error of one of the system.
    pub fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::System { what, source }
    }

    /// Returns a function that makes an error of one of the engine.
    pub fn engine(what: &'static str) -> impl FnOnce(zenoh::Error) -> Self {
        move |source| Self::Engine { what, source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // It names the file itself, or a file that is missing.
            Self::Config {
                source: source @ config::Error::Read(..),
                ..
            } => source.fmt(f),
            Self::Config { file, source } => write!(f, "{}: {source}", file.display()),
            Self::Restart(change) => f.write_str(change),
            Self::Locked(state) => write!(
                f,
                "another gateway uses {}; one program per host and user carries all names",
                state.display()
            ),
            Self::NoDirectory => {
                f.write_str("the directory of segments is not known; set `directory`")
            }
            Self::System { what, source } => write!(f, "{what}: {source}"),
            Self::Engine { what, source } => write!(f, "{what}: {source}"),
            Self::Segment(source) => source.fmt(f),
            Self::Receive(source) => source.fmt(f),
            Self::Send(source) => source.fmt(f),
        }
    }
}

/// The text contains that of the inner error, which is in the variant. So `source` returns the source of the inner error:
/// a chain of errors has each text once.
impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Config { source, .. } => source.source(),
            Self::Restart(_) | Self::Locked(_) | Self::NoDirectory => None,
            Self::System { source, .. } => source.source(),
            Self::Engine { source, .. } => source.source(),
            Self::Segment(source) => source.source(),
            Self::Receive(source) => source.source(),
            Self::Send(source) => source.source(),
        }
    }
}

impl From<ipc::Error> for Error {
    fn from(source: ipc::Error) -> Self {
        Self::Segment(source)
    }
}

impl From<RecvError> for Error {
    fn from(source: RecvError) -> Self {
        Self::Receive(source)
    }
}

impl From<SendError> for Error {
    fn from(source: SendError) -> Self {
        Self::Send(source)
    }
}
