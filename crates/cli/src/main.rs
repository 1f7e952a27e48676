//! The `blitz` command.

mod bench;
mod completions;
mod doctor;
mod exit;
mod output;

use clap::{Parser, Subcommand};

use exit::Exit;

#[global_allocator]
static ALLOCATOR: blitz_bench::CountingAllocator = blitz_bench::CountingAllocator;

/// Measures blitz-io against the best other libraries, and looks at the machine.
#[derive(Parser)]
#[command(name = "blitz", version, propagate_version = true, after_help = exit::CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs the benchmark and says who won.
    Bench(bench::Arguments),
    /// Says what this machine offers, what blitz-io uses of it, and what you could change.
    Doctor(doctor::Arguments),
    /// Prints a completion script for a shell.
    Completions(completions::Arguments),
}

fn main() -> std::process::ExitCode {
    // clap ends the process with code 2 when the arguments are wrong.
    let ended = match Cli::parse().command {
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
    };
    ended.unwrap_or_else(Exit::report).into()
}
