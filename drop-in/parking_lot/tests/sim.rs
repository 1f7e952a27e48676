//! A program that only knows parking_lot, under the simulator: its deadlock names the locks and their holders.

#![cfg(all(
    feature = "sim",
    target_os = "linux",
    target_arch = "x86_64",
    target_env = "gnu"
))]

use std::env;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use blitz_io_sim::{Plan, Program, Schedule, Simulator, Verdict};
use parking_lot::Mutex;

/// The variable of the process that is simulated.
const VARIABLE: &str = "PARKING_LOT_IS_SIMULATED";

/// Takes two locks, one after the other, in two threads and in two orders.
fn two_orders() {
    let locks = Arc::new((Mutex::new(()), Mutex::new(())));
    let same = locks.clone();
    let thread = thread::spawn(move || {
        let _one = same.0.lock();
        // A call, at which the other thread may go on.
        thread::yield_now();
        let _other = same.1.lock();
    });
    {
        let _other = locks.1.lock();
        thread::yield_now();
        let _one = locks.0.lock();
    }
    thread.join().unwrap();
}

/// Runs a test of this file with seeds until it deadlocks, in a process that the simulator controls. Returns the report.
fn deadlock_of(test: &str) -> String {
    let words = ["--exact", test, "--test-threads=1", "--nocapture"];
    let mut program = Program::new(env::current_exe().unwrap(), words);
    program.variables.push((VARIABLE.into(), "1".into()));
    let mut simulator = Simulator::start(&program).unwrap();
    let mut runs = (0..100).map(|seed| simulator.run(&Plan::new(Schedule::Random, seed)).unwrap());
    let deadlock = runs.find(|run| run.verdict == Verdict::Deadlock).unwrap();
    deadlock.report
}

#[test]
fn a_deadlock_beside_a_thread_that_sleeps_again_and_again_is_one() {
    if env::var_os(VARIABLE).is_some() {
        thread::spawn(|| {
            loop {
                thread::sleep(Duration::from_millis(100));
            }
        });
        return two_orders();
    }
    let report = deadlock_of("a_deadlock_beside_a_thread_that_sleeps_again_and_again_is_one");
    assert!(report.contains("some waits can never end"), "{report}");
    assert!(report.contains("certain: deadlock"), "{report}");
}

#[test]
fn a_deadlock_has_its_locks_and_their_holders() {
    if env::var_os(VARIABLE).is_some() {
        return two_orders();
    }
    let report = &deadlock_of("a_deadlock_has_its_locks_and_their_holders");
    let (_, finding) = report.split_once("certain: deadlock").expect(report);
    let (finding, _) = finding.split_once("\n\n").expect(report);
    // Lines are broken in the middle.
    let finding = finding.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(
        finding.matches("for thread::Mutex #").count(),
        2,
        "{report}"
    );
    assert_eq!(finding.matches("held by thread").count(), 2, "{report}");
    assert_eq!(
        finding.matches("since tests/sim.rs:").count(),
        2,
        "{report}"
    );
}
