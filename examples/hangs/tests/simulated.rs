//! Runs the programs of threads under `blitz sim`: no test waits in real time. Those of tasks are in `src/simulated.rs`.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "program/found.rs"]
mod found;
mod program;

use found::{BLOCK_A_WORKER, KEEP_THE_THREAD, OF_THREADS};
use program::blitz;

/// The exit status of `blitz sim run` if all runs have passed.
const PASSED: i32 = 0;
/// The exit status for a deadlock: no thread can run any more.
const DEADLOCK: i32 = 4;
/// The exit status for a livelock: only the clock makes threads run.
const LIVELOCK: i32 = 5;
/// Number of calls without progress that are a livelock. Healthy programs make fewer.
const LIMIT: &str = "50000";

/// Healthy programs of threads.
const HEALTHY: &[&str] = &[
    "idle_fork_join",
    "idle_queued_job",
    "idle_thread_holder_sleeps",
    "idle_thread_pipeline",
    "idle_timed_writer",
];

/// Requires that the simulation of a program ends with this status. Returns what is wrong otherwise.
fn simulate(name: &str, expected: i32) -> Option<String> {
    let mut command = blitz();
    command.env("BLITZ_HANGS_SIMULATED", "1");
    command.args(["sim", "run", "--seeds", "3", "--limit", LIMIT]);
    command.args(["--faults", "none", "--traces", env!("CARGO_TARGET_TMPDIR")]);
    command.args(["--", env!("CARGO_BIN_EXE_blitz-io-hangs"), name]);
    let output = command.output().expect("it was built");
    (output.status.code() != Some(expected)).then(|| {
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        format!("{name}: {}\n{text}{errors}", output.status)
    })
}

fn none(wrong: impl Iterator<Item = String>) {
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_hang_of_threads_is_found() {
    none(OF_THREADS.iter().filter_map(|name| {
        let is_livelock = BLOCK_A_WORKER.contains(name);
        simulate(name, if is_livelock { LIVELOCK } else { DEADLOCK })
    }));
}

/// They sleep for an hour.
#[test]
fn healthy_threads_pass() {
    let healthy = HEALTHY.iter().chain(KEEP_THE_THREAD);
    none(healthy.filter_map(|name| simulate(name, PASSED)));
}
