//! Simulates a replicated store, and each of its planted bugs.
//!
//! ```sh
//! cargo run --release                  # 100,000 orders of the correct store, and the first failure of each bug
//! cargo run --release -- 1000          # at most 1,000 orders of each
//! ```
//!
//! The exit code is 1 if the correct store fails, or a bug is not found.

mod store;

use std::process::ExitCode;
use std::time::Instant;

use blitz_io::sim::{Builder, Schedule};
use store::Bug;

fn main() -> ExitCode {
    let seeds = std::env::args().nth(1).map_or(Ok(100_000), |n| n.parse());
    let Ok(seeds) = seeds else {
        eprintln!("usage: blitz-io-replicated [SEEDS]");
        return ExitCode::from(2);
    };
    let builder = Builder::new().seeds(seeds).schedule(Schedule::Random);
    let builder = builder.shrink(false);
    let mut is_right = true;
    for bug in Bug::ALL {
        let start = Instant::now();
        match builder.check(move || store::simulation::run(Some(bug))) {
            Ok(_) => {
                is_right = false;
                println!("{bug:?}: not found in {seeds} runs");
            }
            Err(failure) => println!(
                "{bug:?}: found in run {} after {:.1?}: {}",
                failure.runs(),
                start.elapsed(),
                failure.cause(),
            ),
        }
    }
    let start = Instant::now();
    match builder.check(|| store::simulation::run(None)) {
        Ok(report) => {
            let (runs, steps) = (report.runs(), report.steps());
            println!(
                "the correct store: {runs} runs, {steps} steps in {:.1?}",
                start.elapsed()
            );
            println!("never happened: {:?}", report.never());
        }
        Err(failure) => {
            is_right = false;
            println!("the correct store: {failure}");
        }
    }
    ExitCode::from(u8::from(!is_right))
}
