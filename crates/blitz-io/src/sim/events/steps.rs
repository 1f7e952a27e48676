//! `Steps`: the steps of a run, and the lines of all events in their order.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use blitz_io_inspect::Snapshot;
use blitz_io_inspect::trace::{ABOUT_TO, Said, USE, Words};

use super::line::{Line, PANICS, name};
use crate::sim::notes::{EVENTS, Moment, Notes};

/// The largest number of decisions that are shown. All numbers of a fault are one.
pub(super) const DECISIONS: usize = 12;

/// How a step of a task ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::sim) enum End {
    /// The task continues later, if ever.
    Pause,
    /// Another task ran before the next operation.
    Preempted,
    /// The task has ended.
    Done,
    /// The task was dropped, as it was aborted.
    Aborted,
    /// The task was dropped, as its host has stopped.
    WithHost,
}

impl End {
    /// Returns `true` if the future of the task was dropped before it was ready.
    fn drops(self) -> bool {
        matches!(self, Self::Aborted | Self::WithHost)
    }
}

/// A step of a run.
pub(in crate::sim) struct Step {
    /// The number under which the recorder has it.
    pub(in crate::sim) number: u64,
    pub(in crate::sim) moment: Moment,
    /// The number of the task in the run.
    pub(in crate::sim) task: u64,
    pub(in crate::sim) end: End,
}

/// A decision of a run by which a task runs that would not in the plain order.
pub(in crate::sim) struct Decided {
    pub(in crate::sim) moment: Moment,
    /// The number of the task in the run.
    pub(in crate::sim) chosen: u64,
    /// The number of the task that would run.
    pub(in crate::sim) instead: u64,
    /// That task is preempted by it in this step.
    pub(in crate::sim) preempts: bool,
}

/// The last steps of a run, in the order of their numbers.
#[derive(Default)]
pub(in crate::sim) struct Steps {
    /// The first ones of these decisions, one more than are shown.
    pub(super) decided: Vec<Decided>,
    last: VecDeque<Step>,
    /// The number of the first step of the run.
    first: Option<u64>,
}

impl Steps {
    /// A step begins.
    pub(in crate::sim) fn begin(&mut self, step: Step) {
        self.first.get_or_insert(step.number);
        if self.last.len() == EVENTS {
            self.last.pop_front();
        }
        self.last.push_back(step);
    }

    /// A task runs that would not in the plain order.
    pub(in crate::sim) fn decided(&mut self, decision: Decided) {
        if self.decided.len() <= DECISIONS {
            self.decided.push(decision);
        }
    }

    /// The last step ends, as another task runs before the next operation.
    pub(in crate::sim) fn preempted(&mut self) {
        self.end(End::Preempted);
    }

    /// The task of the last step has ended with it.
    pub(in crate::sim) fn task_ended(&mut self) {
        self.end(End::Done);
    }

    /// The future of the last step's task is dropped, as it was aborted.
    pub(in crate::sim) fn task_aborted(&mut self) {
        self.end(End::Aborted);
    }

    fn end(&mut self, end: End) {
        if let Some(step) = self.last.back_mut().filter(|step| !step.end.drops()) {
            step.end = end;
        }
    }

    /// Returns the tasks of the last steps, the last one first.
    pub(in crate::sim) fn tasks(&self) -> impl Iterator<Item = u64> {
        self.last.iter().rev().map(|step| step.task)
    }

    /// Returns the number of the last step, its task, and the location of its last event that has one.
    pub(in crate::sim) fn describe_last(
        &self,
        lines: &[Line],
        snapshot: &Snapshot,
    ) -> Option<String> {
        let step = self.last.back()?;
        let number = step.moment.step;
        let of_step = lines.iter().rev().filter(|line| {
            let is_of_step = line.moment.is_some_and(|moment| moment.step == number);
            is_of_step && line.task == Some(step.task)
        });
        let place = of_step.filter_map(|line| line.place()).next();
        let place = place.map_or_else(String::new, |place| format!(", at {place}"));
        let task = name(step.task, snapshot);
        Some(format!("step {number} of {task}{place}"))
    }

    /// Returns `true` if a step has this number.
    pub(in crate::sim) fn has(&self, number: u64) -> bool {
        self.find(number).is_some()
    }

    fn find(&self, number: u64) -> Option<&Step> {
        let at = self.last.binary_search_by_key(&number, |step| step.number);
        self.last.get(at.ok()?)
    }

    /// Returns the time at which each of these steps began. `None` if it is not known.
    pub(in crate::sim) fn times(&self, numbers: &[u64]) -> Vec<Option<Duration>> {
        let steps = numbers.iter().map(|&number| self.find(number));
        steps.map(|step| step.map(|step| step.moment.at)).collect()
    }

