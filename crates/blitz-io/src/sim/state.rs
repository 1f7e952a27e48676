//! `State`: the tasks of a run, which of them are ready, and the decisions between them.

use super::events::Steps;
use super::members::{Member, Members, Standing};
use super::schedule::{Choice, Chooser, What};
use super::trace::Decision;

/// The index of no task.
pub(super) const NONE: u32 = u32::MAX;

/// Lists of a run, whose memory the next one uses again.
#[derive(Default)]
pub(super) struct Lists {
    pub(super) decisions: Vec<Decision>,
    /// The tasks of the run, in the order in which they became ready first, which is that of their spawns.
    pub(super) tasks: Vec<u64>,
    /// The indexes of the ready tasks, as the scheduler's queue.
    pub(super) ready: Vec<u32>,
    /// Number of objects that each task has made, by its index and one. The first is that outside of tasks.
    pub(super) made: Vec<u32>,
    /// Number of operations that each task has begun and not completed, by its index.
    pub(super) unfinished: Vec<u32>,
}

impl Lists {
    /// Makes them empty.
    pub(super) fn clear(&mut self) {
        self.decisions.clear();
        self.tasks.clear();
        self.ready.clear();
        self.made.clear();
        self.unfinished.clear();
    }
}

/// See the module documentation.
pub(super) struct State {
    pub(super) chooser: Chooser,
    pub(super) lists: Lists,
    /// The index of the task that is being polled, or [`NONE`].
    pub(super) current: u32,
    /// The fault of `Faults` that the current code decides.
    pub(super) fault: Option<u32>,
    /// The index of the task that runs next, if a point has decided that.
    pub(super) preset: Option<usize>,
    /// The worker on which it runs, if its code has asked in this step.
    pub(super) worker: Option<u32>,
    pub(super) members: Members,
    /// The host on which the current code runs.
    pub(super) member: Member,
    /// The ready tasks that may run, and their indexes in `ready`, if a host is paused.
    pub(super) runnable: (Vec<u32>, Vec<usize>),
    pub(super) last_steps: Steps,
}

impl State {
    /// `lists` are empty.
    pub(super) fn new(chooser: Chooser, lists: Lists) -> Self {
        Self {
            chooser,
            lists,
            current: NONE,
            fault: None,
            preset: None,
            worker: None,
            members: Members::default(),
            member: Member::TEST,
            runnable: (Vec::new(), Vec::new()),
            last_steps: Steps::default(),
        }
    }

    /// Returns the index of a task, which is ready.
    #[inline]
    pub(super) fn index_of(&mut self, task: u64) -> u32 {
        // Numbers count up, so mostly they are those from the first one on.
        let first = self.lists.tasks.first().copied().unwrap_or(task);
        let guess = task.wrapping_sub(first) as usize;
        if self.lists.tasks.get(guess) == Some(&task) {
            return guess as u32;
        }
        self.look_for(task)
    }

    /// Returns the number in the process of the task that is being polled.
    pub(super) fn current_number(&self) -> Option<u64> {
        self.lists.tasks.get(self.current as usize).copied()
    }

    /// Returns the index of a task, if it is one of the run.
    pub(super) fn position(&self, task: u64) -> Option<usize> {
        self.lists.tasks.iter().position(|&other| other == task)
    }

    /// Returns `true` if the task is of a host whose life has ended.
    pub(super) fn is_gone(&self, task: u64) -> bool {
        let index = self.position(task);
        index.is_some_and(|index| self.members.standing(index as u32) == Standing::Gone)
    }

    #[cold]
    pub(super) fn look_for(&mut self, task: u64) -> u32 {
        let count = self.lists.tasks.len();
        if self.lists.tasks.last().is_none_or(|&last| last < task) {
            self.lists.tasks.push(task);
            return count as u32;
        }
        // Between the numbers are those of other threads' tasks.
        if let Ok(index) = self.lists.tasks.binary_search(&task) {
            return index as u32;
        }
        // A task that another thread has spawned into the runtime may be out of order.
        self.position(task).unwrap_or_else(|| {
            self.lists.tasks.push(task);
            count
        }) as u32
    }

    /// The poll of the task has ended with so many operations that it has begun and not completed.
    #[inline]
    pub(super) fn keep_unfinished(&mut self, task: u32, operations: u32) {
        let (index, all) = (task as usize, &mut self.lists.unfinished);
        if index >= all.len() {
            all.resize(index + 1, 0);
        }
        all[index] = operations;
    }

    #[inline]
    pub(super) fn decide(&mut self, what: What, of: usize) -> usize {
        if of < 2 {
            return 0;
        }
        let of = of as u32;
        let choice = match &mut self.chooser {
            Chooser::Random(random) => random.choose(what, of),
            _ => self.choose(what, of),
        };
        self.lists.decisions.push(Decision { of, choice });
        choice as usize
    }

    /// Lets a schedule choose that looks at the tasks.
    pub(super) fn choose(&mut self, what: What, of: u32) -> u32 {
        self.chooser.choose(&Choice {
            what,
            of,
            current: self.current,
            fault: self.fault,
            ready: if self.members.has_paused() {
                &self.runnable.0
            } else {
                &self.lists.ready
            },
        })
    }

    /// Finds the ready tasks that may run, and returns their number.
    #[inline]
    pub(super) fn find_runnable(&mut self) -> usize {
        if !self.members.has_paused() {
            return self.lists.ready.len();
        }
        self.look_for_runnable()
    }

    #[cold]
    pub(super) fn look_for_runnable(&mut self) -> usize {
        let (tasks, indexes) = &mut self.runnable;
        tasks.clear();
        indexes.clear();
        for (index, &task) in self.lists.ready.iter().enumerate() {
            if self.members.standing(task) == Standing::Runs {
                tasks.push(task);
                indexes.push(index);
            }
        }
        tasks.len()
    }

    /// Returns `true` if the current task must let another one run.
    #[cold]
    pub(super) fn must_stop(&mut self) -> bool {
        if self.members.standing(self.current) != Standing::Runs {
            // Its host has been stopped by this poll.
            return true;
        }
        let gone = self.members.first_gone(&self.lists.ready);
        if gone.is_some() {
            self.preset = gone;
        }
        gone.is_some()
    }

    /// Returns the index in `ready` of a task that may run.
    #[inline]
    pub(super) fn index(&self, runnable: usize) -> usize {
        if self.members.has_paused() {
            self.runnable.1[runnable]
        } else {
            runnable
        }
    }

    /// Returns the index of the task that runs next; `None` if all hosts with ready tasks are paused.
    #[inline]
    pub(super) fn select(&mut self) -> Option<usize> {
        // A task of a host that has crashed only drops its future. It does that before anything else.
        if let Some(index) = self.members.first_gone(&self.lists.ready) {
            return Some(index);
        }
        let of = self.find_runnable();
        if of == 0 {
            return None;
        }
        let choice = self.decide(What::Task, of);
        Some(self.index(choice))
    }
}
