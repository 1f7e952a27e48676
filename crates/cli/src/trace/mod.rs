//! `blitz trace`: where the requests of a program wait, and behind whom.

mod page;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_inspect::trace::{
    Misfit, Prediction, Recording, Report, Scenario, chrome, folded, judge, misfit, otlp, perfetto,
    pprof, predict, predictions,
};
use blitz_io_inspect::{read_trace, start_trace, stop_trace};
use clap::{Args, Subcommand, ValueHint};
use serde::Serialize;

use crate::destination;
use crate::duration;
use crate::exit::Exit;
use crate::migrate;
use crate::recorded::{Ran, Record, Recorder};
use crate::why::{choose, failed};
use crate::{output, shell};

/// The three forms, of which a command line has one.
const USAGE: &str = "blitz trace [OPTIONS] [PID|NAME]
       blitz trace [OPTIONS] -- <PROGRAM>...
       blitz trace report [OPTIONS] <FILE>...";

const REPORT: &str = "\
Examples:
  blitz trace report slow.blitz                      the report once more
  blitz trace report slow.blitz --html slow.html     as a page; --json prints it for scripts
  blitz trace report slow.blitz --what-if \"workers 8\"
  blitz trace report front.blitz back.blitz          requests of one process that wait for another
`blitz trace --help` says what the report has, and what can be assumed with --what-if.

Exit statuses:
  0    the report is printed
  1    a file is missing, cannot be read or written, or is no recording
  3    the recordings have no request that has ended
  64   the arguments are wrong";

