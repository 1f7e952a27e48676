//! The text about a history that is not linearizable: how far the longest order goes, and the operations.

use std::fmt::Write as _;

use super::linearize::Longest;
use super::operations::Operation;
use super::recorded::{By, Event, Recorded};
use crate::sim::events::{name_in_run, of_moment};
use crate::sim::notes::{Notes, OfHistory};
use crate::sim::system;

/// The largest number of operations in the sentence.
const NAMED: usize = 12;

/// The largest number of operations that are listed.
const LISTED: usize = 20;

/// Returns the text of the error about the operations of one key, of so many. In a simulation, its report lists them.
pub(super) fn describe<O: Operation>(
    operations: &[&Recorded<O>],
    longest: &Longest,
    keys: usize,
) -> String {
    let mut text = sentence(operations, longest);
    let ranked = ranked(operations, longest);
    let listed = list(operations, &ranked);
    let of_keys = if keys > 1 {
        format!(" on one of {keys} keys")
    } else {
        String::new()
    };
    let keep = |notes: &mut Notes| {
        notes.history = Some(OfHistory {
            operations: format!("\nthe operations of the history{of_keys}\n{listed}"),
            tasks: tasks(operations, &ranked),
        });
    };
    let is_simulated = system::with(|run| {
        run.with_notes(|notes, _| keep(notes));
        Some(())
    });
    if is_simulated.is_none() {
        text.push('\n');
        text += listed.trim_end();
    }
    text
}

/// Says how far the longest order goes, and why it does not go on.
fn sentence<O: Operation>(operations: &[&Recorded<O>], longest: &Longest) -> String {
    let mut text = String::from("the history is not linearizable");
    let mut state = O::State::default();
    for &index in &longest.order {
        operations[index].operation.apply(&mut state);
    }
    let first = longest.order.len().saturating_sub(NAMED);
    let order = longest.order[first..].iter();
    let order: Vec<String> = order.map(|&index| named(operations[index])).collect();
    let more = if first == 0 { "" } else { "…, " };
    if order.is_empty() {
        text += ": at the beginning,";
    } else {
        _ = write!(text, ": after {more}{},", order.join(", "));
    }
    for (number, &index) in longest.next.iter().take(NAMED).enumerate() {
        let recorded = operations[index];
        let would = recorded.operation.apply(&mut state.clone());
        let and = if number == 0 { "" } else { ", and" };
        let operation = &recorded.operation;
        _ = match &recorded.ended {
            Some((_, output)) => {
                write!(
                    text,
                    "{and} {operation:?} returned {output:?} and not {would:?}"
                )
            }
            None => write!(text, "{and} {operation:?} is pending"),
        };
    }
    if longest.next.len() > NAMED {
        text += ", …";
    }
    text
}

/// Returns an operation of the order.
fn named<O: Operation>(recorded: &Recorded<O>) -> String {
    let pending = if recorded.ended.is_some() {
        ""
    } else {
        " (pending)"
    };
    format!("{:?}{pending}", recorded.operation)
}

/// Returns the operations that had begun where the order does not go on. First come those that could be next, and then
/// the others from the last one back.
fn ranked<O: Operation>(operations: &[&Recorded<O>], longest: &Longest) -> Vec<usize> {
    let mut order = longest.order.clone();
    // The longest order may have an operation early that has ended late.
    order.sort_by_key(|&index| ended(operations[index]));
    longest
        .next
        .iter()
        .chain(order.iter().rev())
        .copied()
        .collect()
}

/// Returns the number of the end of an operation, which is the last one of all if it is pending.
fn ended<O: Operation>(recorded: &Recorded<O>) -> u64 {
    let end = recorded.ended.as_ref();
    end.map_or(u64::MAX, |(end, _)| end.number)
}

/// Returns the first of these operations in lines, in the order in which they have begun.
fn list<O: Operation>(operations: &[&Recorded<O>], ranked: &[usize]) -> String {
    let mut listed = ranked[..ranked.len().min(LISTED)].to_vec();
    listed.sort_by_key(|&index| operations[index].began.number);
    let mut text = String::new();
    for &index in &listed {
        _ = writeln!(text, "  {}", line(operations[index]));
    }
    if let more @ 1.. = operations.len() - listed.len() {
        _ = writeln!(text, "  and {more} more");
    }
    text
}

/// Says when an operation has begun and ended, which task has made it, and with which result.
fn line<O: Operation>(recorded: &Recorded<O>) -> String {
    let Recorded { operation, by, .. } = recorded;
    let (began, by) = (moment(recorded.began), name(*by));
    match &recorded.ended {
        Some((end, output)) => {
            let end = moment(*end);
            let until = if end == began {
                String::new()
            } else {
                format!(" to {end}")
            };
            format!("{began}{until}: {by}: {operation:?} returns {output:?}")
        }
        None => format!("{began}, pending: {by}: {operation:?}"),
    }
}

fn moment(of: Event) -> String {
    match of.moment {
        Some(moment) => of_moment(moment),
        None => format!("event {}", of.number),
    }
}

fn name(by: By) -> String {
    match by {
        By::Task(task) => {
            let known = system::with(|run| run.name_of_task(task));
            known.unwrap_or_else(|| name_in_run(task, None, None))
        }
        By::Thread(id) => format!("thread {}", id.get()),
    }
}

/// Returns the tasks of these operations. A task with several operations is in the result several times.
fn tasks<O: Operation>(operations: &[&Recorded<O>], ranked: &[usize]) -> Vec<u64> {
    let all = ranked.iter().map(|&index| operations[index].by);
    all.filter_map(|by| match by {
        By::Task(task) => Some(task),
        By::Thread(_) => None,
    })
    .collect()
}