    /// Returns the events of all tasks, of the hosts and of the network, in their order. Each step of a task has at least one.
    pub(in crate::sim) fn lines(&self, words: &Words, notes: &Notes) -> Vec<Line> {
        let steps = words.steps.iter().map(|&number| self.find(number));
        let steps: Vec<Option<&Step>> = steps.collect();
        let happened = notes.happened();
        let (mut said, mut happened) = (&words.said[..], &happened[..]);
        let mut lines = Vec::new();
        // Before the first step is what the recorder knows without one. If it has lost events, that is a part of a step.
        let begin = usize::from(self.first_lost(words).is_some());
        for count in 0..=steps.len() {
            let step = count.checked_sub(1).and_then(|at| steps[at]);
            let next = steps.get(count).copied().flatten();
            let until = words.steps.get(count).copied().unwrap_or(u64::MAX);
            let during = split_off(&mut said, |said| said.step <= count);
            let others = split_off(&mut happened, |event| event.number < until);
            if count < begin {
                continue;
            }
            let (later, during): (Vec<&Said>, Vec<&Said>) =
                during.iter().partition(|said| said.is_later);
            add_step(&mut lines, step, &during);
            lines.extend(others.iter().map(Line::of_hosts));
            lines.extend(later.iter().map(|said| Line::of(next, said, &said.text)));
        }
        lines
    }

    /// Returns the first step of the recording, if the run has had steps before it: those are lost.
    pub(in crate::sim) fn first_lost(&self, words: &Words) -> Option<&Step> {
        let first = *words.steps.first()?;
        self.find(first).filter(|_| Some(first) != self.first)
    }
}

/// Removes the first values, which belong to one step, from a list.
fn split_off<'a, T>(from: &mut &'a [T], is_part: impl Fn(&T) -> bool) -> &'a [T] {
    let end = from.iter().position(|value| !is_part(value));
    let (part, rest) = from.split_at(end.unwrap_or(from.len()));
    *from = rest;
    part
}

/// Adds the events during a step, or before the first one.
fn add_step(lines: &mut Vec<Line>, step: Option<&Step>, said: &[&Said]) {
    let Some(step) = step else {
        let said = said.iter().filter(|event| !event.text.is_empty());
        lines.extend(said.map(|event| Line::of(None, event, &event.text)));
        return;
    };
    let is_own = |said: &&Said| step.task == said.task;
    // The end of a task that is dropped implies those of its waits.
    let is_implied = |said: &&Said| said.drops_wait && is_own(said) && step.end.drops();
    let said = said.iter().copied().filter(|said| !is_implied(said));
    let said: Vec<&Said> = said.collect();
    let own: Vec<&Said> = said.iter().copied().filter(is_own).collect();
    let mut own = OfStep::new(step, &own);
    let is_empty = own.left.is_empty();
    for event in &said {
        let text = if is_own(event) {
            own.sentence(event)
        } else {
            Some(event.text.clone())
        };
        let text = text.filter(|_| !event.text.is_empty());
        lines.extend(text.map(|text| Line::of(Some(step), event, &text)));
    }
    let end = end(step.end, own.panics).or(is_empty.then_some("goes on"));
    lines.extend(end.map(|end| Line::new(Some(step.task), Some(step.moment), end)));
    let mut own = lines.iter_mut().rev();
    if let Some(last) = own.find(|line| line.task == Some(step.task)) {
        last.is_end = step.end == End::Done || step.end.drops();
    }
}

/// Returns the sentence about the end of a task with its step, if it is one. `panics`: the last events say how the task ended.
fn end(end: End, panics: bool) -> Option<&'static str> {
    match end {
        End::Done if !panics => Some("ends"),
        // A scope aborts its child that panics.
        End::Aborted if !panics => Some("is dropped, as it was aborted"),
        End::WithHost => Some("is dropped, as its host has stopped"),
        _ => None,
    }
}

/// The events of a step that are of the step's task, and are not implied by others.
struct OfStep<'a> {
    step: &'a Step,
    /// Those that have no sentence yet.
    left: &'a [&'a Said],
    /// Each operation that the task, or a child, polls in the rest of the step is turned away, too.
    preempted: BTreeSet<&'a Option<String>>,
    /// The task has panicked.
    panics: bool,
}

