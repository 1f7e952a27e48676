//! `blitz sim check`: each seed twice.

use std::collections::BTreeMap;

use blitz_io_sim::{Outcome, Simulator, Verdict};

use super::choices::counted;
use super::targets::Test;
use super::{Chosen, RunArguments, exit_of, failed};
use crate::exit::Exit;
use crate::output;

/// Runs each seed of each target twice.
pub fn check(arguments: &RunArguments) -> Result<Exit, Exit> {
    let Chosen::Seeds(schedule) = arguments.schedule else {
        return Err(Exit::usage(
            "An exhaustive search has no seeds.",
            "Give another --schedule.",
        ));
    };
    let mut targets = arguments.targets()?;
    targets.retain(|target| target.test != Some(Test::IsIgnored));
    let (mut pairs, mut differ) = (0, 0);
    let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
    let mut incomplete = None;
    for target in &targets {
        let mut first = Simulator::start(&target.program).map_err(failed)?;
        let mut second = Simulator::start(&target.program).map_err(failed)?;
        for at in 0..arguments.seeds {
            let seed = arguments.seed.wrapping_add(at);
            let plan = arguments.plan(schedule, seed);
            let one = first.run(&plan).map_err(failed)?;
            // The loops without a call are a part of the plan.
            let mut again = plan.clone();
            again.loops.clone_from(&one.loops);
            let two = second.run(&again).map_err(failed)?;
            pairs += 1;
            if one.verdict.is_incomplete() {
                incomplete = incomplete.or(Some((one.verdict, target.name.clone())));
            }
            if one.verdict != Verdict::Passed {
                *verdicts.entry(one.verdict.to_string()).or_default() += 1;
            }
            let equal =
                one.hash == two.hash && one.verdict == two.verdict && one.output == two.output;
            if !equal {
                differ += 1;
                output::print(&format!(
                    "{}: seed {seed}: {}\n",
                    target.name,
                    difference(&one, &two)
                ))?;
                break;
            }
        }
    }
    output::print(&format!(
        "{} ran twice; {differ} of {} differed{}\n",
        counted(pairs, "seed"),
        counted(targets.len(), "program"),
        not_passed(&verdicts, pairs)
    ))?;
    Ok(match incomplete {
        _ if differ > 0 => Exit::Found,
        // What follows such a run was not compared.
        Some((verdict, name)) => exit_of(verdict, &name),
        None => Exit::Done,
    })
}

/// Says how runs have ended that did not pass: runs that fail alike are equal, and so is one that cannot begin.
fn not_passed(verdicts: &BTreeMap<String, usize>, pairs: usize) -> String {
    let mut all = verdicts.iter();
    match (all.next(), all.next()) {
        (None, _) => String::new(),
        (Some((verdict, count)), None) if *count == pairs => {
            format!("; no run passed: each {verdict}, which `blitz sim run` reports")
        }
        _ => {
            let all = verdicts.iter();
            let all: Vec<String> = all
                .map(|(verdict, count)| format!("{count} {verdict}"))
                .collect();
            format!(
                "; not passed, which `blitz sim run` reports: {}",
                all.join(", ")
            )
        }
    }
}

/// Returns the first difference of two runs.
fn difference(one: &Outcome, two: &Outcome) -> String {
    if one.verdict != two.verdict {
        return format!("{} and {}", one.verdict, two.verdict);
    }
    let decisions = one.decisions.iter().zip(&two.decisions);
    let equal = decisions.take_while(|(one, two)| one == two).count();
    if equal < one.decisions.len().max(two.decisions.len()) {
        return format!("the runs differ from decision {equal} on");
    }
    if one.hash != two.hash {
        return format!(
            "the same {}, but other events: {} and {}",
            counted(equal, "decision"),
            counted(one.points, "call"),
            counted(two.points, "call")
        );
    }
    "the same events, but other output".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_fail_alike_are_told() {
        let of = |verdicts: &[(&str, usize)]| {
            let verdicts = verdicts.iter();
            not_passed(
                &verdicts
                    .map(|(verdict, count)| ((*verdict).to_owned(), *count))
                    .collect(),
                9,
            )
        };
        assert_eq!(of(&[]), "");
        assert!(of(&[("failed with status 1", 9)]).contains("each failed with status 1,"));
        assert!(of(&[("deadlock", 2)]).ends_with(": 2 deadlock"));
        assert!(of(&[("deadlock", 2), ("livelock", 7)]).ends_with(": 2 deadlock, 7 livelock"));
    }
}
