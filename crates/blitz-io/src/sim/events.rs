//! The last events of each task that a failure involves, in words.
//!
//! While a run is explained, the recorder of `blitz trace` is on. It is the process's: other threads record, too, and
//! only the events of the run's tasks are read. Each step has a number, which the recorder has where the step begins. The
//! recorder may have lost the oldest events.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use blitz_io_inspect::trace::{ABOUT_TO, Said, USE, Words};
use blitz_io_inspect::{Snapshot, Waiter, of_waiter, short_place};
use blitz_io_observe::trace;

use super::failure::counted;
use super::notes::{Moment, Notes};
use super::places::is_internal;
use super::trace::ParseError;

/// The number of the test's own task in a run.
pub(super) const TEST: u64 = 1;
/// The variable of the environment with the number of events of each task.
pub(super) const VARIABLE: &str = "BLITZ_SIM_EVENTS";
/// The largest number of tasks, unless all events are shown.
const TASKS: usize = 8;
/// The largest number of steps that are kept. The recorder keeps fewer events.
const STEPS: usize = 1 << 16;
/// The largest number of lines whose repetitions are folded.
const PERIOD: usize = 6;
/// The least number of repetitions that are folded.
const REPEATED: usize = 3;
/// The begin of the sentence about a panic.
pub(super) const PANICS: &str = "panics at ";

/// The number of events of each task that are shown, from the last one back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shown(usize);

impl Shown {
    pub(super) const LAST: Self = Self(20);
    /// Also the events of all tasks, each on its own.
    const ALL: Self = Self(usize::MAX);

    fn tasks(self) -> usize {
        if self == Self::ALL { usize::MAX } else { TASKS }
    }
}

impl FromStr for Shown {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text.parse() {
            _ if text == "all" => Ok(Self::ALL),
            Ok(number) => Ok(Self(number)),
            Err(_) => Err(ParseError(format!(
                "`{text}` is neither a number nor `all`"
            ))),
        }
    }
}

/// Number of runs that are explained at this moment, and whether the recorder was off before.
static USERS: Mutex<(usize, bool)> = Mutex::new((0, false));

fn users() -> MutexGuard<'static, (usize, bool)> {
    USERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The recorder is on until this is dropped.
pub(super) struct Recorder;