const HELP: &str = concat!(
    "\
Examples:
  blitz trace -- target/release/server --selftest      a program that ends
  blitz trace server --for 10s                         ten seconds of one that runs
  blitz trace 4711 --last 5s -o slow.blitz             what it has just done, if its recorder was on
  blitz trace report slow.blitz --html slow.html       the report once more, as a page
  blitz trace report slow.blitz --perfetto slow.pftrace   lanes and arrows, for ui.perfetto.dev
  blitz trace report slow.blitz --folded - | inferno-flamegraph > slow.svg    what they waited for
  blitz trace report slow.blitz --what-if \"Mutex sessions / 2\" --what-if \"workers 8\"
  blitz trace report front.blitz back.blitz            requests of one process that wait for another

A request is what the program says:
  let _request = blitz_io::trace::request(\"GET /x\");           until the value is dropped
  blitz_io::trace::request(\"GET /x\").instrument(future).await  for a task that works for several
  router.layer(blitz_io::trace::RequestLayer::http())          each call of axum, tonic or hyper
  blitz_io::trace::Spans::new(subscriber, |span| …)            each of these spans of `tracing`
The tasks, closures and jobs of a pool that it starts and waits for are part of it. So is what
another process does for its messages through blitz_io::ipc, if that one is recorded, too;
otherwise the report says that the request waited for it.

Without a request, the report says what the tasks of each line did: how long they ran and were
ready, their longest poll and longest waits, and what they waited for because others used it.

With requests, the report says how long they took; how their time is divided into running, asleep
in a poll (a call blocked the worker), preempted (the system ran other threads), runnable (no
worker was free, also to see that a timer was due), and waiting for a lock,
permit, channel, thread for blocking work or of a pool, timer, socket, file or another process;
what the slowest percentile spent it on, with lines and with those that it waited behind; which
objects cost all requests the most time; and the slowest requests as trees.

What if: --what-if computes the schedule once more, with a change, and says what the median, the
slowest percentile and the throughput would be, with an interval of 95 %. The words are those of
a line of the report, in any order:
  \"Mutex sessions / 2\"     what happens while this lock is held takes half the time
  \"timer main.rs:25 / 2\"   these waits take half the time; also socket, file and running
  \"permits 4\"              the semaphore has four permits; \"permits NAME 4\" if there are several
  \"workers 8\"              and \"blocking threads 8\"
A comma joins changes of one scenario. It assumes that clients send their next request after the
answer to the last one, and that there are as many processors as workers. The book has the rest:
  ",
    env!("CARGO_PKG_REPOSITORY"),
    "/blob/main/book/src/guides/slow-reference.md#what-if

The program must be built with the feature `inspect`: `blitz migrate` writes it into the
Cargo.toml of a program on Tokio (cargo build --features inspect), and one on blitz-io asks for
blitz-io/inspect. One that runs must answer `blitz ps` as well: BLITZ_INSPECT=1 in its
environment. For --last, BLITZ_TRACE=1 as well: it records from its
beginning. Each thread keeps its last events, 65,536 unless BLITZ_TRACE_EVENTS says another number,
of 32 bytes each.

Exit statuses:
  0    the report is printed
  1    the program could not be run or has failed, has written no record, does not answer, or, for
       --last, does not record; or a file is missing, cannot be read or written, or is no recording
  3    the recording has no request that has ended: the report is about tasks; or a replay of it is
       so far from it that --what-if predicts nothing
  64   the arguments are wrong"
);

const RECORDER: Recorder = Recorder {
    name: "trace",
    variable: "BLITZ_TRACE",
    suffix: "blitz",
    answers_why: false,
};
/// The variable with the number of events that each thread keeps.
const EVENTS: &str = "BLITZ_TRACE_EVENTS";
/// That number for a program that this command starts: 16 MiB a thread.
const MANY: u32 = 1 << 19;
/// The time for which a process is recorded if the user says none.
const FOR: Duration = Duration::from_secs(5);

#[derive(Args)]
#[command(after_help = HELP, override_usage = USAGE, args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// The process id, or the program's name; may be left out if there is one such process
    #[arg(value_name = "PID|NAME", conflicts_with = "program")]
    process: Option<String>,
    /// Records the process for this time, such as 10s or 500ms
    #[arg(long = "for", value_name = "TIME", value_parser = duration::parse, allow_negative_numbers = true, conflicts_with_all = ["last", "program"])]
    time: Option<Duration>,
    /// Takes the last events that the process has recorded
    #[arg(long, value_name = "TIME", value_parser = duration::parse, allow_negative_numbers = true, conflicts_with = "program")]
    last: Option<Duration>,
    /// Also writes the recording
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Number of events that each thread of the program keeps
    #[arg(long, value_name = "NUMBER", default_value_t = MANY, value_parser = clap::value_parser!(u32).range(1..=1 << 24), requires = "program")]
    events: u32,
    #[command(flatten)]
    shown: Shown,
    /// The program and its arguments
    #[arg(last = true, value_name = "PROGRAM", value_hint = ValueHint::CommandWithArguments)]
    program: Vec<OsString>,
}

#[derive(Subcommand)]
enum Command {
    /// Reports what recordings say, which `blitz trace -o FILE` has written.
    #[command(after_help = REPORT)]
    Report {
        /// The recording, or those of several processes that send messages to each other
        #[arg(required = true, value_hint = ValueHint::FilePath)]
        files: Vec<PathBuf>,
        #[command(flatten)]
        shown: Shown,
    },
}

/// The form of the report.
#[derive(Args)]
struct Shown {
    /// Prints the report as JSON
    #[arg(long)]
    json: bool,
    /// Also writes the recording in the format of Chrome, for ui.perfetto.dev
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    chrome: Option<PathBuf>,
    /// Also writes the report as a page
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    html: Option<PathBuf>,
    /// Also writes the recording as a trace of Perfetto, for ui.perfetto.dev
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    perfetto: Option<PathBuf>,
    /// Writes the waits as folded stacks, for flame graphs; `-` prints them instead of the report
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    folded: Option<PathBuf>,
    /// Also writes the waits as a profile, for `go tool pprof`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pprof: Option<PathBuf>,
    /// Also writes the requests as spans of OpenTelemetry, in JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    otlp: Option<PathBuf>,
    /// Predicts the latencies if something were changed; may be given several times
    #[arg(long, value_name = "CHANGE")]
    what_if: Vec<Scenario>,
    /// Number of requests that the report shows as trees
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = clap::value_parser!(u16).range(0..=1000))]
    slowest: u16,
}

impl Shown {
    /// Returns the files to write.
    fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let files = [&self.chrome, &self.html, &self.perfetto, &self.folded];
        let others = [&self.pprof, &self.otlp];
        files.into_iter().chain(others).flatten()
    }
}

