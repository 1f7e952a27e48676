//! The choices that make a run fail, in words.
//!
//! Choice 0 of a decision is the harmless one, and a run that was shrunk has few others. The record of the events has the
//! result of each, and the thread that would run otherwise. The lines of source are those of repeated runs, which stop at the
//! calls of these choices.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

use blitz_io_sim::{Choice, Event, Happening, Plan, Recording, Simulator, Trace, Verdict};

use super::failed;
use super::stacks::{Names, Report};
use super::symbols;
use crate::exit::Exit;

/// Choices that are explained. A run that was not shrunk has more, most of which do not matter.
const MOST: usize = 16;
/// Lines of a stack that are shown.
const LINES: usize = 2;
/// The simulator's name for the place between two calls at which a thread was interrupted.
pub const BETWEEN: &str = "no call";

/// Said of a failure without choices.
pub const NONE: &str = "it fails without any choice: also if each thread runs until it has to wait";

/// A choice, in words.
#[derive(Debug, PartialEq, Eq)]
pub struct Explained {
    /// Number of decisions before it.
    pub decision: u32,
    /// Number of the step.
    pub step: u64,
    /// The result of the decision, and the usual one, in one line.
    pub what: String,
    /// Lines of source of the running thread, then of the chosen thread, and a mark of the last choice that matters.
    pub places: Vec<String>,
}

/// A choice and the events that it concerns.
struct Found<'a> {
    decision: u32,
    choice: &'a Choice,
    event: &'a Event,
    /// The call that the thread is about to make, or has made. `None`: it has made none.
    call: Option<&'a str>,
    /// The step at which both threads can be seen, if it is one.
    seen_at: u64,
    /// The threads whose lines are shown.
    threads: Vec<u32>,
}

/// Explains the choices of a run. An empty list: there is none, or there are too many.
pub fn explain(
    simulator: &mut Simulator,
    trace: &Trace,
    recording: &Recording,
) -> Result<Vec<Explained>, Exit> {
    let found = find(&recording.events);
    if found.len() > MOST || recording.is_cut_off {
        return Ok(vec![]);
    }
    let mut reports = BTreeMap::new();
    for step in found.iter().map(|found| found.seen_at) {
        if step > 0 && !reports.contains_key(&step) {
            let outcome = simulator.run_until(&trace.plan, step).map_err(failed)?;
            reports.insert(step, Report::parse(&outcome.report));
        }
    }
    let frames = symbols::look_up(reports.values().flat_map(Report::addresses));
    let names = Names::new(&trace.program);
    let last = last_that_matters(simulator, trace)?;
    let threads = threads(&recording.events);
    let name = |thread: u32| match threads.get(&thread) {
        Some(name) => format!("thread {thread} \"{}\"", names.thread(name)),
        None => format!("thread {thread}"),
    };
    let explained = found.iter().map(|found| {
        let places = found.threads.iter().flat_map(|thread| {
            let report = reports.get(&found.seen_at);
            let stack = report.and_then(|report| names.stack_of(report, *thread, &frames));
            let lines = stack.unwrap_or_default().into_iter().take(LINES);
            lines.map(move |line| format!("thread {thread}: {line}"))
        });
        let mark = last.iter().filter(|(decision, _)| *decision == found.decision);
        let mark = mark.map(|(_, verdict)| {
            format!("the last choice that matters: with those before it alone, the run ends with: {verdict}")
        });
        Explained {
            decision: found.decision,
            step: found.event.step,
            what: what(found, name),
            places: places.chain(mark).collect(),
        }
    });
    Ok(explained.collect())
}

/// Returns the last choice without which the run does not fail so, and how it ends with the choices before that alone. A run that
/// was not shrunk may have other choices after it.
fn last_that_matters(
    simulator: &mut Simulator,
    trace: &Trace,
) -> Result<Option<(u32, Verdict)>, Exit> {
    if !trace.verdict.is_failure() {
        return Ok(None);
    }
    for (count, choice) in trace.plan.script.iter().enumerate().rev() {
        let before = Plan {
            script: trace.plan.script[..count].to_vec(),
            strict: false,
            ..trace.plan.clone()
        };
        let verdict = simulator.run(&before).map_err(failed)?.verdict;
        if verdict != trace.verdict {
            return Ok(Some((choice.index, verdict)));
        }
    }
    Ok(None)
}

/// Returns the names that threads have got.
pub fn threads(events: &[Event]) -> BTreeMap<u32, &str> {
    let names = events.iter().filter_map(|event| match &event.what {
        Happening::Name(name) => Some((event.thread, name.as_str())),
        _ => None,
    });
    names.collect()
}

fn find(events: &[Event]) -> Vec<Found<'_>> {
    let mut found = vec![];
    for (at, event) in events.iter().enumerate() {
        let Happening::Choice { decision, choice } = &event.what else {
            continue;
        };
        let mut before = events[..at].iter().rev();
        let call = before.find_map(|before| match &before.what {
            Happening::Call { name, .. } if before.thread == event.thread => Some(name.as_str()),
            _ => None,
        });
        let mut after = events[at..].iter();
        let interruption = after.find_map(|after| match &after.what {
            Happening::Call { name, .. } => Some((name.as_str() == BETWEEN).then_some(after.step)),
            _ => None,
        });
        let (seen_at, threads) = match choice {
            // Until its next step, no other thread runs.
            Choice::Interrupts { .. } => (interruption.flatten().unwrap_or(0), vec![event.thread]),
            Choice::Runs { thread, .. } => (event.step, vec![event.thread, *thread]),
            Choice::Wakes { thread, .. } => (event.step, vec![event.thread, *thread]),
            _ => (event.step, vec![event.thread]),
        };
        found.push(Found {
            decision: *decision,
            choice,
            event,
            call,
            seen_at,
            threads,
        });
    }
    found
}

