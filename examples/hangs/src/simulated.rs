//! Runs the programs under simulation: no test waits in real time.

#[path = "../tests/program/found.rs"]
mod found;

use std::time::Duration;

use blitz_io::sim::{Builder, Cause, Failure};

use self::found::{FOUND, KEEP_THE_THREAD, NOT_SIMULATED, OF_THREADS, hangs};
use crate::{PROGRAMS, Program};

/// The number of orders of each program. All of them hang in each.
const RUNS: u64 = 20;
/// A simulated time that no program needs to hang, and healthy ones do not need to end.
const LONG: Duration = Duration::from_secs(60);
/// A number of steps that no program needs to hang.
const STEPS: u64 = 20_000;

/// Returns why no order of the program's tasks ends well.
fn simulate(program: fn() -> crate::MainTask) -> Option<Box<Failure>> {
    let builder = Builder::new().seeds(RUNS).shrink(false).allow_leaks(true);
    builder.max_time(LONG).max_steps(STEPS).check(program).err()
}

/// Returns all programs of tasks that this simulation runs.
fn programs() -> impl Iterator<Item = (&'static str, fn() -> crate::MainTask)> {
    let elsewhere = |name: &str| {
        let of_threads = [OF_THREADS, KEEP_THE_THREAD].concat().contains(&name);
        of_threads || NOT_SIMULATED.iter().any(|(other, _)| *other == name)
    };
    PROGRAMS
        .iter()
        .filter_map(move |(name, program)| match program {
            Program::Tasks(program) if !elsewhere(name) => Some((*name, *program)),
            _ => None,
        })
}

/// Requires that no program is wrong.
fn none(wrong: impl Iterator<Item = String>) {
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The finding is the one of `blitz why`, or that no task is ready and none will be. In a simulation that is certain: nothing
/// else could wake one. So a hang for which `blitz why` has no finding is found, too, and a probable deadlock is a certain
/// one.
#[test]
fn each_hang_of_tasks_is_found() {
    let hanging = programs().filter(|(name, _)| hangs(name));
    none(hanging.filter_map(|(name, program)| {
        let Some(failure) = simulate(program) else {
            return Some(format!("{name} does not hang"));
        };
        let is_deadlock = *failure.cause() == Cause::Deadlock;
        let is_hang = is_deadlock || matches!(failure.cause(), Cause::Finding { .. });
        let mut known = FOUND.iter().filter(|(found, _)| *found == name);
        let is_found = known.all(|(_, kind)| {
            let is_same = failure.findings().iter().any(|it| it.kind == *kind);
            is_same || (is_deadlock && ["deadlock", "never-woken"].contains(kind))
        });
        (!is_hang || !is_found).then(|| format!("{name}: {failure}"))
    }));
}

/// That a client sends nothing is a deadlock, as the client is in the simulation, too. It is no finding.
#[test]
fn nothing_is_found_in_a_healthy_program() {
    let healthy = programs().filter(|(name, _)| !hangs(name));
    none(healthy.filter_map(|(name, program)| {
        let failure = simulate(program)?;
        let is_idle = matches!(
            failure.cause(),
            Cause::Deadlock | Cause::Time(_) | Cause::Steps(_)
        );
        (!is_idle || !failure.findings().is_empty()).then(|| format!("{name}: {failure}"))
    }));
}

/// A program of threads that no list has is one that no simulation runs.
#[test]
fn each_hang_is_simulated_or_has_a_reason() {
    for (name, program) in PROGRAMS.iter().filter(|(name, _)| hangs(name)) {
        let is_listed = NOT_SIMULATED.iter().any(|(other, _)| other == name);
        let of_threads = OF_THREADS.contains(name);
        let of_tasks = matches!(program, Program::Tasks(_));
        assert!(of_tasks || of_threads || is_listed, "{name}");
        assert!(!(of_threads && is_listed), "{name}");
    }
}
