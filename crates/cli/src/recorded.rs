//! Runs a program with a recorder, and reads the files that its processes write when they exit.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::exit::Exit;
use crate::feature;
use crate::output;
use crate::shell;

/// A recorder of the library.
pub struct Recorder {
    /// The name of the command.
    pub name: &'static str,
    /// The variable of the environment that switches it on, with the folder for its files.
    pub variable: &'static str,
    /// The end of the names of its files.
    pub suffix: &'static str,
    /// The program answers `blitz why`. If it runs for long, a line points to that.
    pub answers_why: bool,
}

/// The result of a run.
pub struct Ran {
    pub status: ExitStatus,
    /// The files, in the order of their names.
    pub files: Vec<Record>,
}

/// A file of a recorder. It is no longer there.
pub struct Record {
    /// The name of the file, for messages.
    pub name: PathBuf,
    pub bytes: Vec<u8>,
}

/// Makes a process answer `blitz why`.
const ANSWERS: &str = "BLITZ_INSPECT";
/// A program is silent after this time without a new record.
const SILENCE: Duration = Duration::from_secs(60);

/// The most names that are tried for a folder.
const ATTEMPTS: u32 = 1_000;

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

impl Folder {
    fn new(name: &str) -> Result<Self, Exit> {
        let failed = |error: std::io::Error| Exit::Failed(format!("no temporary folder: {error}"));
        let name = format!("blitz-{name}-{}", std::process::id());
        let first = std::env::temp_dir().join(&name);
        let mut path = first.clone();
        // A process with this number that was killed has left its folder.
        for attempt in 1..ATTEMPTS {
            match fs::create_dir(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    path = first.with_file_name(format!("{name}-{attempt}"));
                }
                made => {
                    made.map_err(failed)?;
                    return Ok(Self(fs::canonicalize(&path).map_err(failed)?));
                }
            }
        }
        Err(failed(ErrorKind::AlreadyExists.into()))
    }
}

/// The line about a program that is silent.
const STILL_RUNS: &str =
    "still runs; `blitz why PID` says what it waits for (`blitz ps` has the processes)\n";

/// Waits until the number of records has not changed for the time `silence`, which is `true`, or the program has ended.
fn falls_silent(
    silence: Duration,
    mut records: impl FnMut() -> usize,
    ended: &Receiver<()>,
) -> bool {
    let mut before = records();
    while ended.recv_timeout(silence) == Err(RecvTimeoutError::Timeout) {
        let now = records();
        if now == before {
            return true;
        }
        before = now;
    }
    false
}

impl Recorder {
    /// Runs the program to its end, with further variables of the environment. `is_quiet`: standard output is not
    /// for it.
    pub fn run(
        &self,
        words: &[OsString],
        variables: &[(&str, String)],
        is_quiet: bool,
    ) -> Result<Ran, Exit> {
        if cfg!(not(unix)) {
            return Err(Exit::Failed("there are no records on this system".into()));
        }
        let (program, rest) = words.split_first().expect("clap requires one");
        let folder = Folder::new(self.name)?;
        let mut command = Command::new(program);
        command.args(rest).env(self.variable, &folder.0);
        command.envs(variables.iter().map(|(name, value)| (*name, value)));
        if self.answers_why && std::env::var_os(ANSWERS).is_none() {
            command.env(ANSWERS, "1");
        }
        if is_quiet {
            command.stdout(to_standard_error()?);
        }
        let name = program.to_string_lossy();
        let failed = |error: std::io::Error| {
            let exit = Exit::Failed(format!("{name} could not be run: {error}"));
            match error.kind() {
                ErrorKind::NotFound => exit.with_advice(shell::HOW_TO_NAME_A_PROGRAM),
                _ => exit,
            }
        };
        let mut child = command.spawn().map_err(failed)?;
        // Dropped at the end of the program, which ends the thread.
        let (running, ended) = mpsc::channel::<()>();
        if self.answers_why {
            let folder = folder.0.clone();
            let records = move || fs::read_dir(&folder).map_or(0, Iterator::count);
            thread::spawn(move || {
                if falls_silent(SILENCE, records, &ended) {
                    output::tell(STILL_RUNS);
                }
            });
        }
        let status = child.wait().map_err(failed)?;
        drop(running);
        let files = self.read(&folder.0)?;
        if files.is_empty() {
            let begin = format!("{name} ({status}) has written no record");
            return Err(if status.success() {
                feature::missing(&begin, self.name, words)
            } else {
                let command = self.name;
                let exit = Exit::Failed(format!(
                    "{begin}: it failed before its end; see blitz {command} --help"
                ));
                if feature::is_missing_tokio(words) {
                    exit.with_advice("Tokio has its feature `inspect` after `blitz migrate`, and so has your program: --features inspect")
                } else {
                    exit
                }
            });
        }
        Ok(Ran { status, files })
    }

    fn read(&self, folder: &Path) -> Result<Vec<Record>, Exit> {
        let mut paths = Vec::new();
        let unreadable = |error| Exit::unreadable(folder, error);
        for entry in fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.extension().is_some_and(|end| end == self.suffix) {
                paths.push(path);
            }
        }
        paths.sort();
        let files = paths.into_iter().map(|name| match fs::read(&name) {
            Ok(bytes) => Ok(Record { name, bytes }),
            Err(error) => Err(Exit::unreadable(&name, error)),
        });
        files.collect()
    }
}

#[cfg(unix)]
fn to_standard_error() -> Result<Stdio, Exit> {
    use std::os::fd::AsFd;
    let copy = std::io::stderr().as_fd().try_clone_to_owned();
    copy.map(Stdio::from)
        .map_err(|error| Exit::Failed(format!("standard error cannot be used: {error}")))
}

#[cfg(not(unix))]
fn to_standard_error() -> Result<Stdio, Exit> {
    Ok(Stdio::null())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The folder of a process that was killed is still there, and a later one has its number.
    #[test]
    fn a_folder_that_exists_is_left_alone() {
        let one = Folder::new("recorded-test").unwrap();
        let other = Folder::new("recorded-test").unwrap();
        assert!(one.0 != other.0 && one.0.is_dir() && other.0.is_dir());
        let paths = [one.0.clone(), other.0.clone()];
        drop((one, other));
        assert!(paths.iter().all(|path| !path.exists()), "{paths:?}");
    }

    #[test]
    fn a_program_is_silent_if_it_writes_no_further_record() {
        let (running, ended) = mpsc::channel();
        let mut counts = [0, 1, 2, 2].into_iter();
        let records = || counts.next().expect("the last one is that before it");
        assert!(falls_silent(Duration::ZERO, records, &ended));
        assert_eq!(counts.next(), None);
        drop(running);
        assert!(!falls_silent(SILENCE, || 0, &ended));
    }
}
