//! The measurements behind `docs/second-opinion.md`, one command for each
//! question.
//!
//! ```sh
//! cargo run --release -p blitz-io-bench -- semaphore
//! ```
//!
//! A run that lost any work ends with exit code 1.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use blitz_io_bench::hog;
use blitz_io_bench::opinion::{self, Question};
use blitz_io_bench::scenario::Failure;
use clap::{Parser, Subcommand};

/// Answers of docs/second-opinion.md, measured on this machine.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Take only a few seconds: the figures then only show that everything works.
    #[arg(long, global = true)]
    quick: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Question 2: what a contended semaphore costs, and why.
    Semaphore,
    /// Question 3: what a contended reader-writer lock costs, and why.
    Rwlock,
    /// Question 4: barriers of every kind, side by side.
    Barriers,
    /// Question 5: how long to try before sleeping.
    Spin {
        /// Draws the curves into this SVG file.
        #[arg(long, value_name = "FILE")]
        plot: Option<PathBuf>,
    },
    /// Question 6: what each peer does, in instructions and in bytes.
    Peers,
    /// Question 7: how many system calls a server makes for an operation of tier 6.
    Io,
    /// The process that `barriers` runs beside its own.
    #[command(hide = true)]
    Busy,
    /// The process that `peers` runs step by step.
    #[command(hide = true)]
    Step { subject: String, operations: u32 },
}

/// Longer than `barriers` takes on any machine.
const BUSY_FOR: Duration = Duration::from_secs(600);

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(text) => print(&text),
        Err(failure) => {
            eprintln!("second-opinion: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<String, Failure> {
    let question = match &arguments.command {
        Command::Semaphore => Question::Semaphore,
        Command::Rwlock => Question::Rwlock,
        Command::Barriers => Question::Barriers,
        Command::Spin { plot } => Question::Spin(plot.as_deref()),
        Command::Peers => Question::Peers,
        Command::Io => Question::Io,
        Command::Busy => hog::run(BUSY_FOR),
        Command::Step {
            subject,
            operations,
        } => return opinion::step(subject, *operations).map(|()| String::new()),
    };
    opinion::answer(question, arguments.quick)
}

/// Prints text. It is not an error if the reader has closed the pipe early.
fn print(text: &str) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("second-opinion: standard output: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
