//! Why a run stops: a message for the user and the exit code.

use std::fmt;

/// fastp's exit code for options that contradict each other or do not name a file.
const BAD_OPTIONS: u8 = 255;
/// The exit code for input that cannot be read and output that cannot be written.
const BAD_DATA: u8 = 1;

/// A message for the user and its exit code.
#[derive(Debug, Clone)]
pub struct Failure {
    pub message: String,
    pub code: u8,
}

impl Failure {
    /// The options make no sense.
    pub fn options(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: BAD_OPTIONS,
        }
    }

    /// Input or output failed while it was used.
    pub fn data(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: BAD_DATA,
        }
    }

    /// A call of the operating system on the file `name` failed.
    pub fn file(name: &str, what: &str, error: &std::io::Error) -> Self {
        Self::data(format!("{name}: cannot {what}: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
