//! Runs an example again and again, and prints its result and the time of a run.
//!
//! `PROGRAM EXAMPLE` prints the result on the first line and the milliseconds of a run on the second one. Each run has
//! another seed, and must have the same result. Without an argument it prints the names of all examples.

use std::time::{Duration, Instant};

/// How long a measurement takes at least.
const LEAST: Duration = Duration::from_millis(500);

/// An example: its name, and what runs it with a seed and returns its result.
pub type Example = (&'static str, fn(u64) -> String);

pub fn main(examples: &[Example]) {
    let Some(name) = std::env::args().nth(1) else {
        return examples.iter().for_each(|(name, _)| println!("{name}"));
    };
    let example = examples.iter().find(|(known, _)| *known == name);
    let (_, run) = example.expect("the argument is the name of an example");
    let result = run(0);
    let (mut runs, start) = (0, Instant::now());
    while start.elapsed() < LEAST {
        runs += 1;
        assert_eq!(run(runs), result, "seed {runs}");
    }
    let millis = start.elapsed().as_secs_f64() * 1e3 / runs as f64;
    println!("{result}\n{millis:.4}");
}