impl Recorder {
    pub(super) fn start() -> Self {
        let mut users = users();
        if users.0 == 0 {
            users.1 = trace::start();
        }
        users.0 += 1;
        Self
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
    /// The task was dropped, as its host has stopped.
    WithHost,
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

/// The last steps of a run, in the order of their numbers.
#[derive(Default)]
pub(super) struct Steps(VecDeque<Step>);

impl Steps {
    /// A step begins.
    pub(super) fn begin(&mut self, step: Step) {
        if self.0.len() == STEPS {
            self.0.pop_front();
        }
        self.0.push_back(step);
    }

    /// The last step ends, as another task runs before the next operation.
    pub(super) fn preempted(&mut self) {
        self.end(End::Preempted);
    }

    /// The task of the last step has ended with it.
    pub(super) fn task_ended(&mut self) {
        self.end(End::Done);
    }

    fn end(&mut self, end: End) {
        if let Some(step) = self.0.back_mut().filter(|step| step.end != End::WithHost) {
            step.end = end;
        }
    }

    /// Returns the tasks of the last steps, the last one first.
    pub(super) fn tasks(&self) -> impl Iterator<Item = u64> {
        self.0.iter().rev().map(|step| step.task)
    }

    /// Returns `true` if a step has this number.
    pub(super) fn has(&self, number: u64) -> bool {
        self.find(number).is_some()
    }

    fn find(&self, number: u64) -> Option<&Step> {
        let at = self.0.binary_search_by_key(&number, |step| step.number);
        self.0.get(at.ok()?)
    }

    /// Returns the time at which each of these steps began. `None` if it is not known.
    pub(super) fn times(&self, numbers: &[u64]) -> Vec<Option<Duration>> {
        let steps = numbers.iter().map(|&number| self.find(number));
        steps.map(|step| step.map(|step| step.moment.at)).collect()
    }

    /// Returns the last events of the tasks that are involved, the first of which matter most. They come in the order of
    /// their numbers.
    pub(super) fn describe(
        &self,
        words: &Words,
        notes: &Notes,
        involved: &[u64],
        snapshot: &Snapshot,
        shown: Shown,
    ) -> String {
        let mut is_shortened = false;
        let mut text = String::from("\nthe last events\n");
        text.push_str(&notes.describe(|text, moment, what| line(text, Some(moment), what)));
        let mut chosen: Vec<u64> = involved.iter().copied().take(shown.tasks()).collect();
        chosen.sort_unstable();
        for task in chosen {
            let mut own = self.lines(words, task);
            if own.is_empty() {
                continue;
            }
            if shown != Shown::ALL {
                let all = own.len();
                own = folded(own);
                is_shortened |= own.len() != all;
            }
            _ = writeln!(text, "  {}", title(task, words, snapshot));
            let (last, earlier) = last_of_each(own, shown);
            children(&mut text, words, &last);
            if let left_out @ 1.. = earlier.iter().map(|line| line.events).sum() {
                is_shortened = true;
                _ = writeln!(text, "    … {}", counted(left_out as u64, "earlier event"));
            }
            for own in last {
                line(&mut text, own.moment, &own.text);
            }
        }
        if let more @ 1.. = involved.len().saturating_sub(shown.tasks()) {
            is_shortened = true;
            _ = writeln!(text, "  and {}", counted(more as u64, "more task"));
        }
        if is_shortened {
            _ = writeln!(text, "  {VARIABLE}=all shows all events");
        }
        text
    }

    /// Returns the events of a task. Each of its steps has at least one.
    fn lines(&self, words: &Words, task: u64) -> Vec<Line> {
        let steps = words.steps.iter().map(|&number| self.find(number));
        let steps: Vec<Option<&Step>> = steps.collect();
        let mut said = words
            .said
            .iter()
            .filter(|said| said.task == task)
            .peekable();
        let mut lines = Vec::new();
        // Before the first step is what the recorder knows without one.
        for count in 0..=steps.len() {
            let step = count.checked_sub(1).and_then(|at| steps[at]);
            let next = steps.get(count).copied().flatten();
            let own = step.filter(|step| step.task == task);
            let mut during = Vec::new();
            let mut later = Vec::new();
            while let Some(said) = said.next_if(|said| said.step <= count) {
                if said.is_later {
                    later.push(Line::of(next, said, &said.text));
                } else {
                    during.push(said);
                }
            }
            match own {
                Some(step) => add_step(&mut lines, step, &during),
                None => lines.extend(during.iter().map(|said| Line::of(step, said, &said.text))),
            }
            lines.append(&mut later);
        }
        lines
    }
}

/// Adds the events of a task in one of its steps.
fn add_step(lines: &mut Vec<Line>, step: &Step, said: &[&Said]) {
    // The task runs because its wait has ended, so its next event implies that.
    let first = said.iter().position(|said| !said.ends_wait);
    let said = &said[first.unwrap_or(said.len())..];
    let is_preemption = |said: &&Said| said.yields && step.end == End::Preempted;
    let shown = said.iter().enumerate();
    for (at, event) in shown.filter(|(_, event)| !event.text.is_empty()) {
        let next = said.get(at + 1);
        let text = match event.text.strip_prefix(ABOUT_TO) {
            Some(operation) if !next.is_some_and(is_preemption) => {
                match operation.strip_prefix(USE) {
                    Some(object) => format!("uses {object}"),
                    None => format!("tries to {operation}"),
                }
            }
            _ if is_preemption(event) => "is preempted".to_owned(),
            _ => event.text.clone(),
        };
        lines.push(Line::of(Some(step), event, &text));
    }
    let panics = |said: &&Said| said.child.is_none() && said.text.starts_with(PANICS);
    let panics = said.iter().any(panics);
    let end = match step.end {
        End::Done if !panics => Some("ends"),
        End::WithHost => Some("is dropped, as its host has stopped"),
        _ if said.is_empty() => Some("goes on"),
        _ => None,
    };
    lines.extend(end.map(|end| Line::new(Some(step), end)));
}

/// A line of the events of a task.
#[derive(Clone)]
struct Line {
    moment: Option<Moment>,
    /// The child to which it happened; `None` for the task itself.
    child: Option<String>,
    text: String,
    /// Number of events that it stands for.
    events: usize,
    /// Number of lines before it that it says to be repeated.
    repeats: usize,
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
            ..Self::new(step, &text)
        }
    }

    fn new(step: Option<&Step>, text: &str) -> Self {
        Self {
            moment: step.map(|step| step.moment),
            child: None,
            text: text.to_owned(),
            events: 1,
            repeats: 0,
        }
    }
}

/// Replaces the repetitions of a few lines by a line that counts them.
fn folded(lines: Vec<Line>) -> Vec<Line> {
    let mut text = Vec::new();
    let mut rest = &lines[..];
    while !rest.is_empty() {
        let found = (1..=PERIOD).map(|period| (period, repetitions(rest, period)));
        let found = found.filter(|(_, times)| *times >= REPEATED);
        // Of periods that cover as many lines, the shortest.
        let (period, times) = found
            .max_by_key(|(period, times)| (period * times, usize::MAX - period))
            .unwrap_or((1, 1));
        let (here, later) = rest.split_at(period * times);
        text.extend_from_slice(&here[..period]);
        if let (2.., Some(last)) = (times, here.last()) {
            let until = last.moment.map_or_else(String::new, |moment| {
                format!(", until step {}", moment.step)
            });
            text.push(Line {
                moment: None,
                child: None,
                text: format!("… the same {}{until}", times_more(times - 1)),
                events: period * (times - 1),
                repeats: period,
            });
        }
        rest = later;
    }
    text
}

