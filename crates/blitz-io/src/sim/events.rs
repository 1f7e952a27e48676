//! The last events of each task that a failure involves, in words.
//!
//! While a run is explained, the recorder of `blitz trace` is on. It is the process's: other threads record, too, and
//! only the events of the run's tasks are read. Each step has a number, which the recorder has where the step begins. Of a
//! very long run the recorder has lost the oldest events.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use blitz_io_inspect::trace::{ABOUT_TO, SPAWNED, Said, USE, Words};
use blitz_io_inspect::{Snapshot, Waiter, of_waiter, short_place};
use blitz_io_observe::{counted, trace};

use super::excerpt::{Part, excerpt};
use super::notes::{EVENTS, Happened, Moment, Notes};
use super::places::is_internal;
use super::trace::ParseError;
use crate::note::NOTE;

/// The number of the test's own task in a run.
pub(super) const TEST: u64 = 1;
/// The variable of the environment with the number of events of each task.
pub(super) const VARIABLE: &str = "BLITZ_SIM_EVENTS";
/// The largest number of tasks, unless all events are shown.
const TASKS: usize = 8;
/// The largest number of decisions that are shown.
const DECISIONS: usize = 8;
/// The number of objects, those that the task which has failed has used last, whose users come first.
const OBJECTS: usize = 3;
/// The number of users of each of these objects that come first.
const SHARERS: usize = 4;
/// The number of ended tasks that are alike and that come before all others.
const ALIKE: usize = 2;
/// The number of notes in the list of all tasks' notes.
const NOTES: usize = 20;
/// The begin of the sentence about a panic.
pub(super) const PANICS: &str = "panics: ";

/// The events that are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shown {
    /// This number of events of each of the tasks that matter most, from the last one back, and as many next to faults.
    Last(usize),
    /// Those of all tasks, each on its own.
    All,
    /// Those of all tasks, in one list.
    Merged,
}

impl Shown {
    pub(super) const LAST: Self = Self::Last(20);

    fn tasks(self) -> usize {
        match self {
            Self::Last(_) => TASKS,
            _ => usize::MAX,
        }
    }
}

impl FromStr for Shown {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text.parse() {
            _ if text == "all" => Ok(Self::All),
            _ if text == "merged" => Ok(Self::Merged),
            Ok(number) => Ok(Self::Last(number)),
            Err(_) => Err(ParseError(format!(
                "`{text}` is neither a number nor `all` or `merged`"
            ))),
        }
    }
}

/// Number of runs that are explained at this moment, and whether the recorder was off before.
static USERS: Mutex<(usize, bool)> = Mutex::new((0, false));

fn users() -> MutexGuard<'static, (usize, bool)> {
    USERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The recorder is on until this is dropped, and this thread has room for [`EVENTS`] records.