/// Records a program or a process, or reads a recording, and reports.
pub fn run(arguments: &Arguments) -> Result<Exit, Exit> {
    if let Some(Command::Report { files, shown }) = &arguments.command {
        return report(files, shown);
    }
    let files = arguments.shown.files().chain(&arguments.output);
    destination::check(files.map(PathBuf::as_path))?;
    if !arguments.program.is_empty() {
        return run_program(arguments);
    }
    // `clap` does not tell `--` without a program from no `--`.
    if std::env::args_os()
        .next_back()
        .is_some_and(|last| last == "--")
    {
        return Err(Exit::usage(
            "there is no program after `--`",
            "See `blitz trace --help`.",
        ));
    }
    let Recorded { pid, text, last } = record(arguments)?;
    let mut recording = Recording::parse(&text).map_err(|error| {
        Exit::Failed(format!(
            "the recording of process {pid} cannot be read: {error}"
        ))
    })?;
    if arguments.last.is_some() && !recording.is_of_a_recorder() {
        return Err(no_recorder(pid));
    }
    // The recorder may have been on before.
    let first = recording.keep_last(u64::try_from(last.as_nanos()).unwrap_or(u64::MAX));
    keep(arguments, first, &text)?;
    show(&recording, &arguments.shown)
}

/// Reports what the recordings of these files say together.
fn report(files: &[PathBuf], shown: &Shown) -> Result<Exit, Exit> {
    let read = |file: &PathBuf| {
        let text = fs::read(file).map_err(|error| Exit::unreadable(file, error))?;
        Recording::parse(&text).map_err(|error| {
            Exit::unreadable(file, error)
                .with_advice("Give a file that `blitz trace -o FILE` has written.")
        })
    };
    let recordings = files.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    if recordings.len() > 1 && !shown.what_if.is_empty() {
        return Err(Exit::usage(
            "--what-if takes the recording of one process",
            "See `blitz trace --help`.",
        ));
    }
    show(&Recording::of_all(recordings), shown)
}

fn run_program(arguments: &Arguments) -> Result<Exit, Exit> {
    let events = (EVENTS, arguments.events.to_string());
    let Ran { status, files } =
        RECORDER.run(&arguments.program, &[events], arguments.shown.json)?;
    let mut recordings = vec![];
    for Record { name, bytes } in &files {
        let recording = Recording::parse(bytes);
        let recording = recording.map_err(|error| Exit::unreadable(name, error))?;
        recordings.push((recording, bytes));
    }
    if recordings.len() > 1 {
        output::tell(format_args!(
            "note: {} processes have written a record; this is that of the one with the most events\n",
            recordings.len()
        ));
    }
    let longest = recordings
        .iter()
        .max_by_key(|(recording, _)| recording.len());
    let (recording, file) = longest.expect("`run` returns a file");
    if let Some(path) = &arguments.output {
        write(path, file)?;
    }
    let exit = show(recording, &arguments.shown)?;
    if status.success() {
        Ok(exit)
    } else {
        Err(Exit::Failed(format!("the program failed: {status}")))
    }
}

/// The events of a process.
struct Recorded {
    pid: u32,
    text: Vec<u8>,
    /// The time before they were read of which the user wants to know.
    last: Duration,
}

/// Says how a process gets a recorder that is always on.
fn no_recorder(pid: u32) -> Exit {
    let variable = RECORDER.variable;
    Exit::Failed(format!(
        "process {pid} does not record what it does: {variable}=1 is not in its environment"
    ))
    .with_advice(format!(
        "Start it with this variable, and --last has what it has just done. Without it, record from now on:\n  \
         blitz trace {pid} --for 5s"
    ))
}

/// Records a process that runs.
fn record(arguments: &Arguments) -> Result<Recorded, Exit> {
    let named = arguments.process.as_deref();
    if let Some(path) = named.filter(|name| name.contains(['/', '\\'])) {
        return Err(Exit::usage(
            format_args!("{path} is a path, and no name of a process"),
            format_args!(
                "To record the program from its start: blitz trace -- {}",
                shell::line([path])
            ),
        ));
    }
    let (pid, name) = choose("trace", named)?;
    let failed = |error| failed(pid, &error);
    if let Some(last) = arguments.last {
        let text = read_trace(pid, &name).map_err(failed)?;
        return Ok(Recorded { pid, text, last });
    }
    let begin = Instant::now();
    let was_off = start_trace(pid, &name).map_err(failed)?;
    thread::sleep(arguments.time.unwrap_or(FOR));
    let last = begin.elapsed();
    let text = read_trace(pid, &name);
    if was_off {
        stop_trace(pid, &name).map_err(failed)?;
    }
    let text = text.map_err(failed)?;
    Ok(Recorded { pid, text, last })
}

