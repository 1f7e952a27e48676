//! `blitz sim check`: each seed twice.

use blitz_io_sim::{Outcome, Simulator};

use super::{Chosen, RunArguments, failed};
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
    let targets = arguments.targets()?;
    let (mut pairs, mut differ) = (0, 0);
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
        "{pairs} seeds ran twice; {differ} of {} programs differed\n",
        targets.len()
    ))?;
    Ok(if differ == 0 { Exit::Done } else { Exit::Found })
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
            "the same {equal} decisions, but other events: {} and {} calls",
            one.points, two.points
        );
    }
    "the same events, but other output".to_owned()
}
