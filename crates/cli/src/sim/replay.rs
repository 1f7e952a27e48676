//! `blitz sim replay` and `blitz sim shrink`.

use std::path::Path;
use std::time::Instant;

use blitz_io_sim::{Outcome, Simulator, Trace, Verdict};
use indicatif::{ProgressBar, ProgressStyle};

use super::choices::{self, counted};
use super::run::line_of_terminal;
use super::{FileArguments, ShrinkArguments, exit_of, failed, gdb, picture, report};
use crate::exit::Exit;
use crate::output;

fn read(path: &Path) -> Result<Trace, Exit> {
    let trace = Trace::read(path).map_err(|error| {
        Exit::unreadable(path, error).with_advice("Give a file that `blitz sim run` has written.")
    })?;
    let program = &trace.program;
    let hash = program.hash().map_err(|error| {
        Exit::unreadable(&program.path, error).with_advice(format_args!(
            "{} is the run of this program: build it again.",
            path.display()
        ))
    })?;
    if hash != trace.program_hash {
        output::tell(format_args!(
            "{} has changed since: the recorded choices may not fit\n",
            program.path.display()
        ));
    }
    Ok(trace)
}

/// Returns the difference between a run and its record.
fn difference(trace: &Trace, outcome: &Outcome) -> Option<String> {
    if outcome.hash == trace.hash && outcome.verdict == trace.verdict {
        return None;
    }
    let pairs = trace.checkpoints.iter().zip(&outcome.checkpoints);
    let equal = pairs
        .take_while(|(recorded, here)| recorded == here)
        .count();
    Some(format!(
        "this run is not the recorded one: {} then, {} now; they are equal up to decision {}",
        trace.verdict,
        outcome.verdict,
        equal.saturating_sub(1) * 1024
    ))
}

/// Repeats a run.
pub fn replay(arguments: &FileArguments) -> Result<Exit, Exit> {
    let trace = read(&arguments.file)?;
    let mut simulator = Simulator::start(&trace.program).map_err(failed)?;
    if arguments.gdb {
        return gdb::debug(&mut simulator, &trace, arguments.until);
    }
    if let Some(step) = arguments.until {
        let outcome = simulator.run_until(&trace.plan, step).map_err(failed)?;
        return stopped(&trace, &outcome, step, arguments.all);
    }
    if let Some(path) = &arguments.html {
        let outcome = picture::write(&mut simulator, &trace, path)?;
        if let Some(difference) = difference(&trace, &outcome) {
            output::tell(format_args!("{difference}\n"));
            return Ok(Exit::Found);
        }
        return Ok(Exit::Done);
    }
    for time in 1..=arguments.times {
        let outcome = simulator.run(&trace.plan).map_err(failed)?;
        if time == 1 {
            output::print(&report::details(&trace.program, &outcome, arguments.all))?;
        }
        if let Some(difference) = difference(&trace, &outcome) {
            output::tell(format_args!("{difference}\n"));
            return Ok(Exit::Found);
        }
    }
    output::print(&why(&mut simulator, &trace)?)?;
    let times = match arguments.times {
        1 => String::new(),
        times => format!(", {times} times"),
    };
    output::print(&format!(
        "{} again{times}; hash {:016x}\n",
        trace.verdict, trace.hash
    ))?;
    Ok(exit_of(trace.verdict, "the run"))
}

/// Says which choices make a run fail, if they are few.
fn why(simulator: &mut Simulator, trace: &Trace) -> Result<String, Exit> {
    let (_, recording) = simulator.record(&trace.plan).map_err(failed)?;
    let explained = choices::explain(simulator, trace, &recording)?;
    Ok(choices::list(trace, &explained))
}

/// Prints where a run has stopped.
fn stopped(trace: &Trace, outcome: &Outcome, step: u64, all: bool) -> Result<Exit, Exit> {
    if outcome.verdict != Verdict::Stopped {
        return Err(Exit::Failed(format!(
            "the run ended before step {step}: {} after {}",
            outcome.verdict,
            counted(outcome.points, "call")
        )));
    }
    output::print(&report::details(&trace.program, outcome, all))?;
    Ok(Exit::Done)
}

/// Returns the line on which a search shows how far it is, on a terminal.
fn spinner() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, line_of_terminal());
    let style = ProgressStyle::with_template("{spinner} {wide_msg}");
    bar.set_style(style.expect("the template is valid"));
    bar
}

/// Finds a smaller schedule with the same verdict.
pub fn shrink(arguments: &ShrinkArguments) -> Result<Exit, Exit> {
    let trace = read(&arguments.file)?;
    let mut simulator = Simulator::start(&trace.program).map_err(failed)?;
    let outcome = simulator.run(&trace.plan).map_err(failed)?;
    if let Some(difference) = difference(&trace, &outcome) {
        return Err(Exit::Failed(difference));
    }
    let before = trace.plan.script.len();
    let (start, bar) = (Instant::now(), spinner());
    let mut is_late = false;
    let (plan, outcome) =
        blitz_io_sim::shrink(&mut simulator, &trace.plan, &outcome, |runs, left| {
            bar.set_message(format!(
                "{}: {} left of {before}",
                counted(runs, "run"),
                counted(left, "choice")
            ));
            is_late = start.elapsed() >= arguments.time;
            !is_late
        })
        .map_err(failed)?;
    bar.finish_and_clear();
    if is_late {
        output::tell("the time is up: with more of it (--time), fewer choices may be left\n");
    }
    let smaller = Trace::new(&trace.program, &plan, &outcome).map_err(failed)?;
    let path = arguments.output.as_ref().unwrap_or(&arguments.file);
    smaller
        .write(path)
        .map_err(|error| Exit::unwritable(path, error))?;
    output::print(&report::details(&smaller.program, &outcome, false))?;
    output::print(&why(&mut simulator, &smaller)?)?;
    let left = plan.script.len();
    output::print(&format!(
        "{}: {} of {before} {} left, {}\n",
        path.display(),
        counted(left, "choice"),
        if left == 1 { "is" } else { "are" },
        counted(smaller.encode().len(), "byte")
    ))?;
    Ok(Exit::Done)
}
