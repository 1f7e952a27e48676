//! A test with real threads, in the orders of `blitz_io_sim`.
//!
//! The library needs a process of its own, which starts with an object loaded before it. So a test's process starts itself
//! again, with the words by which the test harness runs this one test ([`program`]). That process stops before its `main`,
//! and each run is a fork of it. There, the test's function finds the variable [`VARIABLE`]. It runs its body on a runtime
//! with several workers ([`execute`]), and ends the process: the harness would judge the run by `#[should_panic]`, which
//! is about all runs.
//!
//! A command line that selects no test would pass. So the harness lists what it selects, before the first run.

use std::env;
use std::fmt::Write;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::{self, Command};
use std::time::Instant;

use blitz_io_inspect::own_call;
use blitz_io_observe::{LeftThread, TestThreads};
use blitz_io_sim::{Exhaustive, Faults, Plan, Program, Simulator, Trace, Verdict};

use super::builder::Builder;
use super::failure::{Left, command};
use super::outcome::Outcome;
use super::report::Report;
use super::schedule::Schedule;
use super::settings::{Leaks, Settings};
use crate::runtime::Runtime;

/// The variable with the name of the test that the process is to run.
const VARIABLE: &str = "BLITZ_SIM_THREADS";
/// The number of choices that PCT expects. Each seed has the same, so that it means the same run.
const LENGTH: u64 = 1_000;

/// A run that has not passed.
struct Failed {
    program: Program,
    plan: Plan,
    outcome: blitz_io_sim::Outcome,
    report: Report,
}

impl Builder {
    /// Runs the test on real threads: a runtime with four workers, in many orders of their system calls, as
    /// [`blitz sim run`](https://blitz-io.github.io/blitz-io/guides/simulation.html) does. `name` is the full name of the `#[test]`
    /// that calls this, without the crate: the test's process starts again, and runs it alone.
    ///
    /// Of the settings, [`seed`](Self::seed), [`seeds`](Self::seeds), [`time_limit`](Self::time_limit),
    /// [`schedule`](Self::schedule) (`guided` means the portfolio) and [`max_steps`](Self::max_steps) (calls without progress) count. Every second seed takes the
    /// processor away from threads between two calls, too. Short transfers, waits that end without a reason and threads
    /// that stall are faults of each seed, as far as it leaves them on.
    ///
    /// When the test has ended, its runtime ends, with all workers and jobs. Then the other threads run until each of them waits, and
    /// no sleep ends. A thread that has not ended is left, and the run fails, unless [`allow_leaks`](Self::allow_leaks) is `true`. Threads
    /// that stay for all of the process do not count: those of the global fork-join pool, of [`tick`](crate::sync::mpmc::tick), of
    /// [`inspect`](crate::inspect), and of stall detection.
    ///
    /// Under `blitz sim run`, this runs the test once.
    ///
    /// # Panics
    ///
    /// Panics if a run fails: a panic or an error of the test, a deadlock, a livelock, or threads that are left. Panics if nothing can be
    /// simulated: this needs x86-64 Linux with glibc, and a test of the usual harness.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # // A test of the documentation has no harness.
    /// #[test]
    /// fn workers_take_turns() {
    ///     let test = || async {
    ///         let task = blitz_io::spawn(async { 7 });
    ///         assert_eq!(task.await.unwrap(), 7);
    ///     };
    ///     blitz_io::sim::Builder::new().run_threads("workers_take_turns", test);
    /// }
    /// ```
    #[track_caller]
    pub fn run_threads<F>(&self, name: &str, test: impl Fn() -> F) -> Report
    where
        F: Future<Output: Outcome> + 'static,
    {
        if env::var_os(VARIABLE).is_some_and(|selected| selected == name) {
            process::exit(i32::from(!execute(test, self.settings.leaks)));
        }
        if blitz_io_observe::is_simulated() {
            let passed = execute(test, self.settings.leaks);
            assert!(passed, "the test has failed: see above");
            return Report {
                runs: 1,
                ..Report::default()
            };
        }
        match search(&self.settings, name) {
            Ok(Ok(report)) => report,
            Ok(Err(failed)) => panic!("{}", describe(name, &failed, self.settings.cargo_options)),
            Err(error) => panic!("the threads of `{name}` cannot be simulated: {error}"),
        }
    }
}

/// Returns the name of a test without that of its crate.
#[doc(hidden)]
#[must_use]
pub fn without_crate(name: &str) -> &str {
    name.split_once("::").map_or(name, |(_, name)| name)
}

/// Runs the test once. Returns `true` if it passes.
fn execute<F>(test: impl Fn() -> F, leaks: Leaks) -> bool
where
    F: Future<Output: Outcome> + 'static,
{
    let threads = match leaks {
        Leaks::Fail => TestThreads::begin(),
        Leaks::Allow => None,
    };
    let run = AssertUnwindSafe(|| {
        let runtime = Runtime::new().expect("a runtime can be made");
        runtime.block_on(test()).error()
    });
    match catch_unwind(run) {
        Ok(None) => threads.is_none_or(has_left_none),
        Ok(Some(error)) => {
            eprintln!("the test returned an error: {error}");
            false
        }
        Err(_) => false,
    }
}

/// Ends a test. Returns `true` if it has left no thread, and names those that it has left.
fn has_left_none(threads: TestThreads) -> bool {
    let names: Vec<String> = threads.end().iter().map(name_of).collect();
    let is_none = names.is_empty();
    if !is_none {
        let kind = "thread";
        let names = &names;
        eprintln!("{}", Left { kind, names });
    }
    is_none
}