/// Writes the recording from the moment `first` on, if the user wants it.
fn keep(arguments: &Arguments, first: u64, text: &[u8]) -> Result<(), Exit> {
    let Some(path) = arguments.output.as_deref() else {
        return Ok(());
    };
    let mut file = Vec::with_capacity(text.len() + 32);
    let written = Recording::write_from(first, text, &mut file);
    written.map_err(|error| Exit::unwritable(path, error))?;
    write(path, &file)
}

fn write(path: &Path, text: &[u8]) -> Result<(), Exit> {
    fs::write(path, text).map_err(|error| Exit::unwritable(path, error))
}

fn show(recording: &Recording, shown: &Shown) -> Result<Exit, Exit> {
    let report = judge(recording, shown.slowest.into());
    export(recording, shown)?;
    let is_empty = report.all.count == 0;
    // Without a request, the report says more than a failure does.
    let what_if = if is_empty || shown.what_if.is_empty() {
        vec![]
    } else {
        predict(recording, &shown.what_if)
            .map_err(|error| Exit::usage(error, "See `blitz trace --help`."))?
    };
    let misfit = misfit(&what_if);
    let what_if = if misfit.is_some() { vec![] } else { what_if };
    if shown.json {
        output::print_json(&WithPredictions {
            report,
            what_if,
            misfit,
        })?;
    } else if shown.folded.as_deref().is_some_and(is_stdout) {
        output::print(&folded(recording))?;
    } else {
        output::print(&report.text())?;
        if is_empty {
            if report.unfinished == 0 {
                output::print(&how_to_mark())?;
            }
            output::print(NO_REQUEST)?;
        }
        match misfit {
            Some(misfit) => output::print(&misfit.text())?,
            None => output::print(&predictions(&what_if))?,
        }
    }
    Ok(if is_empty || misfit.is_some() {
        Exit::Found
    } else {
        Exit::Done
    })
}

/// The last line of a report without requests.
const NO_REQUEST: &str =
    "\nThe exit status is 3, as the recording has no request that has ended.\n";

/// Says how a program gets what marks requests. The feature `inspect` is not in the command: that would make each build record.
fn how_to_mark() -> String {
    let features = "tower";
    let (source, command, end) = match migrate::add_command(".".as_ref(), &["--features", features])
    {
        Some(command) => (
            "has these, beside the Tokio of `blitz migrate`:",
            command,
            "",
        ),
        None => (
            "has these. Beside the Tokio of `blitz migrate` take it from the same place:",
            format!(
                "cargo add blitz-io --features {features} --git {}",
                env!("CARGO_PKG_REPOSITORY")
            ),
            "\nIn the folder of the program, `blitz trace` prints the exact command.\n",
        ),
    };
    format!("\nThe package blitz-io {source}\n\n    {command}\n    blitz migrate\n{FEATURE}{end}")
}

/// How a program has records only in builds that ask for them.
const FEATURE: &str = "
The second command lets the feature `inspect` of the program be that of both. Then
`cargo build --features inspect` records, and other builds do not.
";

/// Writes the files that the user wants.
fn export(recording: &Recording, shown: &Shown) -> Result<(), Exit> {
    let page = || page::html(&judge(recording, page::REQUESTS)).into_bytes();
    write_if(&shown.chrome, || chrome(recording).into_bytes())?;
    write_if(&shown.html, page)?;
    write_if(&shown.perfetto, || perfetto(recording))?;
    write_if(&shown.pprof, || pprof(recording))?;
    write_if(&shown.otlp, || otlp(recording).into_bytes())?;
    match &shown.folded {
        Some(path) if !is_stdout(path) => write(path, folded(recording).as_bytes()),
        _ => Ok(()),
    }
}

fn write_if(path: &Option<PathBuf>, bytes: impl FnOnce() -> Vec<u8>) -> Result<(), Exit> {
    path.as_deref().map_or(Ok(()), |path| write(path, &bytes()))
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// The report, with the predictions.
#[derive(Serialize)]
struct WithPredictions {
    #[serde(flatten)]
    report: Report,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    what_if: Vec<Prediction>,
    #[serde(skip_serializing_if = "Option::is_none")]
    misfit: Option<Misfit>,
}
