//! `blitz sim`: runs programs under deterministic simulation.

mod check;
mod choices;
mod gdb;
mod harness;
mod instrumented;
mod junit;
mod picture;
mod printed;
mod replay;
mod report;
mod run;
mod search;
mod stacks;
mod symbols;
mod targets;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use blitz_io_sim::{Faults, Plan, Schedule, Verdict};
use clap::{Args, Subcommand, ValueEnum, ValueHint};

use crate::duration;
use crate::exit::Exit;

const HELP: &str = "\
Examples:
  blitz sim run -- cargo test -p app      each test of the package, a thousand orders each
  blitz sim run -- cargo test transfer    only the tests with this word in their names
  blitz sim run -- ./server --selftest    any dynamically linked program
  blitz sim run --atomics -- cargo test   threads change at atomic operations, too
  blitz sim replay app.blitztrace         the order that failed, again
  blitz sim replay --html run.html FILE   a picture of it: who ran when, who waited, who woke whom
  blitz sim replay --gdb --until 40 FILE  gdb, before the 40th call
  blitz sim shrink app.blitztrace         the same failure with as few choices as possible
  blitz sim check -- cargo test -p app    each seed twice: are the runs equal?
  blitz sim run --json -- cargo test      a table for scripts; --junit FILE writes one for CI
  blitz sim atomics target/points         how to compile another program for --atomics

Nothing is changed, and nothing recompiled but with --atomics. An object that is loaded before the
program takes over its threads, locks, clocks, sleeps, random numbers, pipes and sockets. One thread
runs at a time, and a seed decides which one goes on at each call. Time is simulated: an hour of
sleep takes no time.

What a seed does depends on the program and the options only, so --seed N --seeds 1 repeats a
failure of seed N. Schedules that need numbers about the program take them from one more run without
preemptions and faults, which is the same for all seeds.

If a run fails, that order is kept in a file. `replay` repeats it as often as you like, for example
with more output in the program's log. `shrink` finds out which choices matter, in at most two
minutes (--time).

A run fails if the program fails, if no thread can run any more (a deadlock; the report says which
thread waits where), or if it makes a million calls without progress (a livelock; --limit). With the
feature inspect of blitz-io, tasks that wait for each other are a deadlock although others run. A
call that cannot be simulated ends the run as `escaped`, with its name and place: it never passes in
silence. Tests with #[ignore] run with --ignored or --include-ignored behind a second --, as with
`cargo test`. Threads change at calls, and in loops that make none. With half of the seeds, or with
--preempt all of them, they change between two calls, too, after a number of instructions that the
seed draws. With --atomics they change at each atomic operation: the tests are then compiled with
the thread sanitizer's instrumentation.

Exit statuses:
  0    no run failed; the replay did what the file says; the runs were equal
  1    a run could not be simulated to its end; or a file is missing, cannot be read or written, or
       is not what it should be
  3    a run failed; with `replay` too. `check` and `replay`: the runs differed
  4    it was a deadlock
  5    it was a livelock
  64   the arguments are wrong
  130  `run` was interrupted, by SIGTERM too (the table has what was done until then)";

#[derive(Args)]
#[command(after_help = HELP)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs a program, or each test of `cargo test`, with many seeds.
    #[command(after_help = HELP)]
    Run(RunArguments),
    /// Repeats the run of a trace file.
    #[command(after_help = HELP)]
    Replay(FileArguments),
    /// Finds a smaller order of a trace file with the same failure, and replaces the file.
    #[command(after_help = HELP)]
    Shrink(ShrinkArguments),
    /// Runs each seed twice, and reports the first difference.
    #[command(after_help = HELP)]
    Check(RunArguments),
    /// Writes the library that a program for `run --atomics` is linked with, and says how.
    #[command(after_help = HELP)]
    Atomics(AtomicsArguments),
}

