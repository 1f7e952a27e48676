//! Runs the program, and reads the records of its processes.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use blitz_io_inspect::lint::{Lost, Run};

use crate::exit::Exit;

/// The variable that switches the recorder on.
const FOLDER: &str = "BLITZ_LINT";
/// The end of the names of its files.
const SUFFIX: &str = "blitzlint";

/// The result of the program.
pub struct Ran {
    pub status: ExitStatus,
    pub runs: Vec<Run>,
}

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

impl Folder {
    fn new() -> Result<Self, Exit> {
        let failed = |error: std::io::Error| Exit::Failed(format!("no temporary folder: {error}"));
        let path = std::env::temp_dir().join(format!("blitz-lint-{}", std::process::id()));
        fs::create_dir(&path).map_err(failed)?;
        Ok(Self(fs::canonicalize(&path).map_err(failed)?))
    }
}

/// Runs the program to its end. `is_quiet`: standard output is not for it.
pub fn run(words: &[OsString], is_quiet: bool) -> Result<Ran, Exit> {
    if cfg!(not(unix)) {
        return Err(Exit::Failed("there are no records on this system".into()));
    }
    let (program, rest) = words.split_first().expect("clap requires one");
    let folder = Folder::new()?;
    let mut command = Command::new(program);
    command.args(rest).env(FOLDER, &folder.0);
    if is_quiet {
        command.stdout(to_standard_error()?);
    }
    let name = program.to_string_lossy();
    let failed = |error| Exit::Failed(format!("{name} could not be run: {error}"));
    let status = command.status().map_err(failed)?;
    let runs = read(&folder.0)?;
    if runs.is_empty() {
        let why = if status.success() {
            "it is not built with the feature `inspect`, or it takes no lock and polls no task"
        } else {
            "it failed before its end"
        };
        return Err(Exit::Failed(format!(
            "{name} ({status}) has written no record: {why}; see blitz lint --help"
        )));
    }
    Ok(Ran { status, runs })
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

fn read(folder: &Path) -> Result<Vec<Run>, Exit> {
    let failed =
        |error: &dyn std::fmt::Display| Exit::Failed(format!("a record cannot be read: {error}"));
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| failed(&error))? {
        let path = entry.map_err(|error| failed(&error))?.path();
        if path.extension().is_some_and(|end| end == SUFFIX) {
            paths.push(path);
        }
    }
    paths.sort();
    let mut runs = Vec::new();
    for path in paths {
        let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
        runs.push(Run::parse(&text).map_err(|error| failed(&error))?);
    }
    Ok(runs)
}

impl Ran {
    /// Returns the number of things that the recorders had no room for.
    pub fn lost(&self) -> Lost {
        let mut all = Lost::default();
        for Run { lost, .. } in &self.runs {
            all.held += lost.held;
            all.tasks += lost.tasks;
            all.edges += lost.edges;
            all.events += lost.events;
        }
        all
    }
}
