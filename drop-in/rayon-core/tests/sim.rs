//! A program that only knows rayon-core, under the simulator: a deadlock over a job names the thread that runs it.

#![cfg(all(
    feature = "sim",
    target_os = "linux",
    target_arch = "x86_64",
    target_env = "gnu"
))]

use std::env;
use std::sync::mpsc::channel;

use blitz_io_sim::{Plan, Program, Schedule, Simulator, Verdict};

/// The variable of the process that is simulated.
const VARIABLE: &str = "RAYON_CORE_IS_SIMULATED";

/// Waits for a job that waits for a message of the waiting thread.
fn waits_for_its_job() {
    let (sender, receiver) = channel::<()>();
    rayon_core::join(move || receiver.recv(), || ()).0.unwrap();
    sender.send(()).unwrap();
}

#[test]
fn a_deadlock_has_its_job() {
    if env::var_os(VARIABLE).is_some() {
        return waits_for_its_job();
    }
    // This test, in a process that the simulator controls.
    let words = [
        "--exact",
        "a_deadlock_has_its_job",
        "--test-threads=1",
        "--nocapture",
    ];
    let mut program = Program::new(env::current_exe().unwrap(), words);
    program.variables.push((VARIABLE.into(), "1".into()));
    let mut simulator = Simulator::start(&program).unwrap();
    let run = simulator.run(&Plan::new(Schedule::Random, 1)).unwrap();
    let report = &run.report;
    assert_eq!(run.verdict, Verdict::Deadlock, "{report}");
    let (_, waits) = report.split_once("what `blitz why` says:").expect(report);
    let waits = waits.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(waits.contains("for fork-join"), "{report}");
    assert!(waits.contains("held by thread"), "{report}");
}
