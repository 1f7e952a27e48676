//! Asks a process for its waits, through its socket or, on Windows, its named pipe.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use crate::findings::Finding;
#[cfg(windows)]
use crate::pipe as local;
use crate::protocol::{WITH_STACKS, WITHOUT_STACKS};
use crate::snapshot::Snapshot;
#[cfg(unix)]
use crate::socket as local;

/// The answer of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// Its waits.
    pub snapshot: Snapshot,
    /// Their judgement.
    pub findings: Vec<Finding>,
}

/// Returns the processes that answer, with their names, in ascending order.
///
/// # Errors
///
/// If the folder of the sockets, or the list of the named pipes, cannot be read.
pub fn list() -> io::Result<Vec<(u32, String)>> {
    let mut found = local::list()?;
    found.sort_unstable();
    Ok(found)
}

/// Asks a process, which [`list`] has named.
///
/// # Errors
///
/// If the process cannot be reached, belongs to another user, or does not answer in five seconds. On
/// Windows, one that is stopped lets this call wait.
pub fn ask(pid: u32, name: &str) -> io::Result<Answer> {
    send(pid, name, WITH_STACKS)
}

/// Does the same for an answer without stacks, for which no thread gets a signal.
///
/// # Errors
///
/// As [`ask`].
pub fn ask_without_stacks(pid: u32, name: &str) -> io::Result<Answer> {
    send(pid, name, WITHOUT_STACKS)
}

fn send(pid: u32, name: &str, question: u8) -> io::Result<Answer> {
    let mut stream = local::connect(pid, name)?;
    stream.write_all(&[question])?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text)?)
}
