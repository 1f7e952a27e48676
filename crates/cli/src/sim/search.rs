//! Many runs of one program, until one fails.

use std::io;
use std::time::{Duration, Instant};

use blitz_io_sim::{Exhaustive, Outcome, Plan, Program, Schedule, Simulator, Verdict};

use super::harness::ran_none;
use super::{Chosen, RunArguments};
use crate::interrupt;

/// What many runs have shown.
pub struct Searched {
    pub runs: u64,
    pub took: Duration,
    /// All orders were tried.
    pub complete: bool,
    /// There is one order: nothing in the first run was left to its seed.
    pub only_one: bool,
    /// The most threads of a run.
    pub threads: u32,
    /// It ended before it was done, because the search of another program has failed, or by Ctrl-C.
    pub stopped: bool,
    /// The most points of a run.
    pub points: u64,
    /// The last run that passed says, as a harness of tests does, that it has run none.
    pub no_test: bool,
    /// Report of the last run that passed: children that ran outside.
    pub report: String,
    /// The run that did not pass.
    pub failure: Option<(Plan, Outcome)>,
    /// The seed of that run fails alike without the runs before it.
    pub seed_repeats: bool,
}

/// Runs a program with many seeds, or in all orders. `progress` is called after each run, and returns
/// `false` to stop.
pub fn search(
    program: &Program,
    arguments: &RunArguments,
    mut progress: impl FnMut() -> bool,
) -> io::Result<Searched> {
    let start = Instant::now();
    let mut simulator = Simulator::start(program)?;
    let mut searched = Searched {
        runs: 0,
        took: Duration::ZERO,
        complete: false,
        only_one: false,
        threads: 0,
        stopped: false,
        points: 0,
        no_test: false,
        report: String::new(),
        failure: None,
        seed_repeats: true,
    };
    let mut exhaustive = match arguments.schedule {
        Chosen::Exhaustive(bound) | Chosen::Contended(bound) => {
            let mut search = Exhaustive::new(arguments.seed, bound);
            let plan = search.plan_mut();
            (plan.limit, plan.processors) = (arguments.limit, arguments.processors);
            plan.contended = matches!(arguments.schedule, Chosen::Contended(_));
            (plan.atomics, plan.no_timeouts) = (arguments.atomics, arguments.no_timeouts);
            Some(search)
        }
        Chosen::Seeds(_) => None,
    };
    while searched.runs < arguments.seeds {
        if is_late(searched.runs, arguments.time, start.elapsed()) {
            break;
        }
        if !progress() {
            searched.stopped = true;
            break;
        }
        let plan = match (&exhaustive, arguments.schedule) {
            (Some(search), _) => match search.plan() {
                Some(plan) => plan.clone(),
                None => {
                    searched.complete = true;
                    break;
                }
            },
            (None, Chosen::Seeds(schedule)) => {
                arguments.plan(schedule, arguments.seed.wrapping_add(searched.runs))
            }
            (None, _) => unreachable!("it has a search"),
        };
        let outcome = simulator.run(&plan);
        // Ctrl-C has ended the program, too: this run is no failure.
        let has_passed = |outcome: &Outcome| outcome.verdict == Verdict::Passed;
        let is_bad = !outcome.as_ref().is_ok_and(has_passed);
        if interrupt::is_pressed() || is_bad && interrupt::is_pressed_by_now() {
            searched.stopped = true;
            break;
        }
        let outcome = outcome?;
        searched.runs += 1;
        searched.points = searched.points.max(outcome.points);
        searched.threads = searched.threads.max(outcome.threads);
        searched.only_one = outcome.is_only_one(arguments.faults) && !arguments.allow_exec;
        if let Some(search) = &mut exhaustive {
            search.finish(&outcome);
            searched.complete = search.plan().is_none();
        }
        if is_bad {
            let (outcome, repeats) = of_seed_alone(program, &plan, outcome, searched.runs)?;
            searched.failure = Some((plan, outcome));
            searched.seed_repeats = repeats;
            break;
        }
        searched.no_test = ran_none(&outcome.output);
        // Its lines about crashes belong to this run only.
        let outside = outcome.report.lines();
        searched.report = outside
            .filter(|line| line.starts_with("outside: "))
            .map(|line| format!("{line}\n"))
            .collect();
        // The filter selects none with the next seed either.
        if searched.no_test {
            break;
        }
        if searched.only_one {
            searched.complete = true;
            break;
        }
    }
    searched.took = start.elapsed();
    Ok(searched)
}

/// Returns the outcome that the seed of this plan has without the runs before it, and `true`, if it ends in the same way. Loops
/// without a call that earlier runs have found are all that one run leaves to the next (`Simulator`), so few plans need this.
fn of_seed_alone(
    program: &Program,
    plan: &Plan,
    outcome: Outcome,
    runs: u64,
) -> io::Result<(Outcome, bool)> {
    if runs == 1 || outcome.loops.is_empty() || plan.schedule == Schedule::Script {
        return Ok((outcome, true));
    }
    let alone = Simulator::start(program)?.run(plan)?;
    Ok(if alone.verdict == outcome.verdict {
        (alone, true)
    } else {
        (outcome, false)
    })
}

/// Returns `true` if a search has used up its time. On a busy machine the start of the program alone may take that long, and
/// a test that has not run has not passed.
fn is_late(runs: u64, limit: Option<Duration>, elapsed: Duration) -> bool {
    runs > 0 && limit.is_some_and(|limit| elapsed >= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_runs_once_however_long_its_start_takes() {
        let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
        assert!(!is_late(0, Some(second), minute));
        assert!(is_late(1, Some(second), minute));
        assert!(!is_late(1, None, minute));
    }
}
