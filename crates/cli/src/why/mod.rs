//! `blitz ps` and `blitz why`: what a process waits for.

mod absent;
mod measured;
pub mod picture;

use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use blitz_io_inspect::{
    Answer, Certainty, ask_with_peers, ask_with_peers_and_stacks, dot, list, report_in_full,
    report_within,
};
use serde::Serialize;

use crate::exit::Exit;
use crate::hints;
use crate::output;

/// The options of `blitz why`.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Arguments {
    /// The process id, or the program's name (a test's without its hash); may be left out if there is one such
    /// process.
    #[arg(value_name = "PID|NAME")]
    process: Option<String>,
    /// Prints the report as JSON.
    #[arg(long, conflicts_with = "dot")]
    json: bool,
    /// Prints the graph in the language of Graphviz.
    #[arg(long)]
    dot: bool,
    /// Also writes the graph as a picture.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Also writes a page with the graph and the report.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Prints the waits of findings in the list, too, and all functions of stacks.
    #[arg(long, conflicts_with_all = ["json", "dot"])]
    all: bool,
    /// Prints the report again every second.
    #[arg(long)]
    watch: bool,
    /// Lets threads copy their whole stacks; their system calls may then fail with EINTR.
    #[arg(long)]
    stacks: bool,
}

/// What `--stacks` does to the process.
const WARNING: &str = "\
warning: --stacks sends SIGURG to up to sixteen threads of the process: those in a poll of over
a second, and those in a futex without a record. Once, these calls of such a thread may fail
with EINTR: nanosleep, poll, ppoll, select, epoll_wait, sem_timedwait, semop, msgrcv,
io_getevents, pause, and operations of a socket with a timeout. The standard library and this
one call again, but TcpStream::read and UdpSocket::recv with a timeout return the error.
";

/// What a process needs to answer.
macro_rules! needs {
    () => {
        "\
A process answers if
  - it is built with the feature `inspect`: `blitz migrate` writes it into the Cargo.toml of a
    program on Tokio (cargo run --features inspect), and any other asks for
    blitz-io/inspect: cargo add blitz-io --no-default-features --features inspect,
  - BLITZ_INSPECT=1 is in its environment,
  - it has started a runtime, or has called blitz_io::inspect::serve_if_asked(), and
  - it belongs to the same user; root may ask all."
    };
}

const HELP: &str = concat!(
    "\
Examples:
  blitz why                        the only process that answers
  blitz why server                 by the name of its program; by its process id: blitz why 4711
  blitz why server --html why.html a page with a picture of who waits for whom
  blitz why server --json          for scripts

",
    needs!(),
    "

Exit statuses:
  0    no finding, or only ones that may end by themselves: long-poll and long-wait
  1    no such process answers, or a file cannot be written
  2    another finding is probable
  3    there is a wait that certainly never ends
  64   the arguments are wrong"
);

const LIST_HELP: &str = concat!(
    "\
Examples:
  blitz ps             process ids and names of programs
  blitz ps --json      for scripts, without the line of titles

",
    needs!(),
    "
`blitz why PID` says what the process PID lacks.

Exit statuses:
  0    the list is printed; it may be empty, which a message on standard error says
  1    the processes cannot be listed
  64   the arguments are wrong"
);

/// The options of `blitz ps`.
#[derive(clap::Args)]
#[command(after_help = LIST_HELP)]
pub struct List {
    /// Prints a JSON list of objects with `pid` and `name`.
    #[arg(long)]
    json: bool,
}

/// A process that answers.
#[derive(Serialize)]
struct Listed {
    pid: u32,
    name: String,
}

/// Lists the processes that answer.
pub fn list_processes(arguments: &List) -> Result<Exit, Exit> {
    let found = processes()?;
    if arguments.json {
        let found = found.into_iter().map(|(pid, name)| Listed { pid, name });
        output::print_json(&found.collect::<Vec<_>>())?;
        return Ok(Exit::Done);
    }
    output::print(&table(&found))?;
    if found.is_empty() {
        output::tell(concat!(
            "no process answers\n\n",
            needs!(),
            "\n`blitz why PID` says what the process PID lacks.\n"
        ));
    }
    Ok(Exit::Done)
}

/// Formats processes as lines below a line of titles.
fn table(processes: &[(u32, String)]) -> String {
    let line = |(pid, name): &(u32, String)| format!("{pid:>8}  {name}\n");
    let lines: String = processes.iter().map(line).collect();
    format!("{:>8}  NAME\n{lines}", "PID")
}