/// Returns the last events of a task, and of each of its children, and the earlier ones. A line about repetitions needs those
/// that it repeats.
fn last_of_each(lines: Vec<Line>, shown: Shown) -> (Vec<Line>, Vec<Line>) {
    let mut counts: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    let mut is_last: Vec<bool> = Vec::new();
    for line in lines.iter().rev() {
        let count = counts.entry(line.child.as_deref()).or_default();
        *count += usize::from(line.repeats == 0);
        is_last.push(*count <= shown.0);
    }
    is_last.reverse();
    for (at, line) in lines.iter().enumerate() {
        if line.repeats > 0 {
            is_last[at] = is_last[at.saturating_sub(line.repeats)..at]
                .iter()
                .all(|is| *is);
        }
    }
    let (last, earlier): (Vec<_>, Vec<_>) = lines
        .into_iter()
        .zip(is_last)
        .partition(|(_, is_last)| *is_last);
    let lines = |of: Vec<(Line, bool)>| of.into_iter().map(|(line, _)| line).collect();
    (lines(last), lines(earlier))
}

/// Writes the lines at which the children of these events were spawned.
fn children(text: &mut String, words: &Words, events: &[Line]) {
    for child in &words.children {
        let is_shown = events
            .iter()
            .any(|line| line.child.as_ref() == Some(&child.name));
        if is_shown && !child.spawned_at.is_empty() {
            _ = writeln!(text, "    {}, spawned at {}", child.name, child.spawned_at);
        }
    }
}

fn times_more(times: usize) -> String {
    counted(times as u64, "time").replacen(' ', " more ", 1)
}

/// Returns the number of repetitions of the first lines, one after the other.
fn repetitions(lines: &[Line], period: usize) -> usize {
    let Some(first) = lines.get(..period) else {
        return 0;
    };
    let is_same = |part: &&[Line]| {
        let pairs = part.iter().zip(first);
        part.len() == period && pairs.clone().all(|(one, other)| one.text == other.text)
    };
    lines.chunks(period).take_while(is_same).count()
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
    // Random latencies have more digits than a reader needs.
    let rounded = |at: Duration| at - Duration::from_nanos(u64::from(at.subsec_nanos() % 1_000));
    let moment = moment.map(|Moment { step, at }| Moment {
        step,
        at: rounded(at),
    });
    _ = match moment {
        Some(Moment { step, at }) if at.is_zero() => writeln!(text, "    step {step}: {what}"),
        Some(Moment { step, at }) => writeln!(text, "    step {step}, {at:?}: {what}"),
        None => writeln!(text, "    {what}"),
    };
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
            is_later: text.ends_with("timer"),
            text: text.into(),
        }
    }

    /// Returns the lines of task 7, each with the number of its step.
    fn lines(steps: impl IntoIterator<Item = Step>, said: Vec<Said>) -> Vec<String> {
        let mut all = Steps::default();
        steps.into_iter().for_each(|step| all.begin(step));
        let words = Words {
            steps: all.0.iter().map(|step| step.number).collect(),
            said,
            ..Words::default()
        };
        let lines = folded(all.lines(&words, 7)).into_iter();
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
        let panics = said(1, "panics at a.rs:1");
        assert_eq!(
            lines([step(1, 7, End::Done)], vec![panics]),
            ["1 panics at a.rs:1"]
        );
        let dropped = lines([step(1, 7, End::WithHost)], Vec::new());
        assert_eq!(dropped, ["1 is dropped, as its host has stopped"]);
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
        // A count needs the lines that it repeats. It takes no room.
        let mut all = vec![Line::new(None, ""); 3];
        (all[1].repeats, all[2].child) = (1, Some("child 1".into()));
        let shown = [0, 1].map(|room| last_of_each(all.clone(), Shown(room)).0.len());
        assert_eq!(shown, [0, 3]);
        // Two are shown as they are.
        let steps = (1..=2).map(|number| step(number, 7, End::Pause));
        assert_eq!(lines(steps, Vec::new()), ["1 goes on", "2 goes on"]);
    }

    #[test]
    fn the_number_of_shown_events_is_a_number_or_all() {
        assert_eq!("all".parse(), Ok(Shown::ALL));
        assert_eq!("7".parse(), Ok(Shown(7)));
        for wrong in ["", "every", "-1"] {
            assert!(wrong.parse::<Shown>().is_err(), "{wrong}");
        }
        assert_eq!(
            (Shown::LAST.tasks(), Shown::ALL.tasks()),
            (TASKS, usize::MAX)
        );
    }

    #[test]
    fn only_the_last_steps_are_kept() {
        let mut steps = Steps::default();
        for number in 0..STEPS as u64 + 3 {
            steps.begin(step(number, 1, End::Pause));
        }
        assert_eq!((steps.0.len(), steps.0[0].moment.step), (STEPS, 3));
    }
}