#[derive(Args)]
pub struct RunArguments {
    /// The first seed.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// The number of seeds of each test or program.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Stops each test or program after this time, such as 60s or 10m.
    #[arg(long, value_name = "TIME", value_parser = duration::parse, allow_negative_numbers = true)]
    time: Option<Duration>,
    /// How the next thread is chosen: portfolio, random, pct:DEPTH, pos, surw, round-robin, or exhaustive:N, which
    /// tries all orders that take the processor away from a thread at most N times (without a
    /// number: all orders). contended:N does so only before calls and operations on objects that several threads use.
    #[arg(long, value_name = "NAME", default_value = "portfolio", value_parser = chosen)]
    schedule: Chosen,
    /// Families of faults: short (reads and writes), spurious (wake-ups), stall (of threads), which are
    /// usual, eintr, eagain; of the network, together named net: latency (of bytes), reset, half-open (silence for
    /// ever), emfile (in accept), loss, reorder and duplicate (of datagrams), partition, one-way (of a partition), dns;
    /// of files in memory, together named
    /// disk: enospc, eio, crash (and a new start on the files that are left); clock (the calendar jumps); all, or none. Each seed
    /// leaves out a half of them. exhaustive has none.
    #[arg(long, value_name = "A,B", default_value = "short,spurious,stall")]
    faults: Faults,
    /// Lets threads change between two calls, too: a number of instructions, which the seed draws, after a
    /// call or after the start of a thread. Finds races of memory that no call protects, if no call that
    /// matters to other threads comes before them. --atomics finds more races between two sections of a lock that is free: a lock
    /// of std or parking_lot makes no call then. Such an instruction takes microseconds, so a
    /// long run has few of them.
    /// There are too many places for exhaustive, which refuses this. Without the option, half of the seeds do so: `some`.
    #[arg(long, value_name = "WHEN", num_args = 0..=1, require_equals = true, default_value = "some", default_missing_value = "all")]
    preempt: Preempt,
    /// Lets threads change at each atomic operation, too. All operations are in one order for all threads (sequentially
    /// consistent). Finds races between atomic operations, and between two sections of a lock that is free. With
    /// `cargo test`, std and the tests are compiled anew into target/atomics. This needs the sources of std:
    /// `rustup component add rust-src`. Another program has to be compiled as `blitz sim atomics` says.
    #[arg(long)]
    atomics: bool,
    /// Counts a run in which all threads wait as a deadlock, even if a time limit would end a wait. For a program that
    /// neither sleeps nor has timers: finds a lost wake-up that a time limit makes good for. Threads do not stall then.
    #[arg(long)]
    no_timeouts: bool,
    /// Lets the program start others, which run outside of the simulation. Runs are not deterministic
    /// then, and calls that go round libc are not seen.
    #[arg(long)]
    allow_exec: bool,
    /// The number of calls without progress after which a run is a livelock. Progress: bytes are transferred, a
    /// thread begins or ends. Threads that are only woken, by calls or by time, have four times as many.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    limit: u64,
    /// Where the program's files are: real, or memory. In memory, it sees the real files and changes copies of
    /// them, which end with each run.
    #[arg(
        long,
        value_name = "WHERE",
        default_value = "real",
        conflicts_with = "allow_exec"
    )]
    fs: Files,
    /// The number of processors that the program sees.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    processors: u32,
    /// Number of tests that run at the same time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    jobs: Option<u64>,
    /// Runs the other tests after one has failed.
    #[arg(long)]
    keep_going: bool,
    /// Prints the table as JSON.
    #[arg(long)]
    json: bool,
    /// Draws each run that does not pass: a page beside its trace file.
    #[arg(long)]
    html: bool,
    /// Writes the table as JUnit XML, for CI.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    junit: Option<PathBuf>,
    /// The folder for the trace files.
    #[arg(long, value_name = "FOLDER", default_value = ".", value_hint = ValueHint::DirPath)]
    traces: PathBuf,
    /// The program and its arguments, or `cargo test` and its arguments.
    #[arg(last = true, required = true, value_name = "PROGRAM", value_hint = ValueHint::CommandWithArguments)]
    program: Vec<OsString>,
}

#[derive(Args)]
pub struct FileArguments {
    /// The trace file.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Repeats it this many times.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    times: u64,
    /// Prints the whole output of the program. Without this, frames of std, of the test harness and of this library are
    /// left out of backtraces, and lines of a long output.
    #[arg(long)]
    all: bool,
    /// Stops before the call of this number, and says which thread waits where.
    #[arg(long, value_name = "STEP", value_parser = clap::value_parser!(u64).range(1..))]
    until: Option<u64>,
    /// Starts gdb on the process there; without --until, at the last call.
    #[arg(long)]
    gdb: bool,
    /// Draws the run into this file: a page with a lane for each thread, its calls, waits and wakes.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["until", "gdb"])]
    html: Option<PathBuf>,
}

#[derive(Args)]
pub struct AtomicsArguments {
    /// The folder for the library. Programs that are linked with it need it there.
    #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
}

#[derive(Args)]
pub struct ShrinkArguments {
    /// The trace file.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Ends the search after this time, such as 60s or 10m, with the smallest order so far.
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = duration::parse, allow_negative_numbers = true)]
    time: Duration,
    /// Writes the smaller order into this file instead.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
}

/// Where files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Files {
    Real,
    Memory,
}

