//! `blitz lint`: what could go wrong in a program that works.

mod allow;
mod comment;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use blitz_io_inspect::lint::{Finding, Lint, Lost, Run, judge, sarif};
use clap::{Args, ValueHint};
use serde::Serialize;

use crate::destination;
use crate::exit::Exit;
use crate::output;
use crate::recorded::{Record, Recorder};
use allow::Allowed;
use comment::Comments;

const RECORDER: Recorder = Recorder {
    name: "lint",
    variable: "BLITZ_LINT",
    suffix: "blitzlint",
    answers_why: true,
};

const HELP: &str = "\
Examples:
  blitz lint -- target/debug/server --selftest     a program that ends
  blitz lint -- cargo test                         all tests
  blitz lint -- cargo test -p app -- transfer      only those with this word in their names
  blitz lint --explain lock-order                  what a finding means, and what to change
  blitz lint --json -- cargo test > lint.json      for other programs
  blitz lint --sarif lint.sarif -- cargo test      for code review (SARIF 2.1.0), beside the text
  blitz lint --pedantic -- target/debug/server     also what a program that works may do

The program runs as always, and as often as you say. It needs not hang: two locks that are taken
in both orders are a fault in the run in which nothing happens. It must be built with the
feature `inspect`: `blitz migrate` writes it into the Cargo.toml of a program on Tokio
(blitz lint -- cargo test --features inspect), and one on blitz-io asks for blitz-io/inspect.
It must exit: a process that a signal ends writes no record. Its other processes are read, too.
If it hangs, `blitz why PID` says why, as BLITZ_INSPECT=1 is in its environment.

It sees the locks, channels and semaphores of blitz-io, and those of Tokio and parking_lot after
`blitz migrate`. Locks of std are not seen: blitz_io::thread::Mutex and parking_lot::Mutex are.

The lints:
  lock-order           locks of tasks or threads are taken in a circle, or one is read twice
  guard-across-await   a task is suspended with the guard of a thread lock, or for a second with one
                       of a lock of tasks that others wait for
  blocking-in-poll     a poll waits for a thread lock, blocks, or takes more than 10 ms
  futurelock-risk      a future has got a lock, and its task awaits something else
  leaked-task          a runtime ends, and tasks are left that wait for each other
  unbounded-growth     a channel without a limit only gets longer
  lost-permit          a permit was forgotten, and the semaphore goes on with fewer
With --pedantic, further findings of futurelock-risk and leaked-task, and
  no-deadline          a request waits for a socket without a timer
  wake-storm           an event wakes many tasks, and one has something to do

A finding that is no fault is allowed in blitz-lint.toml of the current folder, with a reason:
  [[allow]]
  lint = \"lock-order\"
  at = \"src/cache.rs:41\"      # a line or a file of the finding
  reason = \"the parent is locked before its children\"
or by a comment at one of its lines, or above it:
  // blitz-lint: allow(lock-order): the parent is locked before its children

Exit statuses:
  0    no finding, or each is allowed
  1    the program could not be run or has failed, or has written no record; or a file is missing,
       cannot be read or written, or is not what it should be
  3    there are findings
  64   the arguments are wrong";

#[derive(Args)]
#[command(after_help = HELP)]
pub struct Arguments {
    /// Prints the findings as JSON on standard output. That of the program goes to standard error.
    #[arg(long)]
    json: bool,
    /// Also writes the findings into a file for code review, in SARIF 2.1.0. Those that are allowed are suppressed.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    sarif: Option<PathBuf>,
    /// Also reports what a program that works may do: see the list of lints.
    #[arg(long)]
    pedantic: bool,
    /// The file with the allowed findings.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// Explains a lint, and runs nothing.
    #[arg(long, value_name = "LINT", conflicts_with_all = ["json", "sarif", "pedantic", "config", "program"], value_parser = lint_parser())]
    explain: Option<Lint>,
    /// The program and its arguments, or `cargo test` and its arguments.
    #[arg(last = true, required_unless_present = "explain", value_name = "PROGRAM", value_hint = ValueHint::CommandWithArguments)]
    program: Vec<OsString>,
}

fn lint_parser() -> impl clap::builder::TypedValueParser<Value = Lint> {
    use clap::builder::{PossibleValuesParser, TypedValueParser as _};
    PossibleValuesParser::new(Lint::ALL.map(Lint::name)).try_map(|name| name.parse::<Lint>())
}

/// The report for other programs.
#[derive(Serialize)]
struct Report<'a> {
    /// The program has exited with success.
    succeeded: bool,
    /// The number of processes that have written a record.
    processes: usize,
    findings: Vec<&'a Finding>,
    allowed: Vec<Allow<'a>>,
    /// The number of findings that `--pedantic` would add.
    pedantic: usize,
    /// The number of pairs of locks that do not count, as another future of the task may have one of them.
    left_out: usize,
    /// The number of things that the recorder had no room for.
    lost: Lost,
}

