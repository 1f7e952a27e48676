//! Asks a process for its waits, through its socket or, on Windows, its named pipe.

use std::io::{self, Read, Write};
use std::time::Instant;

use serde::{Deserialize, Serialize};

#[cfg(windows)]
use crate::pipe as local;
use crate::protocol::{
    LIMIT_OF_ANSWER, PLAIN, TRACE, TRACE_OFF, TRACE_ON, WITH_SIGNALS, WITHOUT_STACKS,
};
use crate::snapshot::{Finding, Snapshot};
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

/// Returns the processes that answer, with their names, in ascending order. Removes the sockets of processes
/// that have ended.
///
/// # Errors
///
/// Fails if the folder of the sockets, or the list of the named pipes, cannot be read.
pub fn list() -> io::Result<Vec<(u32, String)>> {
    let mut found = local::list()?;
    found.sort_unstable();
    Ok(found)
}

/// Asks a process, which [`list`] has named. No thread of it gets a signal, and no system call of it ends early:
/// the answer has the parts of stacks that the system shows while threads sleep.
///
/// # Errors
///
/// Fails if the process cannot be reached, belongs to another user, does not begin to answer in five
/// seconds, or does not end its answer in thirty. On Windows, a stopped process lets this call wait.
pub fn ask(pid: u32, name: &str) -> io::Result<Answer> {
    answer(pid, name, PLAIN)
}

/// Does the same for an answer with whole stacks. For these, up to sixteen threads get `SIGURG`, which lets some
/// of their system calls fail with `EINTR`: `nanosleep`, `poll`, `epoll_wait`, `sem_timedwait` and `semop`, and
/// operations of sockets that have a timeout.
///
/// # Errors
///
/// The errors are those of [`ask`].
pub fn ask_with_stacks(pid: u32, name: &str) -> io::Result<Answer> {
    answer(pid, name, WITH_SIGNALS)
}

/// Does the same as [`ask`] for an answer without stacks.
///
/// # Errors
///
/// The errors are those of [`ask`].
pub fn ask_without_stacks(pid: u32, name: &str) -> io::Result<Answer> {
    answer(pid, name, WITHOUT_STACKS)
}

/// The answer to a switch of the recorder. A process of an older version sends a snapshot, which has no such field.
#[derive(Serialize, Deserialize)]
pub(crate) struct Started {
    was_off: bool,
}

impl Started {
    #[cfg(feature = "records")]
    pub(crate) fn now(was_off: bool) -> Self {
        Self { was_off }
    }
}

/// Switches the recorder of `blitz trace` on in a process. Returns `true` if it was off.
///
/// # Errors
///
/// The errors are those of [`ask`]. Fails also if the process has an older version, without this recorder.
pub fn start_trace(pid: u32, name: &str) -> io::Result<bool> {
    let started: Started = serde_json::from_slice(&send(pid, name, TRACE_ON)?)?;
    Ok(started.was_off)
}

/// Switches the recorder of `blitz trace` off in a process. The events that it has recorded stay in its memory.
///
/// # Errors
///
/// The errors are those of [`ask`].
pub fn stop_trace(pid: u32, name: &str) -> io::Result<()> {
    send(pid, name, TRACE_OFF).map(|_| ())
}

/// Returns the recording of a process: the text that [`trace::Recording::parse`](crate::trace::Recording::parse)
/// reads. This does not stop its threads.
///
/// # Errors
///
/// The errors are those of [`ask`].
pub fn read_trace(pid: u32, name: &str) -> io::Result<Vec<u8>> {
    send(pid, name, TRACE)
}

fn answer(pid: u32, name: &str, question: u8) -> io::Result<Answer> {
    Ok(serde_json::from_slice(&send(pid, name, question)?)?)
}

fn send(pid: u32, name: &str, question: u8) -> io::Result<Vec<u8>> {
    let mut stream = local::connect(pid, name)?;
    stream.write_all(&[question])?;
    let mut text = Vec::new();
    let mut part = vec![0; 1 << 16];
    let mut until = None;
    loop {
        match stream.read(&mut part)? {
            0 => break,
            count => text.extend_from_slice(&part[..count]),
        }
        let until = *until.get_or_insert_with(|| Instant::now() + LIMIT_OF_ANSWER);
        let rest = until.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            let message = "its answer took too long";
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        }
        local::wait_at_most(&stream, rest);
    }
    Ok(text)
}
