//! The last events of each task that a failure involves, in words.
//!
//! While a run is explained, the recorder of `blitz trace` is on. It is the process's: other threads record, too, and
//! only the events of the run's tasks are read. It knows polls, and the run knows which step each poll was: the polls
//! of the run's tasks are its steps, in their order. The recorder may have lost the oldest ones, so both are compared
//! from the end.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use blitz_io_inspect::trace::{Said, Words};
use blitz_io_inspect::{Snapshot, Waiter, of_waiter, short_place};
use blitz_io_observe::trace;

use super::notes::{Moment, Notes};
use super::trace::ParseError;

/// The number of the test's own task in a run.
pub(super) const TEST: u64 = 1;
/// The variable of the environment with the number of events of each task.
pub(super) const VARIABLE: &str = "BLITZ_SIM_EVENTS";
/// The largest number of tasks, unless all events are shown.
const TASKS: usize = 8;
/// The largest number of steps that are kept. The recorder keeps fewer events.
const STEPS: usize = 1 << 16;

/// The number of events of each task that are shown, from the last one back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shown(usize);

impl Shown {
    pub(super) const LAST: Self = Self(20);
    /// Also the events of all tasks.
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

/// A step of a run.
struct Step {
    moment: Moment,
    /// The number of the task in the run.
    task: u64,
    /// Another task ran before the next operation.
    is_preempted: bool,
}

/// The last steps of a run.
#[derive(Default)]
pub(super) struct Steps(VecDeque<Step>);

impl Steps {
    /// A step of the task begins.
    pub(super) fn begin(&mut self, moment: Moment, task: u64) {
        if self.0.len() == STEPS {
            self.0.pop_front();
        }
        self.0.push_back(Step {
            moment,
            task,
            is_preempted: false,
        });
    }

    /// The last step ends, as another task runs before the next operation.
    pub(super) fn preempted(&mut self) {
        if let Some(step) = self.0.back_mut() {
            step.is_preempted = true;
        }
    }

    /// Returns the tasks of the last steps, the last one first.
    pub(super) fn tasks(&self) -> impl Iterator<Item = u64> {
        self.0.iter().rev().map(|step| step.task)
    }

    /// Returns the step of each poll. `None` if it is not known.
    fn of_polls(&self, polls: &[u64]) -> Vec<Option<&Step>> {
        let both = polls.iter().rev().zip(self.0.iter().rev());
        let same = both.take_while(|(task, step)| **task == step.task);
        let mut steps: Vec<Option<&Step>> = same.map(|(_, step)| Some(step)).collect();
        steps.resize(polls.len(), None);
        steps.reverse();
        steps
    }

    /// Returns the time at which each poll began. `None` if it is not known.
    pub(super) fn times(&self, polls: &[u64]) -> Vec<Option<Duration>> {
        let steps = self.of_polls(polls).into_iter();
        steps.map(|step| step.map(|step| step.moment.at)).collect()
    }

    /// Returns the last events of the tasks that are involved, the first of which matter most.
    pub(super) fn describe(
        &self,
        words: &Words,
        notes: &Notes,
        involved: &[u64],
        snapshot: &Snapshot,
        shown: Shown,
    ) -> String {
        let mut is_shortened = false;
        let steps = self.of_polls(&words.polls);
        let mut text = String::from("\nthe last events\n");
        text.push_str(&notes.describe(|text, moment, what| line(text, Some(moment), what)));
        for &task in involved.iter().take(shown.tasks()) {
            let own = words.said.iter().filter(|said| said.task == task);
            let own: Vec<&Said> = own.collect();
            let last = last_of_each(&own, shown);
            _ = writeln!(text, "  {}", title(task, snapshot));
            children(&mut text, words, &last);
            let earlier = own.len() - last.len();
            if earlier > 0 {
                is_shortened = true;
                _ = writeln!(text, "    … {}", counted(earlier, "earlier event"));
            }
            for said in last {
                event(&mut text, said, &steps);
            }
        }
        if let more @ 1.. = involved.len().saturating_sub(shown.tasks()) {
            is_shortened = true;
            _ = writeln!(text, "  and {}", counted(more, "more task"));
        }
        if is_shortened {
            _ = writeln!(text, "  {VARIABLE}=all shows all events");
        }
        text
    }
}

/// Returns the last events of a task, and of each of its children.
fn last_of_each<'a>(own: &[&'a Said], shown: Shown) -> Vec<&'a Said> {
    let mut counts: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    let is_shown = |said: &&'a Said| {
        let count = counts.entry(said.child.as_deref()).or_default();
        *count += 1;
        *count <= shown.0
    };
    let mut last: Vec<&Said> = own.iter().rev().copied().filter(is_shown).collect();
    last.reverse();
    last
}

/// Writes the lines at which the children of these events were spawned.
fn children(text: &mut String, words: &Words, events: &[&Said]) {
    for child in &words.children {
        let is_shown = events
            .iter()
            .any(|said| said.child.as_ref() == Some(&child.name));
        if is_shown && !child.spawned_at.is_empty() {
            _ = writeln!(text, "    {}, spawned at {}", child.name, child.spawned_at);
        }
    }
}

/// Writes an event. `steps`: the step of each poll.
fn event(text: &mut String, said: &Said, steps: &[Option<&Step>]) {
    let poll = said.poll.checked_sub(usize::from(!said.is_later));
    let step = poll.and_then(|poll| steps.get(poll).copied().flatten());
    let is_preempted = said.yields && step.is_some_and(|step| step.is_preempted);
    let what = if is_preempted {
        "is preempted"
    } else {
        &said.text
    };
    let moment = step.map(|step| step.moment);
    match &said.child {
        Some(child) => line(text, moment, &format!("{child} {what}")),
        None => line(text, moment, what),
    }
}

/// Returns a number of things in words.
fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// Returns the name of a task, and the location at which it was spawned if it has not ended.
fn title(task: u64, snapshot: &Snapshot) -> String {
    let mut name = match task {
        // It may have ended.
        TEST => format!("task {task} \"the test\""),
        _ => of_waiter(snapshot, Waiter::Task(task)),
    };
    let alive = snapshot.task(task);
    if let Some(alive) = alive.filter(|alive| !alive.location.is_empty()) {
        _ = write!(name, ", spawned at {}", short_place(&alive.location));
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

    fn steps(tasks: &[u64]) -> Steps {
        let mut steps = Steps::default();
        for (number, &task) in (1..).zip(tasks) {
            steps.begin(moment(number), task);
        }
        steps
    }

    fn numbers(steps: &Steps, polls: &[u64]) -> Vec<Option<u64>> {
        let found = steps.of_polls(polls);
        found
            .iter()
            .map(|step| step.map(|step| step.moment.step))
            .collect()
    }

    #[test]
    fn polls_are_the_last_steps() {
        let steps = steps(&[7, 8, 7, 9]);
        assert_eq!(numbers(&steps, &[7, 9]), [Some(3), Some(4)]);
        assert_eq!(
            numbers(&steps, &[8, 9, 7, 9]),
            [None, None, Some(3), Some(4)]
        );
        let all: Vec<_> = (1..=4).map(Some).collect();
        assert_eq!(numbers(&steps, &[7, 8, 7, 9]), all);
        assert_eq!(numbers(&steps, &[5, 7, 8, 7, 9])[0], None);
        assert_eq!(each_once(steps.tasks()), [9, 7, 8]);
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
            steps.begin(moment(number), 1);
        }
        assert_eq!((steps.0.len(), steps.0[0].moment.step), (STEPS, 3));
    }
}
