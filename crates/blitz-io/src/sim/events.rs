//! The last events of each task that a failure involves, in words.
//!
//! While a run is explained, the recorder of `blitz trace` is on. It is the process's: other threads record, too, and
//! only the events of the run's tasks are read. It knows polls, and the run knows which step each poll was: the polls
//! of the run's tasks are its steps, in their order. The recorder may have lost the oldest ones, so both are compared
//! from the end.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use blitz_io_inspect::trace::{Recording, Said};
use blitz_io_inspect::{Snapshot, Waiter, of_waiter, short_place};
use blitz_io_observe::trace;

/// The number of events of each task.
const EVENTS: usize = 20;
/// The largest number of tasks.
const TASKS: usize = 8;
/// The largest number of steps that are kept. The recorder keeps fewer events.
const STEPS: usize = 1 << 16;

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
    number: u64,
    task: u64,
    /// The simulated time since the run has begun.
    at: Duration,
    /// Another task ran before the next operation.
    is_preempted: bool,
}

/// The last steps of a run.
#[derive(Default)]
pub(super) struct Steps(VecDeque<Step>);

impl Steps {
    /// A step of the task begins.
    pub(super) fn begin(&mut self, number: u64, task: u64, at: Duration) {
        if self.0.len() == STEPS {
            self.0.pop_front();
        }
        self.0.push_back(Step {
            number,
            task,
            at,
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

    /// Returns the last events of the tasks that are involved, the first of which matter most. `tasks` are those of the run.
    pub(super) fn describe(&self, tasks: &[u64], involved: &[u64], snapshot: &Snapshot) -> String {
        let Ok(recording) = Recording::parse(trace::recording().as_bytes()) else {
            return String::new();
        };
        let (polls, said) = recording.words(&tasks.iter().copied().collect());
        let steps = self.of_polls(&polls);
        let mut text = String::from("\nthe last events\n");
        for &task in involved.iter().take(TASKS) {
            let own: Vec<&Said> = said.iter().filter(|said| said.task == task).collect();
            let mut name = match tasks.first() {
                // It may have ended.
                Some(&own) if own == task => format!("task {task} \"the test\""),
                _ => of_waiter(snapshot, Waiter::Task(task)),
            };
            let mut alive = snapshot.tasks.iter();
            let alive = alive.find(|alive| alive.id == task && !alive.location.is_empty());
            if let Some(alive) = alive {
                _ = write!(name, ", spawned at {}", short_place(&alive.location));
            }
            _ = writeln!(text, "  {name}");
            for said in &own[own.len().saturating_sub(EVENTS)..] {
                let poll = said.poll.checked_sub(usize::from(!said.is_later));
                let step = poll.and_then(|poll| steps.get(poll).copied().flatten());
                line(&mut text, said, step);
            }
        }
        if let more @ 1.. = involved.len().saturating_sub(TASKS) {
            _ = writeln!(text, "  and {more} more tasks");
        }
        text
    }
}

fn line(text: &mut String, said: &Said, step: Option<&Step>) {
    let is_preempted = said.yields && step.is_some_and(|step| step.is_preempted);
    let what = if is_preempted {
        "is preempted"
    } else {
        &said.text
    };
    _ = match step {
        Some(step) if step.at.is_zero() => writeln!(text, "    step {}: {what}", step.number),
        Some(step) => writeln!(text, "    step {}, {:?}: {what}", step.number, step.at),
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

    fn steps(tasks: &[u64]) -> Steps {
        let mut steps = Steps::default();
        for (number, &task) in (1..).zip(tasks) {
            steps.begin(number, task, Duration::ZERO);
        }
        steps
    }

    fn numbers(steps: &Steps, polls: &[u64]) -> Vec<Option<u64>> {
        let found = steps.of_polls(polls);
        found
            .iter()
            .map(|step| step.map(|step| step.number))
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
    fn only_the_last_steps_are_kept() {
        let mut steps = Steps::default();
        for number in 0..STEPS as u64 + 3 {
            steps.begin(number, 1, Duration::ZERO);
        }
        assert_eq!((steps.0.len(), steps.0[0].number), (STEPS, 3));
    }
}