impl<'a> OfStep<'a> {
    fn new(step: &'a Step, own: &'a [&'a Said]) -> Self {
        // The task runs because its wait has ended, so its next event implies that.
        let first = own.iter().position(|said| !said.ends_wait);
        Self {
            step,
            left: &own[first.unwrap_or(own.len())..],
            preempted: BTreeSet::new(),
            panics: false,
        }
    }

    /// Returns the sentence about the next event. `None` if the event is implied.
    fn sentence(&mut self, event: &Said) -> Option<String> {
        // Those before the first one that is left are implied.
        let (next, rest) = self.left.split_first()?;
        if !std::ptr::eq(*next, event) {
            return None;
        }
        self.left = rest;
        if self.is_preemption(next) {
            let is_first = self.preempted.insert(&next.child);
            return is_first.then(|| "is preempted".to_owned());
        }
        let is_preempted = rest.first().is_some_and(|next| self.is_preemption(next));
        let text = match event.text.strip_prefix(ABOUT_TO) {
            Some(operation) if !is_preempted => did(operation),
            _ => event.text.clone(),
        };
        self.panics |= event.child.is_none() && text.starts_with(PANICS);
        Some(text)
    }

    fn is_preemption(&self, said: &Said) -> bool {
        said.yields && self.step.end == End::Preempted
    }
}

/// Returns the sentence about an operation that a task was about to begin, and has begun.
fn did(operation: &str) -> String {
    match operation.strip_prefix(USE) {
        Some(object) => format!("uses {object}"),
        None => format!("tries to {operation}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::events::excerpt::folded;

    fn moment(step: u64) -> Moment {
        Moment {
            step,
            ..Moment::default()
        }
    }

    fn step(number: u64, task: u64, end: End) -> Step {
        Step {
            number,
            moment: moment(number),
            task,
            end,
        }
    }

    fn said(step: usize, text: &str) -> Said {
        Said {
            task: 7,
            child: None,
            step,
            yields: text == "yields",
            ends_wait: text.starts_with("waits no more"),
            drops_wait: text.starts_with("gives up"),
            is_later: text.ends_with("timer"),
            object: None,
            text: text.into(),
        }
    }

    /// Returns the lines of task 7, each with the number of its step.
    fn lines(steps: impl IntoIterator<Item = Step>, said: Vec<Said>) -> Vec<String> {
        let mut all = Steps::default();
        steps.into_iter().for_each(|step| all.begin(step));
        let words = Words {
            steps: all.last.iter().map(|step| step.number).collect(),
            said,
            ..Words::default()
        };
        let lines = all.lines(&words, &Notes::default()).into_iter();
        let own = lines.filter(|line| line.task == Some(7)).collect();
        let lines = folded(own, 20).into_iter();
        lines
            .map(|line| match line.moment {
                Some(moment) => format!("{} {}", moment.step, line.text),
                None => line.text,
            })
            .collect()
    }

    #[test]
    fn each_step_of_a_task_has_an_event() {
        let steps = [
            step(11, 7, End::Preempted),
            step(12, 8, End::Done),
            step(14, 7, End::Pause),
            step(15, 7, End::Pause),
            step(16, 7, End::Done),
        ];
        let said = vec![
            said(1, "yields"),
            said(2, "is woken by task 8"),
            said(3, "waits no more for a lock"),
            said(3, "is woken by a timer"),
            said(4, "waits no more for Sleep"),
            said(4, "takes a lock"),
            said(4, "waits no more for a lock"),
        ];
        assert_eq!(
            lines(steps, said),
            [
                "11 is preempted",
                "12 is woken by task 8",
                "14 goes on",
                "15 is woken by a timer",
                "15 takes a lock",
                "15 waits no more for a lock",
                "16 ends",
            ]
        );
    }

    #[test]
    fn a_task_ends_by_a_panic_or_with_its_host() {
        let panics = said(1, "panics: no, at a.rs:1");
        assert_eq!(
            lines([step(1, 7, End::Done)], vec![panics]),
            ["1 panics: no, at a.rs:1"]
        );
        let dropped = lines([step(1, 7, End::WithHost)], Vec::new());
        assert_eq!(dropped, ["1 is dropped, as its host has stopped"]);
    }

    #[test]
    fn a_task_that_is_dropped_gives_up_all_its_waits() {
        let gives_up = || vec![said(1, "gives up a lock")];
        let aborted = lines([step(1, 7, End::Aborted)], gives_up());
        assert_eq!(aborted, ["1 is dropped, as it was aborted"]);
        let ended = lines([step(1, 7, End::Done)], gives_up());
        assert_eq!(ended, ["1 gives up a lock", "1 ends"]);
    }

    #[test]
    fn repetitions_are_counted() {
        let steps = (1..=9).map(|number| step(number, 7, End::Pause));
        let mut all = vec![said(1, "begins")];
        for at in 2..9 {
            all.extend([said(at, "waits"), said(at, "takes")]);
        }
        assert_eq!(
            lines(steps, all),
            [
                "1 begins",
                "2 waits",
                "2 takes",
                "… the same 6 more times, until step 8",
                "9 goes on",
            ]
        );
        // Two are shown as they are.
        let steps = (1..=2).map(|number| step(number, 7, End::Pause));
        assert_eq!(lines(steps, Vec::new()), ["1 goes on", "2 goes on"]);
    }

    #[test]
    fn only_the_last_steps_are_kept() {
        let mut steps = Steps::default();
        for number in 0..EVENTS as u64 + 3 {
            steps.begin(step(number, 1, End::Pause));
        }
        assert_eq!((steps.last.len(), steps.last[0].moment.step), (EVENTS, 3));
    }

    #[test]
    fn lost_steps_are_known() {
        let mut steps = Steps::default();
        (3..6).for_each(|number| steps.begin(step(number, 7, End::Pause)));
        let words = |first| Words {
            steps: (first..6).collect(),
            said: vec![said(0, "half a step"), said(1, "begins")],
            ..Words::default()
        };
        let known = [3, 4].map(|first| {
            let words = words(first);
            let lost = steps.first_lost(&words).map(|step| step.number);
            (lost, steps.lines(&words, &Notes::default()).len())
        });
        assert_eq!(known, [(None, 4), (Some(4), 2)]);
    }
}
