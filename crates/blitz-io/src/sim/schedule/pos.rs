//! POS: each next operation has a random priority. After an operation, those on the same object that are still
//! to come get new priorities, as only their order with it mattered.

use super::Choice;
use super::random::Random;
use super::tasks::Tasks;

/// The next operation of a task.
#[derive(Clone, Copy, Default)]
struct Pending {
    priority: u64,
    /// 0 if it is not known: then it conflicts with no other one.
    object: u32,
}

pub(in crate::sim) struct Pos {
    random: Random,
    pending: Tasks<Pending>,
}

impl Pos {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            pending: Tasks::default(),
        }
    }

    /// The task has a next operation: the one for which it has waited.
    pub(super) fn ready(&mut self, task: u32) {
        self.pending.entry(task).priority = self.random.number();
    }

    /// The task has yielded. Its priority becomes smaller each time, so that it does not keep the task from running for
    /// which it waits.
    pub(super) fn yields(&mut self, task: u32) {
        let priority = &mut self.pending.entry(task).priority;
        *priority = self.random.number() % (*priority).max(1);
    }

    pub(super) fn operates(&mut self, task: u32, object: u32) {
        let priority = self.random.number();
        *self.pending.entry(task) = Pending { priority, object };
    }

    pub(super) fn choose(&mut self, choice: &Choice<'_>) -> u32 {
        if !choice.is_of_tasks() {
            return self.random.choose(choice.what, choice.of);
        }
        let best = choice.greatest(|task| self.pending.get(task).priority);
        let object = self.pending.get(choice.task(best)).object;
        if object != 0 {
            for alternative in (0..choice.of).filter(|&other| other != best) {
                let task = choice.task(alternative);
                if self.pending.get(task).object == object {
                    self.ready(task);
                }
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_operations_on_the_same_object_get_new_priorities() {
        let mut pos = Pos::new(7);
        for (task, object) in [(1, 5), (2, 5), (3, 6), (4, 0)] {
            pos.operates(task, object);
        }
        pos.pending.entry(1).priority = u64::MAX;
        let before = pos.pending.clone();
        let ready = [1, 2, 3, 4];
        let choice = Choice::of_ready(&ready);
        assert_eq!(pos.choose(&choice), 0);
        let changed = ready.map(|task| pos.pending.get(task).priority != before.get(task).priority);
        assert_eq!(changed, [false, true, false, false]);
    }
}