#[derive(Serialize)]
struct Allow<'a> {
    reason: String,
    finding: &'a Finding,
}

/// Runs the program, or explains a lint.
pub fn run(arguments: &Arguments) -> Result<Exit, Exit> {
    if let Some(lint) = arguments.explain {
        output::print(&format!("{}\n", lint.explanation()))?;
        return Ok(Exit::Done);
    }
    let allowed = Allowed::read(arguments.config.as_deref())?;
    destination::check(arguments.sarif.as_deref())?;
    let ran = RECORDER.run(&arguments.program, &[], arguments.json)?;
    let runs = read(&ran.files)?;
    let findings = judge(&runs);
    let comments = Comments::default();
    let (mut left, mut let_be, mut pedantic) = (Vec::new(), Vec::new(), 0);
    for finding in &findings {
        let reason = allowed.reason(finding).map(str::to_owned);
        match reason.or_else(|| comments.reason(finding)) {
            Some(reason) => let_be.push(Allow { reason, finding }),
            None if finding.is_pedantic && !arguments.pedantic => pedantic += 1,
            None => left.push(finding),
        }
    }
    let is_empty = left.is_empty();
    let report = Report {
        succeeded: ran.status.success(),
        processes: runs.len(),
        findings: left,
        allowed: let_be,
        pedantic,
        left_out: left_out(&runs),
        lost: lost(&runs),
    };
    if let Some(file) = &arguments.sarif {
        write_sarif(file, &report)?;
    }
    if arguments.json {
        output::print_json(&report)?;
    } else {
        output::print(&text(&report))?;
    }
    for unused in allowed.unused(&findings) {
        output::tell(format_args!("note: nothing was found for {unused}\n"));
    }
    if !is_empty {
        Ok(Exit::Found)
    } else if ran.status.success() {
        Ok(Exit::Done)
    } else {
        Err(Exit::Failed(format!("the program failed: {}", ran.status)))
    }
}

fn read(files: &[Record]) -> Result<Vec<Run>, Exit> {
    let read = |Record { name, bytes }: &Record| {
        let text = std::str::from_utf8(bytes).map_err(|error| Exit::unreadable(name, error))?;
        Run::parse(text).map_err(|error| Exit::unreadable(name, error))
    };
    files.iter().map(read).collect()
}

/// Writes the findings, and those that are allowed.
fn write_sarif(file: &Path, report: &Report<'_>) -> Result<(), Exit> {
    let left = report.findings.iter().map(|&finding| (finding, None));
    let allowed = (report.allowed.iter()).map(|allow| (allow.finding, Some(&*allow.reason)));
    let all: Vec<_> = left.chain(allowed).collect();
    let log = sarif(&all, env!("CARGO_PKG_VERSION"), report.succeeded);
    fs::write(file, format!("{log:#}\n")).map_err(|error| Exit::unwritable(file, error))
}

/// Returns the number of pairs of locks that do not count.
fn left_out(runs: &[Run]) -> usize {
    let edges = runs.iter().flat_map(|run| &run.edges);
    edges.filter(|edge| edge.is_joined).count()
}

/// Returns the number of things that the recorders had no room for.
fn lost(runs: &[Run]) -> Lost {
    let mut all = Lost::default();
    for Run { lost, .. } in runs {
        all.held += lost.held;
        all.tasks += lost.tasks;
        all.edges += lost.edges;
        all.events += lost.events;
    }
    all
}

/// The limits that a report without findings names.
const NOT_SEEN: &str =
    "  locks of std are not seen, and orders that this run did not take: blitz lint --help\n";

fn text(report: &Report<'_>) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        text += &finding.text();
        text.push('\n');
    }
    let (processes, found) = (report.processes, report.findings.len());
    let of = |count: usize, what: &str, more: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}{more}"),
    };
    text += &format!(
        "{} in {}, {} allowed\n",
        of(found, "finding", "s"),
        of(processes, "process", "es"),
        report.allowed.len()
    );
    if report.pedantic != 0 {
        text += &format!("  --pedantic shows {} more\n", report.pedantic);
    }
    if found == 0 {
        text += NOT_SEEN;
    }
    if report.left_out != 0 {
        text += &format!(
            "  {} not judged: the task also waited for another lock, a channel or a task (join!)\n",
            match report.left_out {
                1 => "1 pair of locks was".to_owned(),
                count => format!("{count} pairs of locks were"),
            }
        );
    }
    let mut lints: Vec<_> = report.findings.iter().map(|finding| finding.lint).collect();
    lints.sort_unstable();
    lints.dedup();
    for lint in lints {
        text += &format!("  blitz lint --explain {lint}\n");
    }
    let Lost {
        held,
        tasks,
        edges,
        events,
    } = report.lost;
    if held + tasks + edges + events != 0 {
        text += &format!(
            "The recorder had no room for {edges} pairs of locks, {held} locks, {tasks} tasks and {events} lines.\n"
        );
    }
    text
}
