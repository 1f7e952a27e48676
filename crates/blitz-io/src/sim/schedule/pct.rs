//! PCT: the task with the highest priority runs, and priorities change at a few random decisions.

use super::Choice;
use super::random::Random;
use super::tasks::Tasks;

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
}

impl Pct {
    /// `length` is the expected number of decisions.
    pub(super) fn new(seed: u64, depth: u32, length: u64) -> Self {
        let mut random = Random::new(seed);
        let mut changes: Vec<u64> = (1..depth)
            .map(|_| 1 + random.number() % length.max(1))
            .collect();
        changes.sort_unstable_by(|one, other| other.cmp(one));
        Self {
            random,
            priorities: Tasks::default(),
            changes,
            decisions: 0,
            targets: Vec::new(),
            lowest: HIGH,
        }
    }

    /// Creates one whose priorities change before these operations: an object, and which of the operations on it, from 1.
    pub(super) fn before(seed: u64, targets: Vec<(u32, u32)>) -> Self {
        Self {
            targets,
            ..Self::new(seed, 1, 0)
        }
    }

    /// The task begins an operation.
    pub(super) fn operates(&mut self, task: u32, object: u32) {
        for target in self.targets.iter_mut().filter(|target| target.0 == object) {
            target.1 = target.1.saturating_sub(1);
            if target.1 == 0 {
                // No object has this number, so it is done.
                target.0 = 0;
                self.lowest -= 1;
                *self.priorities.entry(task) = self.lowest;
            }
        }
    }

    /// The task has yielded: it waits for others. With its old priority it could keep them from running for
    /// ever.
    pub(super) fn yields(&mut self, task: u32) {
        self.lowest -= 1;
        *self.priorities.entry(task) = self.lowest;
    }

    pub(super) fn choose(&mut self, choice: &Choice<'_>) -> u32 {
        if !choice.is_of_tasks() {
            return self.random.choose(choice);
        }
        self.decisions += 1;
        let mut best = self.best(choice);
        while self.changes.last().is_some_and(|&at| at <= self.decisions) {
            self.changes.pop();
            self.lowest -= 1;
            *self.priorities.entry(choice.task(best)) = self.lowest;
            best = self.best(choice);
        }
        best
    }

    fn best(&mut self, choice: &Choice<'_>) -> u32 {
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