fn name_of(thread: &LeftThread) -> String {
    let mut name = format!("thread {}", thread.number);
    if !thread.name.is_empty() {
        let _ = write!(name, " \"{}\"", thread.name);
    }
    if let Some(place) = own_call(&thread.started_at) {
        let _ = write!(name, ", started at {place}");
    }
    name
}

/// Returns this process's program with the words that select the test.
fn program(name: &str) -> io::Result<Program> {
    let file = env::current_exe()?;
    let select = ["--exact", name, "--include-ignored"];
    let listed = Command::new(&file)
        .args(select)
        .args(["--list", "--format", "terse"])
        .output()?;
    let list = String::from_utf8_lossy(&listed.stdout);
    if !list.lines().any(|line| line == format!("{name}: test")) {
        return Err(io::Error::other(
            "the test's program has no test of this name",
        ));
    }
    let run = ["--test-threads=1", "--nocapture"];
    let mut program = Program::new(file, select.into_iter().chain(run));
    program.variables.push((VARIABLE.into(), name.into()));
    // To look one up takes longer than all the rest.
    program
        .variables
        .push(("RUST_BACKTRACE".into(), "0".into()));
    Ok(program)
}

/// Returns the schedule with the same name, and the bound of an exhaustive search.
fn converted(schedule: Schedule) -> (blitz_io_sim::Schedule, Option<Option<u32>>) {
    use blitz_io_sim::Schedule as Of;
    match schedule {
        Schedule::Portfolio | Schedule::Guided => (Of::Portfolio, None),
        Schedule::Random => (Of::Random, None),
        Schedule::RoundRobin => (Of::RoundRobin, None),
        Schedule::Pct { depth } => (Of::Pct(depth), None),
        Schedule::Pos => (Of::Pos, None),
        Schedule::Surw => (Of::Surw, None),
        Schedule::Exhaustive { preemptions } => (Of::Script, Some(preemptions)),
    }
}

/// Returns the plan of a seed.
fn plan(settings: &Settings, schedule: blitz_io_sim::Schedule, seed: u64) -> Plan {
    let mut plan = Plan::new(schedule, seed);
    plan.length = Some(LENGTH);
    plan.limit = settings.limits.steps;
    plan.faults = Faults::USUAL.of_seed(seed);
    plan.preempt = seed % 2 == 1;
    plan
}

/// Runs the test until a run does not pass.
fn search(settings: &Settings, name: &str) -> io::Result<Result<Report, Box<Failed>>> {
    assert!(
        settings.trace.is_none(),
        "a trace is one of tasks: a simulation of threads replays by its seed, or by the file that it names"
    );
    let start = Instant::now();
    let program = program(name)?;
    let mut simulator = Simulator::start(&program)?;
    let (schedule, bound) = converted(settings.schedule);
    let mut all = bound.map(|bound| {
        let mut all = Exhaustive::new(settings.seed, bound);
        all.plan_mut().limit = settings.limits.steps;
        all
    });
    let mut report = Report::default();
    while report.runs < settings.seeds && !report.is_complete {
        let is_time = |limit| start.elapsed() >= limit;
        if report.runs > 0 && settings.time_limit.is_some_and(is_time) {
            break;
        }
        let plan = match all.as_ref().and_then(Exhaustive::plan) {
            Some(next) => next.clone(),
            None => plan(settings, schedule, settings.seed.wrapping_add(report.runs)),
        };
        let outcome = simulator.run(&plan)?;
        report.runs += 1;
        report.steps += outcome.points;
        if let Some(all) = &mut all {
            all.finish(&outcome);
            report.is_complete = all.plan().is_none();
        }
        if outcome.verdict != Verdict::Passed {
            return Ok(Err(Box::new(Failed {
                program,
                plan,
                outcome,
                report,
            })));
        }
    }
    Ok(Ok(report))
}

/// Keeps the run in a file, and returns what is to be said about it.
fn describe(name: &str, failed: &Failed, options: &str) -> String {
    let Failed {
        plan,
        outcome,
        report,
        ..
    } = failed;
    let mut text = format!(
        "{}, in run {}, of seed {}\n{}",
        outcome.verdict, report.runs, plan.seed, outcome.report
    );
    for line in String::from_utf8_lossy(&outcome.output).lines() {
        let _ = writeln!(text, "  | {line}");
    }
    // An exhaustive search has no seeds.
    if plan.script.is_empty() {
        let seed = plan.seed;
        let _ = writeln!(
            text,
            "  to replay: {}",
            command(&format!("BLITZ_SIM_SEED={seed}"), options, Some(name))
        );
    }
    let _ = match keep(name, failed) {
        Ok(file) => writeln!(text, "  to replay: blitz sim replay {}", file.display()),
        Err(error) => writeln!(text, "  its trace cannot be kept: {error}"),
    };
    text
}

/// Writes the trace beside the test's program.
fn keep(name: &str, failed: &Failed) -> io::Result<PathBuf> {
    let trace = Trace::new(&failed.program, &failed.plan, &failed.outcome)?;
    let file = format!("{}.blitztrace", name.replace("::", "."));
    let path = failed.program.path.with_file_name(file);
    trace.write(&path)?;
    Ok(path)
}
