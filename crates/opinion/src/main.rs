//! The measurements behind `docs/second-opinion.md`, one command for each
//! question.
//!
//! ```sh
//! cargo run --release -p blitz-opinion -- semaphore
//! ```
//!
//! Each command lets its contenders take turns in one process, verifies the work
//! of every iteration, and prints medians with 95 % intervals. A run that lost
//! any work ends with exit code 1. With `--quick` it takes a few seconds and its
//! figures are no more than a sign of life.

mod barriers;
mod counts;
mod measure;
mod naive;
mod peers;
mod rwlock;
mod semaphore;
mod show;
mod spin;
mod tasks;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use blitz_bench::scenario::Failure;
use clap::{Parser, Subcommand};

use measure::Effort;

/// Answers of docs/second-opinion.md, measured on this machine.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    question: Question,
    /// A few seconds, for a sign of life instead of figures.
    #[arg(long, global = true)]
    quick: bool,
}

#[derive(Subcommand)]
enum Question {
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
    /// The process that `barriers` runs beside its own.
    #[command(hide = true)]
    Busy,
    /// The process that `peers` runs step by step.
    #[command(hide = true)]
    Step { subject: String, operations: u32 },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match answer(&arguments) {
        Ok(text) => print(&text),
        Err(failure) => {
            eprintln!("blitz-opinion: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn answer(arguments: &Arguments) -> Result<String, Failure> {
    let effort = Effort::new(arguments.quick);
    match &arguments.question {
        Question::Semaphore => semaphore::answer(effort),
        Question::Rwlock => rwlock::answer(effort),
        Question::Barriers => barriers::answer(effort),
        Question::Spin { plot } => spin::answer(effort, plot.as_deref()),
        Question::Peers => peers::answer(effort),
        Question::Busy => barriers::keep_busy(),
        Question::Step {
            subject,
            operations,
        } => peers::step::run(subject, *operations).map(|()| String::new()),
    }
}

/// Who closes standard output early has seen enough.
fn print(text: &str) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("blitz-opinion: standard output: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
