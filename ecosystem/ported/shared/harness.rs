//! Runs an example again and again, and prints its result and the time of a run.
//!
//! `PROGRAM EXAMPLE` prints the result on the first line and the milliseconds of a run on the second one. They are those of
//! the processor, so that other programs matter less. Each run has another seed, and must have the same result. Without an
//! argument it prints the names of all examples.

use std::time::Duration;

/// How long a measurement takes at least.
const LEAST: Duration = Duration::from_millis(500);

/// An example: its name, and what runs it with a seed and returns its result.
pub type Example = (&'static str, fn(u64) -> String);

/// Returns the time for which processors have run this process.
fn processor_time() -> Duration {
    // SAFETY: zeros are a valid value of all fields.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a `timespec`.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(failed, 0, "the system has no such clock");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

pub fn main(examples: &[Example]) {
    let Some(name) = std::env::args().nth(1) else {
        return examples.iter().for_each(|(name, _)| println!("{name}"));
    };
    let example = examples.iter().find(|(known, _)| *known == name);
    let (_, run) = example.expect("the argument is the name of an example");
    let start = processor_time();
    let (result, mut runs) = (run(0), 1);
    while processor_time() - start < LEAST {
        assert_eq!(run(runs), result, "seed {runs}");
        runs += 1;
    }
    let millis = (processor_time() - start).as_secs_f64() * 1e3 / runs as f64;
    println!("{result}\n{millis:.4}");
}
