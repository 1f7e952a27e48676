//! `LastEvents`: the part of a report about the last events, of each task or in one list.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use blitz_io_inspect::trace::Words;
use blitz_io_inspect::{Snapshot, short_place};
use blitz_io_observe::counted;

use super::ended::Ended;
use super::excerpt::{Part, excerpt};
use super::involved::group;
use super::line::{Line, line, name};
use super::shown::{Shown, VARIABLE};
use super::steps::{DECISIONS, Steps};
use crate::note::NOTE;
use crate::sim::notes::{EVENTS, Notes};
use crate::sim::places::is_internal;

/// The number of notes in the list of all tasks' notes.
const NOTES: usize = 20;

/// The parts of a report about the last events.
pub(in crate::sim) struct LastEvents<'a> {
    pub(in crate::sim) steps: &'a Steps,
    pub(in crate::sim) lines: Vec<Line>,
    pub(in crate::sim) words: &'a Words,
    pub(in crate::sim) notes: &'a Notes,
    /// The tasks that are involved, the first of which matter most.
    pub(in crate::sim) involved: &'a [u64],
    /// The failed task of a test with hosts. It comes before tasks with lower numbers.
    pub(in crate::sim) first: Option<u64>,
    pub(in crate::sim) snapshot: &'a Snapshot,
    /// Returns the host of a task.
    pub(in crate::sim) host_of: &'a dyn Fn(u64) -> u32,
    pub(in crate::sim) shown: Shown,
}