/// Returns the result of a decision, and the usual one, in words.
fn what(found: &Found<'_>, name: impl Fn(u32) -> String) -> String {
    let me = name(found.event.thread);
    let call = found.call.unwrap_or("its first call");
    match found.choice {
        Choice::Runs { thread, instead_of } if *instead_of == found.event.thread => {
            format!(
                "{me} loses the processor before {call}, and {} runs",
                name(*thread)
            )
        }
        Choice::Runs { thread, instead_of } => {
            let (next, usual) = (name(*thread), name(*instead_of));
            match call {
                BETWEEN => format!("after that, {next} runs, and not {usual}"),
                _ => format!("{me} cannot go on in {call}, and {next} runs, not {usual}"),
            }
        }
        Choice::Wakes { thread, instead_of } => {
            let (woken, longest) = (name(*thread), name(*instead_of));
            format!("{me} wakes {woken} by {call}, although {longest} has waited longer")
        }
        Choice::Interrupts { after } => {
            let instructions = counted(*after, "instruction");
            match found.call {
                Some(BETWEEN) => {
                    format!("{me} loses the processor again, {instructions} after it has gone on")
                }
                Some(call) => format!("{me} loses the processor {instructions} after {call}"),
                None => format!("{me} loses the processor {instructions} after its start"),
            }
        }
        Choice::Fault { family, degree: 1 } => format!("a fault: {family}, in {call} of {me}"),
        Choice::Fault { family, degree } => {
            format!("a fault: {family}, of degree {degree}, in {call} of {me}")
        }
        _ => format!("another choice, in {call} of {me}"),
    }
}

/// Returns the choices of a run as a list.
pub fn list(trace: &Trace, explained: &[Explained]) -> String {
    let mut text = String::new();
    let is_failure = trace.verdict.is_failure();
    if trace.plan.script.is_empty() && is_failure {
        _ = writeln!(text, "{NONE}");
    }
    if explained.is_empty() {
        return text;
    }
    let count = counted(explained.len(), "choice");
    let has = if is_failure {
        "fails because of"
    } else {
        "has"
    };
    _ = writeln!(text, "it {has} {count}:");
    for (number, choice) in (1..).zip(explained) {
        _ = writeln!(text, "  {number}. step {}: {}", choice.step, choice.what);
        for place in &choice.places {
            _ = writeln!(text, "     {place}");
        }
    }
    text
}

/// Returns a number of things in words.
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, what: &str) -> String {
    let plural = if count == N::from(1) { "" } else { "s" };
    format!("{count} {what}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(step: u64, thread: u32, what: Happening) -> Event {
        Event {
            step,
            nanoseconds: 0,
            thread,
            what,
        }
    }

    fn call(name: &str) -> Happening {
        Happening::Call {
            name: name.to_owned(),
            object: None,
        }
    }

    fn chosen(decision: u32, choice: Choice) -> Happening {
        Happening::Choice { decision, choice }
    }

    #[test]
    fn a_choice_is_told_with_what_ran_instead() {
        let runs = |thread, instead_of| Choice::Runs { thread, instead_of };
        let fault = |degree| Choice::Fault {
            family: "short".to_owned(),
            degree,
        };
        let wakes = Choice::Wakes {
            thread: 3,
            instead_of: 2,
        };
        let events = [
            event(0, 1, chosen(0, Choice::Interrupts { after: 1 })),
            event(1, 1, call("read")),
            event(1, 1, chosen(3, fault(1))),
            event(1, 1, chosen(4, fault(2))),
            event(1, 1, chosen(5, runs(2, 1))),
            event(2, 2, call("pthread_join")),
            event(2, 2, chosen(6, runs(3, 1))),
            event(2, 3, chosen(7, Choice::Interrupts { after: 9 })),
            event(3, 3, call(BETWEEN)),
            event(3, 3, chosen(8, runs(2, 1))),
            event(3, 3, chosen(9, Choice::Interrupts { after: 3 })),
            event(4, 1, call("pthread_cond_signal")),
            event(4, 1, chosen(10, wakes)),
        ];
        let found = find(&events);
        let told = found.iter().map(|found| what(found, |id| format!("T{id}")));
        assert_eq!(
            told.collect::<Vec<_>>(),
            [
                "T1 loses the processor 1 instruction after its start",
                "a fault: short, in read of T1",
                "a fault: short, of degree 2, in read of T1",
                "T1 loses the processor before read, and T2 runs",
                "T2 cannot go on in pthread_join, and T3 runs, not T1",
                "T3 loses the processor 9 instructions after its start",
                "after that, T2 runs, and not T1",
                "T3 loses the processor again, 3 instructions after it has gone on",
                "T1 wakes T3 by pthread_cond_signal, although T2 has waited longer",
            ]
        );
        // A thread that was interrupted between two calls is seen there, and nowhere if it came to a call first.
        let seen: Vec<u64> = found.iter().map(|found| found.seen_at).collect();
        assert_eq!(seen, [0, 1, 1, 1, 2, 3, 3, 0, 4]);
    }

    #[test]
    fn one_thing_is_singular() {
        assert_eq!(
            (counted(1_usize, "choice"), counted(2_u64, "choice")),
            ("1 choice".into(), "2 choices".into())
        );
        assert_eq!(counted(0_u64, "choice"), "0 choices");
    }
}