/// The seeds whose threads also change between two calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Preempt {
    /// None of them.
    None,
    /// Half of them, if atomic operations are no points.
    Some,
    /// All of them.
    All,
}

/// How orders are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    Seeds(Schedule),
    /// All of them, up to a number of preemptions.
    Exhaustive(Option<u32>),
    /// The same, with preemptions at objects of several threads only.
    Contended(Option<u32>),
}

fn chosen(text: &str) -> Result<Chosen, String> {
    let (name, number) = match text.split_once(':') {
        Some((name, number)) => (
            name,
            Some(number.parse().map_err(|_| "no number after the colon")?),
        ),
        None => (text, None),
    };
    Ok(match (name, number) {
        ("portfolio", None) => Chosen::Seeds(Schedule::Portfolio),
        ("random", None) => Chosen::Seeds(Schedule::Random),
        ("pct", depth) => Chosen::Seeds(Schedule::Pct(depth.unwrap_or(3))),
        ("pos", None) => Chosen::Seeds(Schedule::Pos),
        ("surw", None) => Chosen::Seeds(Schedule::Surw),
        ("round-robin", None) => Chosen::Seeds(Schedule::RoundRobin),
        ("exhaustive", bound) => Chosen::Exhaustive(bound),
        ("contended", bound) => Chosen::Contended(bound),
        _ => {
            return Err(
                "there are portfolio, random, pct:DEPTH, pos, surw, round-robin, exhaustive:N and contended:N"
                    .to_owned(),
            );
        }
    })
}

impl RunArguments {
    /// Returns the programs to run.
    fn targets(&self) -> Result<Vec<targets::Target>, Exit> {
        if self.preempt == Preempt::All && !matches!(self.schedule, Chosen::Seeds(_)) {
            return Err(Exit::usage(
                "An exhaustive search changes threads at calls only: there are too many places between two calls.",
                "Leave --preempt out, or give another --schedule.",
            ));
        }
        let mut found = targets::find(&self.program, self.atomics)?;
        for target in &mut found {
            if self.allow_exec {
                target.program = target.program.clone().allow_exec();
            }
            if self.fs == Files::Memory {
                target.program = target.program.clone().memory_files();
            }
        }
        Ok(found)
    }

    /// Returns the plan of a seed.
    fn plan(&self, schedule: Schedule, seed: u64) -> Plan {
        let mut plan = Plan::new(schedule, seed);
        plan.faults = self.faults.of_seed(seed);
        plan.limit = self.limit;
        plan.preempt = self.preempts(seed);
        plan.atomics = self.atomics;
        plan.no_timeouts = self.no_timeouts;
        plan.processors = self.processors;
        plan
    }

    /// Returns `true` if threads also change between two calls with this seed.
    fn preempts(&self, seed: u64) -> bool {
        match self.preempt {
            Preempt::None => false,
            // Eight seeds in a row have all schedules of the portfolio.
            Preempt::Some => !self.atomics && seed / 8 % 2 == 1,
            Preempt::All => true,
        }
    }
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<Exit, Exit> {
    match &arguments.command {
        Command::Run(arguments) => run::run(arguments),
        Command::Replay(arguments) => replay::replay(arguments),
        Command::Shrink(arguments) => replay::shrink(arguments),
        Command::Check(arguments) => check::check(arguments),
        Command::Atomics(arguments) => instrumented::prepare(arguments),
    }
}

/// Returns how the command ends after a run with this verdict.
fn exit_of(verdict: Verdict, what: &str) -> Exit {
    match verdict {
        Verdict::Passed => Exit::Done,
        Verdict::Deadlock => Exit::Deadlock,
        Verdict::Livelock => Exit::Livelock,
        _ if verdict.is_failure() => Exit::Found,
        _ => Exit::Failed(format!(
            "{what} could not be simulated to its end: {verdict}"
        )),
    }
}

fn failed(error: impl std::fmt::Display) -> Exit {
    Exit::Failed(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_parsed() {
        assert_eq!(chosen("pct:5"), Ok(Chosen::Seeds(Schedule::Pct(5))));
        assert_eq!(chosen("pos"), Ok(Chosen::Seeds(Schedule::Pos)));
        assert_eq!(chosen("surw"), Ok(Chosen::Seeds(Schedule::Surw)));
        assert_eq!(chosen("exhaustive"), Ok(Chosen::Exhaustive(None)));
        assert_eq!(chosen("exhaustive:2"), Ok(Chosen::Exhaustive(Some(2))));
        assert_eq!(chosen("contended:2"), Ok(Chosen::Contended(Some(2))));
        assert!(chosen("random:1").is_err() && chosen("pct:x").is_err() && chosen("").is_err());
    }
}