impl LastEvents<'_> {
    /// Returns the last events, of each task or in one list.
    pub(in crate::sim) fn describe(mut self) -> String {
        let mut text = String::from("\nthe last events\n");
        if let Some(first) = self.steps.first_lost(self.words) {
            _ = writeln!(
                text,
                "  those before step {} are not kept: a report has the last {EVENTS} records of a run",
                first.moment.step
            );
        }
        self.decisions(&mut text);
        match self.shown {
            Shown::Merged => self.merged(&mut text),
            _ => self.of_each_task(&mut text),
        }
        text
    }

    /// Writes the decisions that are not those of the plain run: of many, only the faults of `Faults`.
    fn decisions(&self, text: &mut String) {
        let (decided, drawn) = (&self.steps.decided, self.notes.drawn.all());
        let is_few = decided.len() + drawn.len() <= DECISIONS;
        let tasks = decided.iter().filter(|_| is_few).map(|decision| {
            let [chosen, instead] =
                [decision.chosen, decision.instead].map(|task| name(task, self.snapshot));
            let how = if decision.preempts {
                "preempts"
            } else {
                "instead of"
            };
            (decision.moment, format!("{chosen} {how} {instead}"))
        });
        // Of many decisions, the faults say most.
        let drawn = drawn.iter().filter(|drawn| is_few || drawn.is_fault());
        let drawn: Vec<_> = drawn.map(|drawn| (drawn.moment, drawn.text())).collect();
        let title = match (drawn.is_empty(), is_few) {
            (true, _) => "where another task runs than in the plain order",
            (_, true) => "where the run differs from the plain one",
            (_, false) => {
                "where the run differs from the plain one, beside many orders and random numbers"
            }
        };
        let mut all: Vec<_> = drawn.into_iter().chain(tasks).collect();
        if all.is_empty() || all.len() > DECISIONS {
            return;
        }
        _ = writeln!(text, "  {title}");
        all.sort_by_key(|(moment, _)| moment.step);
        for (moment, what) in all {
            line(text, Some(moment), &what);
        }
    }

    /// Writes the events of the tasks that are involved, in the order of the tasks' numbers behind `first`.
    fn of_each_task(&mut self, text: &mut String) {
        let is_all = self.shown == Shown::All;
        let by_line = |text: &mut String, moment, what: &str| line(text, Some(moment), what);
        text.push_str(&self.notes.describe(is_all, by_line));
        self.notes_of_all_tasks(text);
        let mut chosen: Vec<u64> = self.involved.to_vec();
        chosen.truncate(self.shown.tasks());
        if is_all {
            chosen.extend(self.lines.iter().filter_map(|line| line.task));
        }
        chosen.sort_unstable();
        chosen.dedup();
        let mut of_tasks = self.by_task(&chosen);
        let mut is_shortened = !is_all && self.involved.len() > chosen.len();
        chosen.sort_by_key(|task| Some(*task) != self.first);
        for task in chosen {
            let own = of_tasks.remove(&task).unwrap_or_default();
            if !own.is_empty() {
                _ = writeln!(text, "  {}", title(task, self.words, self.snapshot));
                is_shortened |= self.task(text, own);
            }
        }
        self.left_out(text);
        if is_shortened {
            _ = writeln!(text, "  {VARIABLE}=all shows all events");
        }
    }

    /// Writes the last notes of the program in one list, if several tasks have notes.
    fn notes_of_all_tasks(&self, text: &mut String) {
        let notes: Vec<&Line> = self.lines.iter().filter(|line| line.is_note).collect();
        let tasks: BTreeSet<Option<u64>> = notes.iter().map(|line| line.task).collect();
        if tasks.len() < 2 {
            return;
        }
        text.push_str("  the notes of all tasks\n");
        let most = match self.shown {
            Shown::Last(last) => last.min(NOTES),
            _ => notes.len(),
        };
        let earlier = notes.len().saturating_sub(most);
        if earlier > 0 {
            _ = writeln!(text, "    … {}", counted(earlier as u64, "earlier note"));
        }
        for note in &notes[earlier..] {
            let (_, task) = note.moment_and_task(self.snapshot);
            let what = note.text.replacen(NOTE, "", 1);
            line(text, note.moment, &format!("{task}: {what}"));
        }
    }

    /// Says how many tasks are left out: those that are like one that is shown, and the others.
    fn left_out(&self, text: &mut String) {
        let shown = self.involved.len().min(self.shown.tasks());
        let (shown, left_out) = self.involved.split_at(shown);
        let group = |task: &u64| group(*task, self.words, self.snapshot, self.host_of);
        let mut alike: BTreeMap<u64, u64> = BTreeMap::new();
        for task in left_out.iter().filter(|task| group(task).is_some()) {
            let like = shown.iter().find(|shown| group(shown) == group(task));
            if let Some(&like) = like {
                *alike.entry(like).or_default() += 1;
            }
        }
        for (like, count) in &alike {
            let like = name(*like, self.snapshot);
            _ = writeln!(text, "  and {} like {like}", counted(*count, "more task"));
        }
        if let more @ 1.. = left_out.len() as u64 - alike.values().sum::<u64>() {
            _ = writeln!(text, "  and {}", counted(more, "more task"));
        }
    }

    /// Returns the lines of each of these tasks, which are sorted, and of the faults of their hosts while they were alive.
    fn by_task(&mut self, tasks: &[u64]) -> BTreeMap<u64, Vec<Line>> {
        let mut all: BTreeMap<u64, Vec<Line>> = BTreeMap::new();
        for line in std::mem::take(&mut self.lines) {
            if let Some(task) = line.task.filter(|task| tasks.binary_search(task).is_ok()) {
                all.entry(task).or_default().push(line);
            } else if line.fault.is_some() {
                for (&task, own) in &mut all {
                    if line.concerns((self.host_of)(task)) && !has_ended(own) {
                        own.push(line.clone());
                    }
                }
            }
        }
        all
    }

    /// Writes the events of a task. Returns `true` if some are left out.
    fn task(&self, text: &mut String, mut own: Vec<Line>) -> bool {
        let ended = Ended::of(self.words, self.snapshot);
        let mut alike = Vec::new();
        let parts = match self.shown {
            Shown::Last(last) => {
                alike = ended.fold(&mut own);
                excerpt(own, last, &|child| ended.has(child))
            }
            _ => own.into_iter().map(Part::Line).collect(),
        };
        let shown = parts.iter().filter_map(Part::child);
        let shown: BTreeSet<&str> = shown.collect();
        children(text, self.words, |child| shown.contains(child));
        for (count, like) in &alike {
            _ = writeln!(text, "    and {count} more like {like}");
        }
        let (mut is_first, mut is_shortened) = (true, !alike.is_empty());
        for part in parts {
            match part {
                Part::Line(own) => {
                    is_shortened |= own.repeats > 0;
                    line(text, own.moment, &own.text);
                }
                Part::LeftOut(count) => {
                    let what = if is_first {
                        "earlier event"
                    } else {
                        "more event"
                    };
                    _ = writeln!(text, "    … {}", counted(count as u64, what));
                    is_shortened = true;
                }
            }
            is_first = false;
        }
        is_shortened
    }

    /// Writes the names of all tasks, and all events in one list.
    fn merged(&self, text: &mut String) {
        let tasks: BTreeSet<u64> = self.lines.iter().filter_map(|line| line.task).collect();
        let children_of = self.lines.iter();
        let children_of = children_of.filter_map(|line| Some((line.task?, line.child.as_deref()?)));
        let of_tasks: BTreeSet<(u64, &str)> = children_of.collect();
        for &task in &tasks {
            _ = writeln!(text, "  {}", title(task, self.words, self.snapshot));
            children(text, self.words, |child| of_tasks.contains(&(task, child)));
        }
        let rows = self.lines.iter().map(|line| {
            let (moment, task) = line.moment_and_task(self.snapshot);
            (moment, task, &line.text)
        });
        let rows: Vec<_> = rows.collect();
        let width = |text: &String| text.chars().count();
        let first = rows.iter().map(|(moment, ..)| width(moment)).max();
        let second = rows.iter().map(|(_, name, _)| width(name)).max();
        let (first, second) = (first.unwrap_or(0), second.unwrap_or(0));
        for (moment, name, what) in rows {
            _ = writeln!(text, "  {moment:first$}  {name:second$}  {what}");
        }
    }
}

/// Returns `true` if the last event of a task is its end.
fn has_ended(own: &[Line]) -> bool {
    let mut events = own.iter().rev().filter(|line| line.fault.is_none());
    events.next().is_some_and(|line| line.is_end)
}

/// Writes the lines at which the children of these names were spawned.
fn children(text: &mut String, words: &Words, is_shown: impl Fn(&str) -> bool) {
    for child in &words.children {
        if is_shown(&child.name) && !child.spawned_at.is_empty() {
            _ = writeln!(text, "    {}, spawned at {}", child.name, child.spawned_at);
        }
    }
}

/// Returns the name of a task, and the location at which it was spawned, if that is known.
fn title(task: u64, words: &Words, snapshot: &Snapshot) -> String {
    let mut name = name(task, snapshot);
    // The first task of a host has the line at which the test has added that.
    let alive = snapshot.task(task).map(|alive| alive.location.as_str());
    let alive = alive.filter(|place| !place.is_empty()).map(short_place);
    let spawned = words.spawned_at.get(&task).map(String::as_str);
    let place = alive.or(spawned.filter(|place| !is_internal(place)));
    if let Some(place) = place {
        _ = write!(name, ", spawned at {place}");
    }
    name
}
