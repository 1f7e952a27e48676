//! Makes a failing schedule smaller.
//!
//! Choice 0 is always the harmless one, so a smaller schedule has fewer choices that are not 0. A smaller
//! schedule counts if the run ends with the same verdict, and then its own decisions are the new start.
//!
//! 1. Schedules with no, one and two preemptions and without faults are tried in the order of the
//!    exhaustive search, up to a number of runs.
//! 2. Chunks of choices are left out, from a half down to single ones and to pairs: a thread that is not
//!    preempted need not be resumed either. Then each choice is lowered.

use std::io;

use crate::exhaustive::Exhaustive;
use crate::outcome::Outcome;
use crate::plan::{Faults, Plan, Schedule};
use crate::shared::region::Scripted;
use crate::simulator::Simulator;

/// Runs of the search for each number of preemptions.
const SEARCHED: u64 = 1_000;

/// Shrinks the schedule of `outcome`, which came from `plan`. Returns the smallest plan that was found
/// and its outcome. Calls `progress` with the number of runs and of choices left after each success.
///
/// # Errors
///
/// Fails if the simulator does.
pub fn shrink(
    simulator: &mut Simulator,
    plan: &Plan,
    outcome: &Outcome,
    mut progress: impl FnMut(u64, usize),
) -> io::Result<(Plan, Outcome)> {
    let mut best = Plan {
        schedule: Schedule::Script,
        strict: false,
        script: outcome.script(),
        loops: outcome.loops.clone(),
        ..plan.clone()
    };
    let mut found = outcome.clone();
    let mut runs = 0;
    for preemptions in 0..=2 {
        let mut search = Exhaustive::new(plan.seed, Some(preemptions));
        let start = search.plan_mut();
        (start.limit, start.processors) = (plan.limit, plan.processors);
        (start.atomics, start.no_timeouts) = (plan.atomics, plan.no_timeouts);
        start.loops.clone_from(&best.loops);
        while let Some(plan) = search.plan().filter(|_| search.runs() < SEARCHED) {
            let (plan, outcome) = (plan.clone(), simulator.run(plan)?);
            runs += 1;
            search.finish(&outcome);
            let script = outcome.script();
            if outcome.verdict == found.verdict && weight(&script) < weight(&best.script) {
                best = Plan {
                    strict: false,
                    faults: Faults::NONE,
                    script,
                    loops: outcome.loops.clone(),
                    ..plan
                };
                found = outcome;
                progress(runs, best.script.len());
            }
        }
    }
    let mut attempt =
        |best: &mut Plan, found: &mut Outcome, script: Vec<Scripted>| -> io::Result<bool> {
            let plan = Plan {
                script,
                ..best.clone()
            };
            let outcome = simulator.run(&plan)?;
            runs += 1;
            let script = outcome.script();
            let better = outcome.verdict == found.verdict && weight(&script) < weight(&best.script);
            if better {
                best.script = script;
                best.loops.clone_from(&outcome.loops);
                *found = outcome;
                progress(runs, best.script.len());
            }
            Ok(better)
        };
    loop {
        let before = best.script.clone();
        let mut size = best.script.len();
        while size > 0 {
            let mut start = 0;
            while start < best.script.len() {
                let mut script = best.script.clone();
                script.drain(start..(start + size).min(script.len()));
                if !attempt(&mut best, &mut found, script)? {
                    start += size;
                }
            }
            size /= 2;
        }
        for distance in 1..4 {
            let mut at = 0;
            while at + distance < best.script.len() {
                let mut script = best.script.clone();
                script.remove(at + distance);
                script.remove(at);
                if !attempt(&mut best, &mut found, script)? {
                    at += 1;
                }
            }
        }
        let mut at = 0;
        while at < best.script.len() {
            let choice = best.script[at].choice;
            let mut is_lower = false;
            // Windows of instructions have thousands of choices.
            for lower in [choice / 2, choice.saturating_sub(1)] {
                if lower > 0 && lower < choice && !is_lower {
                    let mut script = best.script.clone();
                    script[at].choice = lower;
                    is_lower = attempt(&mut best, &mut found, script)?;
                }
            }
            at += usize::from(!is_lower);
        }
        if best.script == before {
            break;
        }
    }
    best.strict = true;
    Ok((best, found))
}

/// Returns the size of a schedule: its choices that are not 0, and their sum.
fn weight(script: &[Scripted]) -> (usize, usize) {
    (
        script.len(),
        script
            .iter()
            .map(|scripted| usize::from(scripted.choice))
            .sum(),
    )
}