pub(super) struct Recorder(#[expect(dead_code, reason = "it is dropped")] trace::LargeRing);

impl Recorder {
    pub(super) fn start() -> Self {
        let mut users = users();
        if users.0 == 0 {
            users.1 = trace::start();
        }
        users.0 += 1;
        Self(trace::LargeRing::enter(EVENTS))
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let mut users = users();
        users.0 -= 1;
        if users.0 == 0 && users.1 {
            trace::stop();
        }
    }
}

/// How a step of a task ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
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
pub(super) struct Step {
    /// The number under which the recorder has it.
    pub(super) number: u64,
    pub(super) moment: Moment,
    /// The number of the task in the run.
    pub(super) task: u64,
    pub(super) end: End,
}

/// A decision of a run by which a task runs that would not in the plain order.
pub(super) struct Decided {
    /// The number of the step in the run.
    pub(super) step: u64,
    /// The number of the task in the run.
    pub(super) chosen: u64,
    /// The number of the task that would run.
    pub(super) instead: u64,
    /// That task is preempted by it in this step.
    pub(super) preempts: bool,
}

/// The last steps of a run, in the order of their numbers.
#[derive(Default)]
pub(super) struct Steps {
    /// The first ones of these decisions, one more than are shown.
    decided: Vec<Decided>,
    last: VecDeque<Step>,
    /// The number of the first step of the run.
    first: Option<u64>,
}

impl Steps {
    /// A step begins.
    pub(super) fn begin(&mut self, step: Step) {
        self.first.get_or_insert(step.number);
        if self.last.len() == EVENTS {
            self.last.pop_front();
        }
        self.last.push_back(step);
    }

    /// A task runs that would not in the plain order.
    pub(super) fn decided(&mut self, decision: Decided) {
        if self.decided.len() <= DECISIONS {
            self.decided.push(decision);
        }
    }

    /// The last step ends, as another task runs before the next operation.
    pub(super) fn preempted(&mut self) {
        self.end(End::Preempted);
    }

    /// The task of the last step has ended with it.
    pub(super) fn task_ended(&mut self) {
        self.end(End::Done);
    }

    /// The future of the last step's task is dropped, as it was aborted.
    pub(super) fn task_aborted(&mut self) {
        self.end(End::Aborted);
    }

    fn end(&mut self, end: End) {
        if let Some(step) = self.last.back_mut().filter(|step| !step.end.drops()) {
            step.end = end;
        }
    }

    /// Returns the tasks of the last steps, the last one first.
    pub(super) fn tasks(&self) -> impl Iterator<Item = u64> {
        self.last.iter().rev().map(|step| step.task)
    }

    /// Returns `true` if a step has this number.
    pub(super) fn has(&self, number: u64) -> bool {
        self.find(number).is_some()
    }

    fn find(&self, number: u64) -> Option<&Step> {
        let at = self.last.binary_search_by_key(&number, |step| step.number);
        self.last.get(at.ok()?)
    }

    /// Returns the time at which each of these steps began. `None` if it is not known.
    pub(super) fn times(&self, numbers: &[u64]) -> Vec<Option<Duration>> {
        let steps = numbers.iter().map(|&number| self.find(number));
        steps.map(|step| step.map(|step| step.moment.at)).collect()
    }

    /// Returns the events of all tasks, of the hosts and of the network, in their order. Each step of a task has at least one.
    pub(super) fn lines(&self, words: &Words, notes: &Notes) -> Vec<Line> {
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
    pub(super) fn first_lost(&self, words: &Words) -> Option<&Step> {
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

/// The parts of a report about the last events.
pub(super) struct LastEvents<'a> {
    pub(super) steps: &'a Steps,
    pub(super) lines: Vec<Line>,
    pub(super) words: &'a Words,
    pub(super) notes: &'a Notes,
    /// The tasks that are involved, the first of which matter most.
    pub(super) involved: &'a [u64],
    pub(super) snapshot: &'a Snapshot,
    /// Returns the host of a task.
    pub(super) host_of: &'a dyn Fn(u64) -> u32,
    pub(super) shown: Shown,
}

impl LastEvents<'_> {
    /// Returns the last events, of each task or in one list.
    pub(super) fn describe(mut self) -> String {
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

    /// Writes the decisions by which tasks run that would not in the plain order, if there are only a few.
    fn decisions(&self, text: &mut String) {
        let decided = &self.steps.decided;
        if decided.is_empty() || decided.len() > DECISIONS {
            return;
        }
        text.push_str("  where another task runs than in the plain order\n");
        for decision in decided {
            let [chosen, instead] =
                [decision.chosen, decision.instead].map(|task| name(task, self.snapshot));
            _ = if decision.preempts {
                writeln!(
                    text,
                    "    step {}: {chosen} preempts {instead}",
                    decision.step
                )
            } else {
                writeln!(
                    text,
                    "    step {}: {chosen} instead of {instead}",
                    decision.step
                )
            };
        }
    }

    /// Writes the events of the tasks that are involved, in the order of the tasks' numbers.
    fn of_each_task(&mut self, text: &mut String) {
        let is_all = self.shown == Shown::All;
        let by_line = |text: &mut String, moment, what: &str| line(text, Some(moment), what);
        text.push_str(&self.notes.describe(is_all, by_line));
        self.notes_of_all_tasks(text);
        let mut chosen: Vec<u64> = self.involved.to_vec();
        chosen.truncate(self.shown.tasks());
        chosen.sort_unstable();
        let mut of_tasks = self.by_task(&chosen);
        let mut is_shortened = self.involved.len() > chosen.len();
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
    fn task(&self, text: &mut String, own: Vec<Line>) -> bool {
        let parts = match self.shown {
            Shown::Last(last) => excerpt(own, last),
            _ => own.into_iter().map(Part::Line).collect(),
        };
        let shown = parts.iter().filter_map(Part::child);
        let shown: BTreeSet<&str> = shown.collect();
        children(text, self.words, |child| shown.contains(child));
        let (mut is_first, mut is_shortened) = (true, false);
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

/// Returns the host and the line that has spawned a task of a host which has ended. A server has such a task for each connection, and
/// each life of a host has the same ones again.
pub(super) fn group<'a>(
    task: u64,
    words: &'a Words,
    snapshot: &Snapshot,
    host_of: &dyn Fn(u64) -> u32,
) -> Option<(u32, &'a str)> {
    let host = host_of(task);
    let has_ended = snapshot.task(task).is_none();
    let place = words.spawned_at.get(&task)?;
    (host != 0 && has_ended).then_some((host, place.as_str()))
}

/// Returns the tasks, of which those come last that are like several before them: in the same group.
pub(super) fn alike_last<G: Ord>(tasks: Vec<u64>, group: impl Fn(u64) -> Option<G>) -> Vec<u64> {
    let mut counts: BTreeMap<G, usize> = BTreeMap::new();
    let (first, later): (Vec<u64>, Vec<u64>) = tasks.into_iter().partition(|&task| {
        group(task).is_none_or(|group| {
            let count = counts.entry(group).or_default();
            *count += 1;
            *count <= ALIKE
        })
    });
    [first, later].concat()
}

/// Returns the tasks that were alive on a host when a fault began that concerns it. Those that ran last before each fault are the
/// first, and the faults take turns, from the last one on.
pub(super) fn at_faults(lines: &[Line], host_of: &dyn Fn(u64) -> u32) -> Vec<u64> {
    let mut alive: BTreeMap<u64, usize> = BTreeMap::new();
    let mut of_faults = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        match line.task {
            Some(task) if line.is_end => _ = alive.remove(&task),
            Some(task) => _ = alive.insert(task, at),
            None if line.fault.is_some() => {
                let own = alive
                    .iter()
                    .filter(|(task, _)| line.concerns(host_of(**task)));
                let mut own: Vec<(u64, usize)> = own.map(|(task, at)| (*task, *at)).collect();
                own.sort_unstable_by_key(|(_, at)| Reverse(*at));
                of_faults.push(own.into_iter().map(|(task, _)| task).collect());
            }
            None => {}
        }
    }
    of_faults.reverse();
    in_turns(&of_faults)
}

/// Returns the task, or its child, that has panicked first: a scope panics with the panic of its child. `of_tasks`: a task that
/// panics fails the run. So an earlier task with the same panic is a child of a parallel scope.
pub(super) fn first_panic(lines: &[Line], task: u64, of_tasks: bool) -> (u64, Option<String>) {
    let panics = |line: &&Line| line.panic().is_some();
    let mut own = lines.iter().rev().filter(|line| line.task == Some(task));
    let Some(last) = own.find(panics) else {
        return (task, None);
    };
    let is_same =
        |line: &&Line| line.panic() == last.panic() && (of_tasks || line.task == Some(task));
    let first = lines.iter().find(is_same).unwrap_or(last);
    (first.task.unwrap_or(task), first.child.clone())
}

/// Returns the tasks that have used the objects which this task has used last. The last object comes first, and of each object
/// the task that has used it last.
pub(super) fn that_used_the_same(lines: &[Line], task: u64) -> Vec<u64> {
    let own = lines.iter().rev().filter(|line| line.task == Some(task));
    let mut objects: Vec<u64> = Vec::new();
    for object in own.filter_map(|line| line.object) {
        if objects.len() < OBJECTS && !objects.contains(&object) {
            objects.push(object);
        }
    }
    let users = |object: &u64| {
        let of_object = lines
            .iter()
            .rev()
            .filter(|line| line.object == Some(*object));
        let tasks = of_object.filter_map(|line| line.task);
        let others = each_once(tasks.filter(|&user| user != task));
        others.into_iter().take(SHARERS)
    };
    let all: Vec<u64> = objects.iter().flat_map(users).collect();
    each_once(all)
}

/// Returns the first task of each list, then the second of each, and so on. Each task is in the result once.
pub(super) fn in_turns(lists: &[Vec<u64>]) -> Vec<u64> {
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let turn = |at: usize| lists.iter().filter_map(move |list| list.get(at).copied());
    each_once((0..longest).flat_map(turn))
}

/// Returns the sentence about an operation that a task was about to begin, and has begun.
fn did(operation: &str) -> String {
    match operation.strip_prefix(USE) {
        Some(object) => format!("uses {object}"),
        None => format!("tries to {operation}"),
    }
}

/// Adds the events during a step, or before the first one.
fn add_step(lines: &mut Vec<Line>, step: Option<&Step>, said: &[&Said]) {
    let is_own = |said: &&Said| step.is_some_and(|step| step.task == said.task);
    // The end of a task that is dropped implies those of its waits.
    let is_implied =
        |said: &&Said| said.drops_wait && is_own(said) && step.is_some_and(|step| step.end.drops());
    let said: Vec<&Said> = said
        .iter()
        .copied()
        .filter(|said| !is_implied(said))
        .collect();
    let own: Vec<&Said> = said.iter().copied().filter(is_own).collect();
    // The task runs because its wait has ended, so its next event implies that.
    let first = own.iter().position(|said| !said.ends_wait);
    let mut own = &own[first.unwrap_or(own.len())..];
    let (is_empty, mut panics) = (own.is_empty(), false);
    // Each operation that the task, or a child, polls in the rest of the step is turned away, too.
    let mut preempted: BTreeSet<&Option<String>> = BTreeSet::new();
    let is_preemption = |step: &Step, said: &Said| said.yields && step.end == End::Preempted;
    for event in &said {
        let mut text = event.text.clone();
        if let (Some(step), true) = (step, is_own(event)) {
            // Those before the first of these are implied.
            let Some((_, rest)) = own
                .split_first()
                .filter(|(next, _)| std::ptr::eq(**next, *event))
            else {
                continue;
            };
            own = rest;
            if is_preemption(step, event) && !preempted.insert(&event.child) {
                continue;
            }
            let is_preempted = own.first().is_some_and(|next| is_preemption(step, next));
            match event.text.strip_prefix(ABOUT_TO) {
                Some(operation) if !is_preempted => text = did(operation),
                _ if is_preemption(step, event) => "is preempted".clone_into(&mut text),
                _ => {}
            }
            panics |= event.child.is_none() && text.starts_with(PANICS);
        }
        if !event.text.is_empty() {
            lines.push(Line::of(step, event, &text));
        }
    }
    let Some(step) = step else {
        return;
    };
    let end = match step.end {
        End::Done if !panics => Some("ends"),
        // A scope aborts its child that panics.
        End::Aborted if !panics => Some("is dropped, as it was aborted"),
        End::WithHost => Some("is dropped, as its host has stopped"),
        _ if is_empty => Some("goes on"),
        _ => None,
    };
    lines.extend(end.map(|end| Line::new(Some(step.task), Some(step.moment), end)));
    let mut own = lines.iter_mut().rev();
    if let Some(last) = own.find(|line| line.task == Some(step.task)) {
        last.is_end = step.end == End::Done || step.end.drops();
    }
}

/// A line of the events.
#[derive(Clone, Default)]
pub(super) struct Line {
    /// The task to which it happened; `None` for a host or the network.
    pub(super) task: Option<u64>,
    moment: Option<Moment>,
    /// The child to which it happened; `None` for the task itself.
    pub(super) child: Option<String>,
    pub(super) text: String,
    /// The number of the object that the task has used.
    object: Option<u64>,
    /// The program has said it, by [`note`](super::note).
    pub(super) is_note: bool,
    /// Number of events of the task that it stands for.
    pub(super) events: usize,
    /// Number of lines before it that it says to be repeated.
    pub(super) repeats: usize,
    /// It is the end of the task.
    is_end: bool,
    /// The hosts that a fault concerns which begins here. `None` if it is an event of a task.
    pub(super) fault: Option<Vec<u32>>,
}

impl Line {
    /// Returns the line of an event, which has this text.
    fn of(step: Option<&Step>, said: &Said, text: &str) -> Self {
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

    fn new(task: Option<u64>, moment: Option<Moment>, text: &str) -> Self {
        Self {
            task,
            moment,
            text: text.to_owned(),
            events: 1,
            ..Self::default()
        }
    }

    /// Returns the line of an event of the hosts or the network.
    fn of_hosts(event: &&Happened) -> Self {
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
    fn panic(&self) -> Option<&str> {
        let text = match &self.child {
            Some(child) => self.text.strip_prefix(child.as_str())?.trim_start(),
            None => &self.text,
        };
        text.strip_prefix(PANICS)
    }

    /// Returns its moment and the name of its task, each of which is empty if there is none.
    fn moment_and_task(&self, snapshot: &Snapshot) -> (String, String) {
        let moment = self.moment.map_or_else(String::new, of_moment);
        let task = self.task.map(|task| name(task, snapshot));
        (moment, task.unwrap_or_default())
    }

    /// Returns its step, its task and what happened.
    pub(super) fn in_one_list(&self, words: &Words, snapshot: &Snapshot) -> String {
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
    fn concerns(&self, host: u32) -> bool {
        self.fault
            .as_ref()
            .is_some_and(|hosts| hosts.contains(&host))
    }
}

/// Writes the lines at which the children of these names were spawned.
fn children(text: &mut String, words: &Words, is_shown: impl Fn(&str) -> bool) {
    for child in &words.children {
        if is_shown(&child.name) && !child.spawned_at.is_empty() {
            _ = writeln!(text, "    {}, spawned at {}", child.name, child.spawned_at);
        }
    }
}

/// Returns the name of a task.
pub(super) fn name(task: u64, snapshot: &Snapshot) -> String {
    match task {
        // It may have ended.
        TEST => format!("task {task} \"the test\""),
        _ => of_waiter(snapshot, Waiter::Task(task)),
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

fn line(text: &mut String, moment: Option<Moment>, what: &str) {
    _ = match moment {
        Some(moment) => writeln!(text, "    {}: {what}", of_moment(moment)),
        None => writeln!(text, "    {what}"),
    };
}

fn of_moment(Moment { step, at }: Moment) -> String {
    // Random latencies have more digits than a reader needs.
    let at = at - Duration::from_nanos(u64::from(at.subsec_nanos() % 1_000));
    if at.is_zero() {
        format!("step {step}")
    } else {
        format!("step {step}, {at:?}")
    }
}

/// Returns the tasks, each once, in the order in which they come first.
pub(super) fn each_once(tasks: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut seen = BTreeSet::new();
    tasks
        .into_iter()
        .filter(|&task| seen.insert(task))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::excerpt::folded;

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
    fn the_number_of_shown_events_is_a_number_or_all() {
        assert_eq!("all".parse(), Ok(Shown::All));
        assert_eq!("merged".parse(), Ok(Shown::Merged));
        assert_eq!("7".parse(), Ok(Shown::Last(7)));
        for wrong in ["", "every", "-1"] {
            assert!(wrong.parse::<Shown>().is_err(), "{wrong}");
        }
        assert_eq!(
            (Shown::LAST.tasks(), Shown::All.tasks()),
            (TASKS, usize::MAX)
        );
    }

    #[test]
    fn only_the_last_steps_are_kept() {
        let mut steps = Steps::default();
        for number in 0..EVENTS as u64 + 3 {
            steps.begin(step(number, 1, End::Pause));
        }
        assert_eq!((steps.last.len(), steps.last[0].moment.step), (EVENTS, 3));
    }

    /// Returns lines with these texts, of task 1; those that begin with `!` are faults of host 1.
    fn of_one(texts: &[&str]) -> Vec<Line> {
        let line = |text: &&str| Line {
            fault: text.starts_with('!').then(|| vec![1]),
            ..Line::new(Some(1), None, text)
        };
        texts.iter().map(line).collect()
    }

    fn excerpt_of(lines: Vec<Line>, last: usize) -> Vec<String> {
        let text = |part| match part {
            Part::Line(line) => line.text,
            Part::LeftOut(count) => format!("- {count}"),
        };
        excerpt(lines, last).into_iter().map(text).collect()
    }

    #[test]
    fn a_count_needs_the_lines_that_it_repeats() {
        let mut lines = of_one(&["a", "b", "a", "b", "a", "b", "c"]);
        lines[6].child = Some("child 1".into());
        assert_eq!(excerpt_of(lines.clone(), 0), ["- 7"]);
        // A period that is longer than what is shown is not folded.
        assert_eq!(excerpt_of(lines.clone(), 1), ["- 5", "b", "c"]);
        let folded = ["a", "b", "… the same 2 more times", "c"];
        assert_eq!(excerpt_of(lines, 2), folded);
    }

    #[test]
    fn a_turn_of_any_length_that_fits_is_folded() {
        let turn: Vec<String> = (0..20).map(|at| format!("line {at}")).collect();
        let texts: Vec<&str> = turn.iter().cycle().take(105).map(|text| &**text).collect();
        let shown = excerpt_of(of_one(&texts), 20);
        assert_eq!(shown.len(), 26, "{shown:?}");
        assert_eq!(
            (&*shown[20], &*shown[25]),
            ("… the same 4 more times", "line 4")
        );
        assert_eq!(excerpt_of(of_one(&texts), 19)[0], "- 86");
    }

    #[test]
    fn lines_before_a_fault_are_shown() {
        let mut texts = vec!["a", "b", "c", "!crash"];
        texts.extend(["d"; 50]);
        texts.extend(["e", "f", "g", "h"]);
        let shown = excerpt_of(of_one(&texts), 4);
        assert_eq!(shown, ["- 2", "c", "!crash", "- 50", "e", "f", "g", "h"]);
        // What is before it is not folded with what is after it.
        let shown = excerpt_of(of_one(&["a", "a", "a", "!cut", "a", "a", "a"]), 4);
        let folded = ["a", "… the same 2 more times"];
        assert_eq!(shown, [&folded[..], &["!cut"], &folded].concat());
        // Of many faults the last ones.
        let shown = excerpt_of(of_one(&["a", "!1", "b", "!2", "!3", "!4", "!5", "c"]), 1);
        assert_eq!(shown, ["- 1", "b", "!2", "!3", "!4", "!5", "c"]);
    }

    #[test]
    fn connections_fold_although_their_ports_differ() {
        let texts: Vec<String> = (0..5)
            .map(|port| format!("accepts a connection of b:{port}, at a.rs:1"))
            .collect();
        let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
        let folded = [texts[0], "… the same 4 more times"];
        assert_eq!(excerpt_of(of_one(&texts), 20), folded);
        let others = [
            "accepts a connection of b:1, at a.rs:1",
            "accepts a connection of c:1, at a.rs:1",
        ];
        let others = [&others[..], &others, &others[..1]].concat();
        assert_eq!(excerpt_of(of_one(&others), 1).len(), 2);
    }

    #[test]
    fn tasks_that_are_like_two_others_come_last() {
        let group = |task: u64| (task > 10).then_some(task % 2);
        let order = alike_last(vec![11, 13, 15, 1, 3, 5, 12, 17], group);
        assert_eq!(order, [11, 13, 1, 3, 5, 12, 15, 17]);
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

    #[test]
    fn tasks_that_were_alive_at_a_fault_are_known() {
        let line = |task, is_end| Line {
            is_end,
            ..Line::new(Some(task), None, "")
        };
        let fault = |host| Line {
            fault: Some(vec![host]),
            ..Line::new(None, None, "")
        };
        let lines = [
            line(11, false),
            line(12, false),
            line(21, false),
            line(13, true),
            fault(1),
            line(11, false),
            fault(1),
            line(14, false),
            fault(2),
        ];
        assert_eq!(at_faults(&lines, &|task| task as u32 / 10), [21, 11, 12]);
    }
}
