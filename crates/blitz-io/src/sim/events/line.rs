//! `Line`: an event and its sentence.

use std::fmt::Write as _;
use std::time::Duration;

use blitz_io_inspect::trace::{SPAWNED, Said, Words};
use blitz_io_inspect::{Snapshot, Waiter, of_waiter};
use blitz_io_observe::counted;

use super::steps::Step;
use crate::note::NOTE;
use crate::sim::notes::{Happened, Moment};
use crate::sim::places::is_internal;

/// The number of the test's own task in a run.
pub(in crate::sim) const TEST: u64 = 1;

/// The name of that task.
pub(in crate::sim) const THE_TEST: &str = "the test";

/// The begin of the sentence about a panic.
pub(in crate::sim) const PANICS: &str = "panics: ";

/// A line of the events.
#[derive(Clone, Default)]
pub(in crate::sim) struct Line {
    /// The task to which it happened; `None` for a host or the network.
    pub(in crate::sim) task: Option<u64>,
    pub(super) moment: Option<Moment>,
    /// The child to which it happened; `None` for the task itself.
    pub(in crate::sim) child: Option<String>,
    pub(in crate::sim) text: String,
    /// The number of the object that the task has used.
    pub(super) object: Option<u64>,
    /// The program has said it, by [`note`](super::note).
    pub(super) is_note: bool,
    /// Number of events of the task that it stands for.
    pub(super) events: usize,
    /// Number of lines before it that it says to be repeated.
    pub(super) repeats: usize,
    /// It is the end of the task.
    pub(super) is_end: bool,
    /// The hosts that a fault concerns which begins here. `None` if it is an event of a task.
    pub(in crate::sim) fault: Option<Vec<u32>>,
}

impl Line {
    /// Returns the line of an event, which has this text.
    pub(super) fn of(step: Option<&Step>, said: &Said, text: &str) -> Self {
        let text = match &said.child {
            Some(child) => format!("{child} {text}"),
            None => text.to_owned(),
        };
        Self {
            child: said.child.clone(),
            object: said.object,
            is_note: said.text.starts_with(NOTE),
            ..Self::new(Some(said.task), step.map(|step| step.moment), &text)
        }
    }

    pub(super) fn new(task: Option<u64>, moment: Option<Moment>, text: &str) -> Self {
        Self {
            task,
            moment,
            text: text.to_owned(),
            events: 1,
            ..Self::default()
        }
    }

    /// Returns the line of an event of the hosts or the network.
    pub(super) fn of_hosts(event: &&Happened) -> Self {
        Self {
            events: 0,
            fault: Some(event.hosts.clone()).filter(|hosts| !hosts.is_empty()),
            ..Self::new(None, Some(event.moment), &event.text)
        }
    }

    /// Returns the line that says how many more times as many lines come as the period has. `last`: the last one of them.
    pub(super) fn of_repetitions(last: &Self, period: usize, times: usize) -> Self {
        let until = last.moment.map_or_else(String::new, |moment| {
            format!(", until step {}", moment.step)
        });
        let more = counted(times as u64, "time").replacen(' ', " more ", 1);
        Self {
            events: period * times,
            repeats: period,
            ..Self::new(last.task, None, &format!("… the same {more}{until}"))
        }
    }

    /// Returns the message and the location of a panic.
    pub(super) fn panic(&self) -> Option<&str> {
        let text = match &self.child {
            Some(child) => self.text.strip_prefix(child.as_str())?.trim_start(),
            None => &self.text,
        };
        text.strip_prefix(PANICS)
    }

    /// Returns the location at its end, if it has one.
    pub(super) fn place(&self) -> Option<&str> {
        let (_, place) = self.text.rsplit_once(", at ")?;
        let is_place = place.contains(':') && !place.contains(char::is_whitespace);
        is_place.then_some(place)
    }

    /// Returns its moment and the name of its task, each of which is empty if there is none.
    pub(super) fn moment_and_task(&self, snapshot: &Snapshot) -> (String, String) {
        let moment = self.moment.map_or_else(String::new, of_moment);
        let task = self.task.map(|task| name(task, snapshot));
        (moment, task.unwrap_or_default())
    }

    /// Returns its step, its task and what happened.
    pub(in crate::sim) fn in_one_list(&self, words: &Words, snapshot: &Snapshot) -> String {
        let (moment, mut task) = self.moment_and_task(snapshot);
        if !task.is_empty() {
            task.push(' ');
        }
        // Elsewhere, the title of the task has that line.
        let place = self.task.and_then(|task| words.spawned_at.get(&task));
        let place = place.filter(|place| self.text.starts_with(SPAWNED) && !is_internal(place));
        let place = place.map_or_else(String::new, |place| format!(", at {place}"));
        format!("{moment}: {task}{}{place}", self.text)
    }

    /// Returns `true` if it is one event of a task.
    pub(super) fn is_event(&self) -> bool {
        self.repeats == 0 && self.fault.is_none()
    }

    /// Returns `true` if it is a fault that concerns this host.
    pub(super) fn concerns(&self, host: u32) -> bool {
        self.fault
            .as_ref()
            .is_some_and(|hosts| hosts.contains(&host))
    }
}

/// Returns the name of a task.
pub(in crate::sim) fn name(task: u64, snapshot: &Snapshot) -> String {
    match task {
        // It may have ended.
        TEST => name_in_run(task, None, Some(THE_TEST)),
        _ => of_waiter(snapshot, Waiter::Task(task)),
    }
}

/// Returns the name of a task of this host; `None` for a task of the test. `of_program`: the name that the program has given it.
pub(in crate::sim) fn name_in_run(
    task: u64,
    host: Option<&str>,
    of_program: Option<&str>,
) -> String {
    let name = match of_program {
        Some(name) => format!("task {task} \"{name}\""),
        None => format!("task {task}"),
    };
    match host {
        Some(host) => format!("{host}: {name}"),
        None => name,
    }
}

pub(super) fn line(text: &mut String, moment: Option<Moment>, what: &str) {
    _ = match moment {
        Some(moment) => writeln!(text, "    {}: {what}", of_moment(moment)),
        None => writeln!(text, "    {what}"),
    };
}

/// Returns a moment in words.
pub(in crate::sim) fn of_moment(Moment { step, at }: Moment) -> String {
    // Random latencies have more digits than a reader needs.
    let at = at - Duration::from_nanos(u64::from(at.subsec_nanos() % 1_000));
    if at.is_zero() {
        format!("step {step}")
    } else {
        format!("step {step}, {at:?}")
    }
}