/// Reports the waits of one process.
pub fn run(arguments: &Arguments) -> Result<Exit, Exit> {
    let (pid, name) = choose("why", arguments.process.as_deref())?;
    let ask = if arguments.stacks {
        output::tell(WARNING);
        ask_with_peers_and_stacks
    } else {
        ask_with_peers
    };
    loop {
        let answer = ask(pid, &name).map_err(|error| failed(pid, &error))?;
        write_files(arguments, &name, &answer)?;
        show(arguments, &answer)?;
        if !arguments.watch {
            return Ok(judged(&answer));
        }
        thread::sleep(Duration::from_secs(1));
    }
}

/// Returns the exit for the worst finding.
fn judged(answer: &Answer) -> Exit {
    let mut findings = answer.findings.iter();
    if findings.clone().any(|f| f.certainty == Certainty::Certain) {
        Exit::Found
    } else if findings.any(|finding| !finding.may_end()) {
        Exit::Likely
    } else {
        Exit::Done
    }
}

fn show(arguments: &Arguments, answer: &Answer) -> Result<(), Exit> {
    let text = if arguments.json {
        let text = serde_json::to_string_pretty(answer);
        text.map_err(|error| Exit::Failed(error.to_string()))? + "\n"
    } else if arguments.dot {
        dot(&answer.snapshot, &answer.findings)
    } else {
        let columns = output::width().unwrap_or(usize::MAX);
        let write = if arguments.all {
            report_in_full
        } else {
            report_within
        };
        write(&answer.snapshot, &answer.findings, columns)
    };
    if !arguments.watch {
        return output::print(&text);
    }
    // A terminal shows the last report, a file all of them.
    let begin = if io::stdout().is_terminal() {
        "\x1b[H\x1b[2J"
    } else {
        ""
    };
    output::print_next(&format!("{begin}{text}"))
}

fn write_files(arguments: &Arguments, name: &str, answer: &Answer) -> Result<(), Exit> {
    let write = |path: &Path, text: Result<String, String>| {
        let written = text.and_then(|text| fs::write(path, text).map_err(|e| e.to_string()));
        written.map_err(|error| Exit::unwritable(path, error))
    };
    if let Some(path) = &arguments.svg {
        write(path, picture::svg(answer))?;
    }
    if let Some(path) = &arguments.html {
        write(path, picture::html(name, answer))?;
    }
    Ok(())
}

fn processes() -> Result<Vec<(u32, String)>, Exit> {
    list().map_err(|error| Exit::Failed(format!("cannot list the processes: {error}")))
}

/// Returns the name of a test program without the hash that Cargo gives it, as in `api-50d28a9694eac423`.
fn without_hash(name: &str) -> &str {
    const DIGITS: usize = 16;
    let parts = name.rsplit_once('-');
    let is_hash = |hash: &str| hash.len() == DIGITS && hash.bytes().all(|b| b.is_ascii_hexdigit());
    parts
        .filter(|(_, hash)| is_hash(hash))
        .map_or(name, |(name, _)| name)
}

/// Returns the process that the argument names. `command`: the one that asks, for the advice.
pub(crate) fn choose(command: &str, wanted: Option<&str>) -> Result<(u32, String), Exit> {
    let fits = |pid: u32, name: &str| {
        let is_name = |wanted: &str| wanted == name || wanted == without_hash(name);
        wanted.is_none_or(|wanted| is_name(wanted) || wanted.parse() == Ok(pid))
    };
    let all = processes()?;
    let mut found = all.clone();
    found.retain(|(pid, name)| fits(*pid, name));
    if let [(first, _), _, ..] = &found[..] {
        let count = found.len();
        let which = wanted.map_or_else(String::new, |name| format!(" with the name {name:?}"));
        return Err(Exit::Failed(format!(
            "{count} processes{which} answer; name one by its process id, as in `blitz {command} {first}`"
        ))
        .with_advice(table(&found).trim_end()));
    }
    found.pop().ok_or_else(|| {
        let names = all.iter().map(|(_, name)| name.as_str());
        let meant = wanted.and_then(|wanted| hints::nearest(wanted, names).into_iter().next());
        let meant = meant.map(|name| format!("blitz {command} {name}"));
        let exit = Exit::Failed(absent::reason(wanted, meant.as_deref()));
        if command == "trace" {
            exit.with_advice("`blitz trace -- PROGRAM` starts a program, and records it.")
        } else {
            exit
        }
    })
}

/// Says why a process that was listed has given no answer.
pub(crate) fn failed(pid: u32, error: &io::Error) -> Exit {
    use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, NotFound, UnexpectedEof};
    let has_ended = matches!(
        error.kind(),
        BrokenPipe | ConnectionRefused | ConnectionReset | NotFound | UnexpectedEof
    );
    if has_ended {
        return Exit::Failed(format!("process {pid} has ended before it answered"));
    }
    Exit::Failed(format!("process {pid} does not answer: {error}"))
}
