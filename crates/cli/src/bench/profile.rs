//! `blitz bench --profile ROW`: runs a row under `perf`, and draws a flame graph.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use blitz_io_bench::Scenario;

use super::Arguments;
use super::flame::Frame;
use crate::exit::Exit;
use crate::output;

/// Many more iterations than a measurement has: the samples are of the row, not of the program's start.
const ITERATIONS: usize = 100;

/// Returns the row that is to be profiled.
pub fn row<'a>(scenarios: &'a [Scenario], name: &str) -> Result<&'a Scenario, Exit> {
    let row = scenarios.iter().find(|scenario| scenario.id == name);
    row.ok_or_else(|| {
        Exit::usage(
            format_args!("--profile: there is no row {name}"),
            "`blitz bench --list` shows all rows; a row's name is the first word of its line.",
        )
    })
}

/// Profiles a row of ours, and writes `ROW.svg` into the current folder.
pub fn run(arguments: &Arguments, row: &Scenario) -> Result<Exit, Exit> {
    let folder = Samples::create(&row.id)?;
    let data = folder.0.join("perf.data");
    let program = std::env::current_exe()
        .map_err(|error| Exit::Failed(format!("--profile: no path of this program: {error}")))?;
    let iterations = arguments.iterations.unwrap_or(ITERATIONS);
    let recorded = perf(
        Command::new("perf")
            .args([
                "record",
                "--quiet",
                "--freq=499",
                "--call-graph=dwarf",
                "--output",
            ])
            .arg(&data)
            .arg("--")
            .arg(program)
            .args(["bench", "--json", "--peers=none"])
            .arg(format!("--filter=^{}$", row.id))
            .arg(format!("--tier={}", row.tier))
            .arg(format!("--workers={}", arguments.workers))
            .arg(format!("--iterations={iterations}")),
    )?;
    succeeded("record", &recorded)?;
    let printed = perf(
        Command::new("perf")
            // Inlined functions would take minutes to look up.
            .args(["script", "--no-inline", "--fields=comm,ip,sym", "--input"])
            .arg(&data),
    )?;
    succeeded("script", &printed)?;
    let root = Frame::parse(&String::from_utf8_lossy(&printed.stdout));
    if root.samples() == 0 {
        return Err(Exit::Failed(
            "--profile: perf took no sample. Give more --iterations.".into(),
        ));
    }
    let path = PathBuf::from(format!("{}.svg", row.id));
    let title = format!("{}: {}, {} samples", row.id, row.title, root.samples());
    fs::write(&path, root.svg(&title)).map_err(|error| Exit::unwritable(&path, error))?;
    output::tell(format_args!("The flame graph is in {}.\n", path.display()));
    Ok(Exit::Done)
}

fn perf(command: &mut Command) -> Result<Output, Exit> {
    command.stdin(Stdio::null());
    command.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Exit::Failed(
            "--profile needs `perf`, which is not installed.\n\n\
             Debian and Ubuntu have it in the packages linux-perf and linux-tools, Fedora in perf. Other systems \
             than Linux have none: the book's chapter on profiling names their profilers."
                .into(),
        ),
        _ => Exit::Failed(format!("--profile: perf could not be started: {error}")),
    })
}

fn succeeded(what: &str, ran: &Output) -> Result<(), Exit> {
    if ran.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    Err(Exit::Failed(format!(
        "--profile: perf {what} failed:\n{}\n\n\
         If it may not observe programs: `sysctl kernel.perf_event_paranoid` must say 2 or less.",
        said.trim()
    )))
}

/// The folder of perf's file, which is removed with this.
struct Samples(PathBuf);

impl Samples {
    fn create(row: &str) -> Result<Samples, Exit> {
        let name = format!("blitz-profile-{}-{row}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let create = |folder: &Path| fs::create_dir(folder);
        create(&folder).map_err(|error| {
            Exit::Failed(format!(
                "--profile: {} cannot be made: {error}",
                folder.display()
            ))
        })?;
        Ok(Samples(folder))
    }
}

impl Drop for Samples {
    fn drop(&mut self) {
        // The remaining files are then in the folder for temporary files.
        _ = fs::remove_dir_all(&self.0);
    }
}
