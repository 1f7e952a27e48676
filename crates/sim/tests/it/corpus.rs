//! Each program of the corpus is found, replayed and shrunk.

use std::env;

use blitz_io_sim::{Simulator, Trace, shrink};

use crate::support::{find, is_simulated, test};

#[path = "../../examples/corpus/bugs.rs"]
mod bugs;
#[path = "../../examples/corpus/system.rs"]
mod system;
use bugs::BUGS;

/// The variable with the name of the program.
const VARIABLE: &str = "BLITZ_SIM_CORPUS";

#[test]
fn program() {
    if !is_simulated() {
        return;
    }
    let name = env::var(VARIABLE).unwrap();
    let bug = BUGS.iter().find(|bug| bug.name == name).unwrap();
    (bug.run)();
}

#[test]
fn every_fault_of_the_corpus_is_found_replayed_and_shrunk() {
    for bug in &BUGS {
        let mut program = test("corpus::program");
        program.variables.push((VARIABLE.into(), bug.name.into()));
        let mut simulator = Simulator::start(&program).unwrap();
        let (plan, outcome) = find(&mut simulator, bug.faults.parse().unwrap(), 3_000)
            .unwrap_or_else(|| panic!("{} ({}) is not found", bug.name, bug.origin));
        let (small, smallest) = shrink(&mut simulator, &plan, &outcome, |_, _| true).unwrap();
        let choices = small.script.len();
        assert!(choices <= 30, "{}: {choices} choices", bug.name);
        let trace = Trace::new(&program, &small, &smallest).unwrap();
        let bytes = trace.encode().len();
        assert!(bytes <= 1024, "{}: {bytes} bytes", bug.name);
        let mut simulator = Simulator::start(&program).unwrap();
        for _ in 0..100 {
            let again = simulator.run(&trace.plan).unwrap();
            assert_eq!(
                (again.verdict, again.hash),
                (trace.verdict, trace.hash),
                "{}",
                bug.name
            );
        }
    }
}
