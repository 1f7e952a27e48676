//! Finds the faults of `bugs`, and prints for each: schedules and time until the first failure (the median of searches
//! from different seeds), choices and bytes after shrinking, and what a loop of the program itself finds in ten
//! seconds, without and with random delays where its threads enter the kernel (`crates/testing/delays.c`).
//!
//! ```sh
//! cargo run --release -p blitz-io-sim --example corpus
//! ```
//!
//! Arguments are names of programs. `ecosystem/corpus` searches the same programs with shuttle and turmoil.

mod bugs;
mod system;

use std::env;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_sim::{Faults, Outcome, Plan, Program, Schedule, Simulator, Trace, shrink};
use bugs::{BUGS, Bug};
use tempfile::TempDir;

/// The file of the library that delays threads.
const DELAYS: &str = "delays.so";
/// Time of each search for a fault.
const LIMIT: Duration = Duration::from_secs(60);
/// Searches for each fault.
const SEARCHES: u64 = 5;
/// The distance between the first seeds of two searches.
const DISTANCE: u64 = 1_000_003;
/// Time of a loop of the program itself.
const LOOP: Duration = Duration::from_secs(10);
/// A run without simulation that takes longer hangs.
const HANGS: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let wanted: Vec<String> = env::args().skip(1).collect();
    if let [run, name] = &wanted[..] {
        if run == "run" {
            let found = BUGS.iter().find(|bug| bug.name == name);
            (found.expect("a name of the table").run)();
            return ExitCode::SUCCESS;
        }
    }
    println!(
        "| fault | like | schedules | seconds | choices | bytes | replays | loop of its own | with delays |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|---|---|");
    let delays = delays().expect("the C compiler makes a library");
    let delays = delays.path().join(DELAYS);
    let mut missed = 0;
    for bug in &BUGS {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == bug.name) {
            continue;
        }
        match row(bug, &delays) {
            Ok(row) => println!("| {} | {} | {row} |", bug.name, bug.origin),
            Err(error) => {
                missed += 1;
                println!("| {} | {} | {error} |", bug.name, bug.origin);
            }
        }
    }
    ExitCode::from(u8::from(missed > BUGS.len() - 9))
}

type Failure = Box<dyn std::error::Error>;

/// The end of a successful search.
struct Found {
    schedules: u64,
    took: Duration,
    plan: Plan,
    outcome: Outcome,
}

fn row(bug: &Bug, delays: &Path) -> Result<String, Failure> {
    let program = program(bug);
    let mut simulator = Simulator::start(&program)?;
    let mut all = vec![];
    for search in 0..SEARCHES {
        all.extend(find(&mut simulator, bug, search * DISTANCE)?);
    }
    all.sort_by_key(|found| found.schedules);
    let count = all.len();
    // Searches that find nothing would come last.
    let median = all.get(SEARCHES as usize / 2);
    let median = median.ok_or_else(|| format!("found by {count} of {SEARCHES} searches"))?;
    let (small, smallest) = shrink(&mut simulator, &median.plan, &median.outcome, |_, _| true)?;
    let trace = Trace::new(&program, &small, &smallest)?;
    let mut simulator = Simulator::start(&program)?;
    let mut same = 0;
    for _ in 0..100 {
        let again = simulator.run(&trace.plan)?;
        same += u32::from((again.verdict, again.hash) == (trace.verdict, trace.hash));
    }
    Ok(format!(
        "{} | {:.2} | {} | {} | {same} of 100 | {} | {}",
        median.schedules,
        median.took.as_secs_f64(),
        small.script.len(),
        trace.encode().len(),
        native(&program, &[])?,
        native(
            &program,
            &[
                ("LD_PRELOAD", delays.as_os_str()),
                ("DELAYS_ONE_IN", OsStr::new("30")),
                ("DELAYS_US", OsStr::new("3000")),
            ]
        )?
    ))
}

/// Compiles the library that delays threads. Returns its folder.
fn delays() -> io::Result<TempDir> {
    let folder = tempfile::tempdir()?;
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../testing/delays.c");
    let status = Command::new("cc")
        .args(["-std=c11", "-O2", "-shared", "-fPIC", source, "-ldl", "-o"])
        .arg(folder.path().join(DELAYS))
        .status()?;
    if status.success() {
        Ok(folder)
    } else {
        Err(io::Error::other(source))
    }
}

fn program(bug: &Bug) -> Program {
    let mut program = Program::new(env::current_exe().expect("this program"), ["run", bug.name]);
    program
        .variables
        .push(("RUST_BACKTRACE".into(), "0".into()));
    program
}

/// Runs the seeds from `first` on until one fails.
fn find(simulator: &mut Simulator, bug: &Bug, first: u64) -> Result<Option<Found>, Failure> {
    let faults: Faults = bug.faults.parse()?;
    let start = Instant::now();
    for seed in first.. {
        let mut plan = Plan::new(Schedule::Portfolio, seed);
        plan.faults = faults.of_seed(seed);
        let outcome = simulator.run(&plan)?;
        if outcome.verdict.is_incomplete() {
            return Err(format!("{}: {}", outcome.verdict, outcome.report).into());
        }
        if outcome.verdict.is_failure() {
            return Ok(Some(Found {
                schedules: seed - first + 1,
                took: start.elapsed(),
                plan,
                outcome,
            }));
        }
        if start.elapsed() > LIMIT {
            break;
        }
    }
    Ok(None)
}

/// Runs the program itself with these variables, again and again.
fn native(program: &Program, variables: &[(&str, &OsStr)]) -> Result<String, Failure> {
    let start = Instant::now();
    let mut runs = 0;
    while start.elapsed() < LOOP {
        runs += 1;
        let mut child = Command::new(&program.path)
            .args(&program.arguments)
            .envs(variables.iter().copied())
            .stderr(Stdio::null())
            .spawn()?;
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if begin.elapsed() > HANGS {
                child.kill()?;
                child.wait()?;
                break None;
            }
            thread::sleep(Duration::from_micros(200));
        };
        match status {
            None => return Ok(format!("hangs in run {runs}")),
            Some(status) if !status.success() => return Ok(format!("fails in run {runs}")),
            Some(_) => {}
        }
    }
    Ok(format!("nothing in {runs} runs"))
}
