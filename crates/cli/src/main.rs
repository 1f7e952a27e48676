//! The `blitz` command.

#[cfg(feature = "bench")]
mod bench;
#[cfg(not(feature = "bench"))]
#[path = "no_bench.rs"]
mod bench;
#[cfg(test)]
mod command_lines;
mod commands;
mod completions;
mod destination;
mod doctor;
mod duration;
mod exit;
mod feature;
mod greeting;
mod help;
mod hints;
mod interrupt;
mod ipc;
mod line;
mod lint;
mod manual;
mod migrate;
mod other_flags;
mod output;
mod pipe;
mod recorded;
mod shell;
mod sim;
mod top;
mod trace;
mod why;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use exit::Exit;

#[global_allocator]
static ALLOCATOR: blitz_io_bench::CountingAllocator = blitz_io_bench::CountingAllocator;

/// Says why a program hangs and where it is slow, runs its tests in a thousand orders, moves it from Tokio to blitz-io, and
/// measures the parts of blitz-io beside the best other libraries.
#[derive(Parser)]
#[command(name = "blitz", version, long_version = env!("BLITZ_LONG_VERSION"), propagate_version = true, disable_help_subcommand = true, after_help = exit::CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Reports the waits of a process, the holders of its locks, and the waits that can never end.
    Why(why::Arguments),
    /// Records what a program does, and reports where its requests wait, and behind whom.
    Trace(Box<trace::Arguments>),
    /// Runs a program or tests, and reports what could go wrong in another run.
    Lint(lint::Arguments),
    /// Runs a program or tests in orders that seeds decide, and repeats an order that fails.
    Sim(sim::Arguments),
    /// Shows what a process does: its tasks, workers, longest waits, channels and contended locks.
    Top(top::Arguments),
    /// Lists the processes that `why`, `top` and `trace` can read.
    Ps(why::List),
    /// Replaces Tokio, rayon-core, parking_lot, parking_lot_core and atomic-wait by blitz-io in all dependencies.
    Migrate(migrate::Arguments),
    /// Reports what this machine offers, what blitz-io uses of it, and what you could
    /// change.
    Doctor(doctor::Arguments),
    /// Compresses, decompresses or hashes files and streams on all processors.
    Pipe(pipe::Arguments),
    /// Inspects segments of shared memory, and sends and receives in them.
    Ipc(ipc::Arguments),
    #[cfg_attr(feature = "bench", doc = "Runs the benchmark and reports the winners.")]
    #[cfg_attr(
        not(feature = "bench"),
        doc = "Says how to install the benchmark, which this build is without."
    )]
    Bench(bench::Arguments),
    /// Prints a completion script for a shell.
    Completions(completions::Arguments),
    /// Prints the help of a command.
    Help(help::Arguments),
    /// Shows the man page of a command.
    Man(manual::Page),
    /// Writes the man pages into a folder.
    #[command(hide = true)]
    Manual(manual::Arguments),
    /// Keeps a processor busy, for `bench --hog`.
    #[cfg(feature = "bench")]
    #[command(name = bench::load::COMMAND, hide = true)]
    Hog(bench::load::Arguments),
}

fn main() -> ExitCode {
    if let Some(code) = completions::answer() {
        return code;
    }
    if let Some(code) = greeting::greet() {
        return code;
    }
    let command = match parse() {
        Ok(cli) => cli.command,
        Err(code) => return code,
    };
    let ended = match command {
        Command::Why(arguments) => why::run(&arguments),
        Command::Trace(arguments) => trace::run(&arguments),
        Command::Lint(arguments) => lint::run(&arguments),
        Command::Sim(arguments) => sim::run(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Ps(arguments) => why::list_processes(&arguments),
        Command::Migrate(arguments) => migrate::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Pipe(arguments) => pipe::run(&arguments),
        Command::Ipc(arguments) => ipc::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Help(arguments) => help::run(&arguments),
        Command::Man(page) => manual::show(&page),
        Command::Manual(arguments) => manual::run(&arguments),
        #[cfg(feature = "bench")]
        Command::Hog(arguments) => bench::load::run(&arguments),
    };
    ended.unwrap_or_else(Exit::report).into()
}

/// Parses the arguments. Errors have tips.
fn parse() -> Result<Cli, ExitCode> {
    let line: Vec<OsString> = std::env::args_os().collect();
    let line = help::with_help_first(&line);
    Cli::try_parse_from(&line).map_err(|mut told| {
        if !told.use_stderr() {
            let printed = help::printed(&told).map(|()| Exit::Done);
            return printed.unwrap_or_else(Exit::report).into();
        }
        hints::add(&mut told, &line);
        // A message that cannot be printed cannot be reported either.
        let _ = told.print();
        exit::USAGE.into()
    })
}
