//! PCT: the task with the highest priority runs, and priorities change at a few random decisions.
//!
//! At most points the task that runs has the highest priority still. It is the `leader` then, and the others need no
//! look: priorities only become lower, and a task that becomes ready is compared with the leader.

use super::random::Random;
use super::tasks::Tasks;
use super::{Choice, What};

/// Priorities from here on are those of tasks that have not been lowered.
const HIGH: u64 = 1 << 63;

pub(in crate::sim) struct Pct {
    random: Random,
    /// 0: it is not drawn yet.
    priorities: Tasks<u64>,
    /// The decisions at which the running task is lowered, the last one first.
    changes: Vec<u64>,
    /// Number of decisions so far.
    decisions: u64,
    /// The operations before which the task is lowered: an object, and the number of operations on it until then.
    targets: Vec<(u32, u32)>,
    /// The lowest priority that is in use.
    lowest: u64,
    /// A task whose priority is higher than that of each other task that may run.
    leader: Option<u32>,
}

impl Pct {
    /// `length` is the expected number of decisions.
    pub(super) fn new(seed: u64, depth: u32, length: u64) -> Self {
        let mut this = Self {
            random: Random::new(seed),
            priorities: Tasks::default(),
            changes: Vec::new(),
            decisions: 0,
            targets: Vec::new(),
            lowest: HIGH,
            leader: None,
        };
        this.restart(seed, depth, length);
        this
    }

    /// Makes it like a new one, with the memory that it has.
    pub(in crate::sim) fn restart(&mut self, seed: u64, depth: u32, length: u64) {
        self.random = Random::new(seed);
        self.changes.clear();
        for _ in 1..depth {
            self.changes.push(1 + self.random.number() % length.max(1));
        }
        self.changes.sort_unstable_by(|one, other| other.cmp(one));
        self.priorities.clear();
        self.targets.clear();
        (self.decisions, self.lowest, self.leader) = (0, HIGH, None);
    }

    /// Creates one whose priorities change before these operations: an object, and which of the operations on it, from 1.
    pub(super) fn before(seed: u64, targets: Vec<(u32, u32)>) -> Self {
        Self {
            targets,
            ..Self::new(seed, 1, 0)
        }
    }

    /// The task begins an operation.
    #[inline]
    pub(super) fn operates(&mut self, task: u32, object: u32) {
        if !self.targets.is_empty() {
            self.meet_targets(task, object);
        }
    }

    fn meet_targets(&mut self, task: u32, object: u32) {
        for target in self.targets.iter_mut().filter(|target| target.0 == object) {
            target.1 = target.1.saturating_sub(1);
            if target.1 == 0 {
                // No object has this number, so it is done.
                target.0 = 0;
                self.lowest -= 1;
                *self.priorities.entry(task) = self.lowest;
                self.leader = None;
            }
        }
    }

    /// The task has become ready.
    #[inline]
    pub(super) fn ready(&mut self, task: u32) {
        let is_behind = |leader| {
            let priority = self.priorities.get(task);
            priority != 0 && priority <= self.priorities.get(leader)
        };
        self.leader = self.leader.filter(|&leader| is_behind(leader));
    }

    /// Other tasks may run than before.
    #[cfg(feature = "net")]
    pub(super) fn hosts_change(&mut self) {
        self.leader = None;
    }

    /// The task has yielded: it waits for others. With its old priority it could keep them from running for
    /// ever.
    pub(super) fn yields(&mut self, task: u32) {
        self.lower(task);
    }

    fn lower(&mut self, task: u32) {
        (self.lowest, self.leader) = (self.lowest - 1, None);
        *self.priorities.entry(task) = self.lowest;
    }

    #[inline]
    pub(super) fn choose(&mut self, choice: &Choice<'_>) -> u32 {
        let next = self.decisions + 1;
        if self.leads(choice) && self.changes.last().is_none_or(|&at| at > next) {
            self.decisions = next;
            return 0;
        }
        self.choose_slowly(choice)
    }

    /// Returns `true` if the task that is at a point has the highest priority still.
    #[inline]
    fn leads(&self, choice: &Choice<'_>) -> bool {
        choice.what == What::Point && self.leader == Some(choice.current)
    }

    #[inline(never)]
    fn choose_slowly(&mut self, choice: &Choice<'_>) -> u32 {
        if !choice.is_of_tasks() {
            return self.random.choose(choice.what, choice.of);
        }
        self.decisions += 1;
        let mut best = self.best(choice);
        while self.changes.last().is_some_and(|&at| at <= self.decisions) {
            self.changes.pop();
            self.lower(choice.task(best));
            best = self.best(choice);
        }
        self.leader = Some(choice.task(best));
        best
    }

    fn best(&mut self, choice: &Choice<'_>) -> u32 {
        if self.leads(choice) {
            return 0;
        }
        choice.greatest(|task| {
            let priority = self.priorities.entry(task);
            if *priority == 0 {
                *priority = self.random.number() | HIGH;
            }
            *priority
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_running_task_is_lowered_depth_less_one_times() {
        for seed in 0..50 {
            let mut pct = Pct::new(seed, 3, 20);
            let ready = [1, 2, 3, 4];
            let choice = Choice::of_ready(&ready);
            let chosen: Vec<u32> = (0..40).map(|_| pct.choose(&choice)).collect();
            let switches = chosen.windows(2).filter(|two| two[0] != two[1]).count();
            assert!(switches <= 2, "{chosen:?}");
            assert!(pct.changes.is_empty() && pct.lowest == HIGH - 2);
        }
    }

    #[test]
    fn the_leader_is_the_task_that_a_look_at_all_finds() {
        for seed in 0..50 {
            let (mut pct, mut random) = (Pct::new(seed, 4, 100), Random::new(!seed));
            let (mut ready, mut current) = (vec![1, 2, 3], 0);
            for _ in 0..100 {
                if random.below(3) == 0 {
                    let task = 4 + ready.len() as u32;
                    ready.push(task);
                    pct.ready(task);
                }
                let choice = Choice {
                    what: What::Point,
                    of: ready.len() as u32 + 1,
                    current,
                    fault: None,
                    ready: &ready,
                };
                let chosen = choice.task(pct.choose(&choice));
                pct.leader = None;
                assert_eq!(chosen, choice.task(pct.best(&choice)), "seed {seed}");
                pct.leader = Some(chosen);
                if let Some(place) = ready.iter().position(|&task| task == chosen) {
                    ready[place] = current;
                    current = chosen;
                }
            }
        }
    }

    #[test]
    fn a_task_is_lowered_before_an_operation() {
        let mut pct = Pct::before(3, vec![(7, 2)]);
        let ready = [1, 2];
        let choice = Choice::of_ready(&ready);
        let first = choice.task(pct.choose(&choice));
        pct.operates(first, 7);
        pct.operates(first, 8);
        assert_eq!(choice.task(pct.choose(&choice)), first);
        pct.operates(first, 7);
        assert_ne!(choice.task(pct.choose(&choice)), first);
        pct.operates(first, 7);
        assert_eq!(pct.lowest, HIGH - 1);
    }

    #[test]
    fn a_task_that_yields_lets_others_run() {
        for seed in 0..50 {
            let mut pct = Pct::new(seed, 1, 20);
            let ready = [1, 2, 3];
            let choice = Choice::of_ready(&ready);
            let mut chosen: Vec<u32> = (0..3)
                .map(|_| {
                    let task = choice.task(pct.choose(&choice));
                    pct.yields(task);
                    task
                })
                .collect();
            chosen.sort_unstable();
            assert_eq!(chosen, ready);
        }
    }
}
