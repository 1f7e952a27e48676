//! Programs for the tests, and runs of them.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use blitz_io_sim::{Faults, Outcome, Plan, Program, Schedule, Simulator, shrink, write_library};
use tempfile::TempDir;

/// A program in C that was compiled for one test.
pub struct Compiled {
    folder: TempDir,
    pub program: Program,
}

impl Compiled {
    /// Keeps the program's files in memory. Its folder is its current one.
    pub fn with_memory_files(mut self) -> Compiled {
        self.program = self.program.memory_files();
        self.program.folder = Some(self.folder.path().to_owned());
        self
    }

    /// Returns the folder of the program.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Compiles a program.
pub fn c(source: &str) -> Compiled {
    let compiled = source_of(source);
    cc(&["-o", "program", "program.c"], compiled.folder());
    compiled
}

/// Compiles a program whose atomic operations can be points. The linker must not know of a sanitizer.
pub fn c_with_atomics(source: &str) -> Compiled {
    let compiled = source_of(source);
    let library = write_library(compiled.folder()).unwrap();
    cc(&["-fsanitize=thread", "-c", "program.c"], compiled.folder());
    let library = library.to_str().unwrap();
    cc(&["-o", "program", "program.o", library], compiled.folder());
    compiled
}

fn source_of(program: &str) -> Compiled {
    let folder = tempfile::tempdir().unwrap();
    let head = "#define _GNU_SOURCE\n#include <assert.h>\n#include <errno.h>\n#include <pthread.h>\n#include <sched.h>\n\
                #include <fcntl.h>\n#include <semaphore.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <time.h>\n\
                #include <unistd.h>\n";
    fs::write(folder.path().join("program.c"), format!("{head}{program}")).unwrap();
    Compiled {
        program: Program::new(folder.path().join("program"), [""; 0]),
        folder,
    }
}

fn cc(arguments: &[&str], folder: &Path) {
    // A sanitizer has a compiler of its own, with options.
    let compiler = env::var(COMPILER).unwrap_or_else(|_| "cc".to_owned());
    let mut words = compiler.split_whitespace();
    let status = Command::new(words.next().unwrap())
        .args(words)
        .args(["-O1", "-pthread"])
        .args(arguments)
        .current_dir(folder)
        .status()
        .unwrap();
    assert!(status.success());
}

/// The variable with the compiler of a sanitizer.
const COMPILER: &str = "BLITZ_SIM_CC";
/// The variable that is set in programs under simulation.
const VARIABLE: &str = "BLITZ_SIM_TEST";

/// Returns `true` in a program under simulation.
pub fn is_simulated() -> bool {
    env::var_os(VARIABLE).is_some()
}

/// Returns a test of this file's program as a program.
pub fn test(name: &str) -> Program {
    let arguments = ["--exact", name, "--test-threads=1", "--nocapture"];
    let mut program = Program::new(env::current_exe().unwrap(), arguments);
    program.variables.push((VARIABLE.into(), "1".into()));
    // A backtrace of a panic takes longer than all the rest.
    program
        .variables
        .push(("RUST_BACKTRACE".into(), "0".into()));
    program
}

/// Returns `true` if programs are compiled for another sanitizer: no program can have two.
pub fn is_sanitized() -> bool {
    env::var_os(COMPILER).is_some()
}

/// Runs one seed.
pub fn run(simulator: &mut Simulator, schedule: Schedule, seed: u64) -> Outcome {
    simulator.run(&Plan::new(schedule, seed)).unwrap()
}

/// Runs seeds until one fails.
pub fn find(simulator: &mut Simulator, faults: Faults, seeds: u64) -> Option<(Plan, Outcome)> {
    (0..seeds).find_map(|seed| {
        let mut plan = Plan::new(Schedule::Portfolio, seed);
        plan.faults = faults.of_seed(seed);
        let outcome = simulator.run(&plan).unwrap();
        assert!(
            !outcome.verdict.is_incomplete(),
            "{}: {}\n{}",
            outcome.verdict,
            outcome.report,
            text(&outcome)
        );
        outcome.verdict.is_failure().then_some((plan, outcome))
    })
}

/// Runs seeds until one fails with a message, shrinks it, and replays it in another start of the program.
pub fn is_found_and_shrinks(program: &Program, faults: Faults, message: &str) {
    let mut simulator = Simulator::start(program).unwrap();
    let (plan, outcome) = find(&mut simulator, faults, 3_000).expect("it is found");
    let told = format!("{}{}", outcome.report, text(&outcome));
    assert!(told.contains(message), "{told}");
    let (small, smallest) = shrink(&mut simulator, &plan, &outcome, |_, _| true).unwrap();
    assert!(small.script.len() <= 30, "{} choices", small.script.len());
    let mut simulator = Simulator::start(program).unwrap();
    for _ in 0..100 {
        let again = simulator.run(&small).unwrap();
        assert_eq!(
            (again.verdict, again.hash),
            (smallest.verdict, smallest.hash)
        );
    }
}

/// Returns what the program printed.
pub fn text(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.output).into_owned()
}

/// Runs seeds twice, and requires that each passes with the same hash.
pub fn passes_twice(program: &Program, faults: Faults, seeds: u64) {
    let mut simulator = Simulator::start(program).unwrap();
    for seed in 0..seeds {
        let mut plan = Plan::new(Schedule::Portfolio, seed);
        plan.faults = faults.of_seed(seed);
        let first = simulator.run(&plan).unwrap();
        plan.loops.clone_from(&first.loops);
        let second = simulator.run(&plan).unwrap();
        let told = format!(
            "seed {seed}: {}\n{}\n{}",
            first.verdict,
            first.report,
            text(&first)
        );
        assert_eq!(first.verdict, blitz_io_sim::Verdict::Passed, "{told}");
        assert_eq!(
            (first.hash, first.points),
            (second.hash, second.points),
            "{told}"
        );
    }
}
