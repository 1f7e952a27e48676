//! Asks a process, and those with which it shares memory.
//!
//! The processes make their snapshots at different times. So there are three rounds, each of which begins
//! after the one before has ended, and a finding is one of the first two rounds and of the last two. Its
//! waits then last from the end of the first round until the last round begins, so each fact of the round
//! between was read while all of them lasted.

use std::io;
use std::thread;

use blitz_io_observe::collections::HashMap;

use crate::client::{Answer, ask, ask_with_stacks, ask_without_stacks, list};
use crate::findings::findings;
use crate::join::join;
use crate::process;
use crate::snapshot::{Finding, Process, ProcessState, Snapshot};

/// [`ask`], [`ask_with_stacks`] or [`ask_without_stacks`].
type Ask = fn(u32, &str) -> io::Result<Answer>;

/// More processes than this are not asked.
const PROCESSES: usize = 200;

/// Asks a process as [`ask`] does, and follows its waits for shared memory into the processes that end
/// them. The answer then has the waits of all, judged as a whole, and the system's facts about processes
/// that are stopped or do not answer.
///
/// # Errors
///
/// The errors are those of [`ask`], for the first process. If that is stopped, this fails at once.
pub fn ask_with_peers(pid: u32, name: &str) -> io::Result<Answer> {
    ask_all(pid, name, ask)
}

/// Does the same, and asks each process as [`ask_with_stacks`] does, which lets system calls fail with `EINTR`.
///
/// # Errors
///
/// The errors are those of [`ask_with_peers`].
pub fn ask_with_peers_and_stacks(pid: u32, name: &str) -> io::Result<Answer> {
    ask_all(pid, name, ask_with_stacks)
}

fn ask_all(pid: u32, name: &str, ask: Ask) -> io::Result<Answer> {
    let asked = process::other(pid).0;
    if asked.state == ProcessState::Stopped {
        let message = "it is stopped; it answers once it gets SIGCONT";
        return Err(io::Error::new(io::ErrorKind::TimedOut, message));
    }
    let answer = ask(pid, name)?;
    let mut all = Processes {
        names: HashMap::default(),
        parts: vec![Part {
            started: 0,
            process: asked,
            snapshot: Some(answer.snapshot.clone()),
        }],
    };
    if !all.note_peers(0) {
        return Ok(answer);
    }
    all.names = list()?.into_iter().collect();
    all.names.insert(pid, name.to_owned());
    let mut next = 1;
    while next < all.parts.len() {
        let end = all.parts.len();
        all.ask(next, ask_without_stacks);
        for part in next..end {
            all.note_peers(part);
        }
        next = end;
    }
    let first = all.joined();
    let second = all.ask_again(ask_without_stacks)?;
    let mut third = all.ask_again(ask)?;
    // A process that has answered has just run.
    for process in third
        .processes
        .iter_mut()
        .filter(|process| !process.has_records)
    {
        process.idle_ms = process::idle(process.pid);
    }
    let before = findings(&first, &second);
    let mut found = findings(&second, &third);
    found.retain(|finding| {
        let is_it =
            |other: &Finding| other.kind == finding.kind && other.waiters == finding.waiters;
        before
            .iter()
            .any(|other| is_it(other) && other.certainty <= finding.certainty)
    });
    Ok(Answer {
        snapshot: third,
        findings: found,
    })
}

struct Processes {
    /// The processes that have a socket.
    names: HashMap<u32, String>,
    /// The processes, in the order of the joined snapshot.
    parts: Vec<Part>,
}

/// A process, as the round found it that asked it last.
struct Part {
    /// The time of its start, as its segments say; 0 if that is not known.
    started: u64,
    process: Process,
    snapshot: Option<Snapshot>,
}

impl Part {
    /// Asks the system, and the process itself if it has a socket of this name.
    fn ask(&mut self, names: &HashMap<u32, String>, ask: Ask) {
        let pid = self.process.pid;
        let (process, started) = process::other(pid);
        self.snapshot = None;
        if self.started != 0 && started != self.started {
            // Another process has the number: the peer has ended, or has its number in another namespace.
            self.process = Process {
                pid,
                ..Process::default()
            };
            return;
        }
        self.process = process;
        if self.process.state != ProcessState::Stopped {
            let answer = names.get(&pid).and_then(|name| ask(pid, name).ok());
            self.snapshot = answer.map(|answer| answer.snapshot);
        }
    }
}

impl Processes {
    /// Adds the peers of the waits of one process, and returns whether it has such waits.
    fn note_peers(&mut self, part: usize) -> bool {
        let Some(snapshot) = &self.parts[part].snapshot else {
            return false;
        };
        let ends = snapshot.waits.iter().filter_map(|wait| snapshot.end(wait));
        let peers: Vec<_> = ends.flat_map(|end| end.peers.clone()).collect();
        for peer in &peers {
            let is_new = self.parts.iter().all(|part| part.process.pid != peer.pid);
            if is_new && self.parts.len() < PROCESSES {
                self.parts.push(Part {
                    started: peer.started,
                    process: Process {
                        pid: peer.pid,
                        ..Process::default()
                    },
                    snapshot: None,
                });
            }
        }
        !peers.is_empty()
    }

    /// Asks the processes from this index on, at the same time.
    fn ask(&mut self, first: usize, ask: Ask) {
        let names = &self.names;
        thread::scope(|scope| {
            for part in &mut self.parts[first..] {
                scope.spawn(|| part.ask(names, ask));
            }
        });
    }

    /// Asks all of them, and returns their joined snapshot.
    fn ask_again(&mut self, ask: Ask) -> io::Result<Snapshot> {
        self.ask(0, ask);
        if self.parts[0].snapshot.is_none() {
            return Err(io::Error::other("it answered once, and then no more"));
        }
        Ok(self.joined())
    }

    fn joined(&self) -> Snapshot {
        let parts = self.parts.iter();
        join(parts.map(|part| (part.process.clone(), part.snapshot.clone())))
    }
}
