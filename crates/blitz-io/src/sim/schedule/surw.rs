//! SURW: the order of the operations on one contended object is drawn so that each is about equally likely.
//!
//! A run selects one object that several tasks of earlier runs have used. It draws the task that uses it next,
//! with a probability proportional to how many operations on it the task still has to do. The other tasks
//! run as they like, but wait before their own operations on it until the drawn task has done its one.

use std::collections::HashMap;

use super::Choice;
use super::random::Random;
use super::tasks::Tasks;

/// The operations of earlier runs: how many of each task, by its index, on each object.
#[derive(Default)]
pub(in crate::sim) struct Profile(HashMap<u32, HashMap<u32, u32>>);

impl Profile {
    /// Adds the operations of a run. The largest count stays.
    fn add(&mut self, counts: &HashMap<(u32, u32), u32>) {
        for (&(object, task), &count) in counts {
            let known = self.0.entry(object).or_default().entry(task).or_default();
            *known = count.max(*known);
        }
    }

    /// Returns a contended object.
    fn draw(&self, random: &mut Random) -> Option<u32> {
        let contended = self.0.iter().filter(|(_, tasks)| tasks.len() > 1);
        let mut objects: Vec<u32> = contended.map(|(&object, _)| object).collect();
        // The order of a `HashMap` differs from run to run.
        objects.sort_unstable();
        let index = random.below(objects.len() as u32) as usize;
        objects.get(index).copied()
    }
}

pub(in crate::sim) struct Surw {
    random: Random,
    /// The object whose operations are ordered; 0 if no object is known to be contended.
    object: u32,
    /// How many operations on it each task, by its index, still has to do.
    left: HashMap<u32, u32>,
    /// The index of the task that uses it next.
    drawn: Option<u32>,
    /// Index and next operation's object of each task.
    tasks: Tasks<(u32, u32)>,
    /// The operations of this run, by object and task.
    counts: HashMap<(u32, u32), u32>,
}

impl Surw {
    pub(super) fn new(seed: u64, profile: &Profile) -> Self {
        let mut random = Random::new(seed);
        let object = profile.draw(&mut random).unwrap_or(0);
        let mut this = Self {
            random,
            object,
            left: profile.0.get(&object).cloned().unwrap_or_default(),
            drawn: None,
            tasks: Tasks::default(),
            counts: HashMap::new(),
        };
        this.draw();
        this
    }

    /// Adds the operations of this run to those of earlier ones.
    pub(in crate::sim) fn add_to(&self, profile: &mut Profile) {
        profile.add(&self.counts);
    }

    /// Draws the task that uses the object next.
    fn draw(&mut self) {
        let mut tasks: Vec<(u32, u32)> = self.left.iter().map(|(&task, &n)| (task, n)).collect();
        tasks.sort_unstable();
        let total: u32 = tasks.iter().map(|&(_, left)| left).sum();
        let mut at = self.random.below(total);
        self.drawn = tasks.into_iter().find_map(|(task, left)| {
            let is_here = at < left;
            at = at.saturating_sub(left);
            is_here.then_some(task)
        });
    }

    fn entry(&mut self, task: u64) -> &mut (u32, u32) {
        let next = self.tasks.len() as u32;
        self.tasks.entry(task).or_insert((next, 0))
    }

    pub(super) fn ready(&mut self, task: u64) {
        self.entry(task);
    }

    pub(super) fn operates(&mut self, task: u64, object: u32) {
        let entry = self.entry(task);
        entry.1 = object;
        let index = entry.0;
        if object != 0 {
            *self.counts.entry((object, index)).or_default() += 1;
        }
    }

    pub(super) fn choose(&mut self, choice: &Choice<'_>) -> u32 {
        if !choice.is_of_tasks() {
            return self.random.choose(choice);
        }
        let entry = |this: &Self, alternative| {
            let known = this.tasks.get(&choice.task(alternative));
            known.copied().unwrap_or_default()
        };
        let may_run = |this: &Self, alternative: u32| {
            let (index, object) = entry(this, alternative);
            this.object == 0 || object != this.object || this.drawn == Some(index)
        };
        let free: Vec<u32> = (0..choice.of).filter(|&at| may_run(self, at)).collect();
        // If the drawn task waits, any other one may go first.
        let chosen = match free.len() {
            0 => self.random.below(choice.of),
            n => free[self.random.below(n as u32) as usize],
        };
        let (index, object) = entry(self, chosen);
        if self.object != 0 && object == self.object {
            let left = self.left.entry(index).or_default();
            *left = left.saturating_sub(1);
            self.draw();
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A task with nine operations on the object and one with one: the latter comes at each of the ten places
    /// about equally often. A random walk would take it first in half of the runs.
    #[test]
    fn the_place_of_a_rare_operation_is_uniform() {
        let mut profile = Profile::default();
        profile.add(&HashMap::from([((1, 0), 9), ((1, 1), 1)]));
        let mut places = [0; 10];
        for seed in 0..5_000 {
            let mut surw = Surw::new(seed, &profile);
            assert_eq!(surw.object, 1);
            surw.ready(10);
            surw.ready(20);
            surw.tasks.insert(10, (0, 1));
            surw.tasks.insert(20, (1, 1));
            let choice = Choice::of_ready(&[10, 20]);
            let place = (0..9).take_while(|_| surw.choose(&choice) == 0).count();
            places[place] += 1;
        }
        assert!(places.iter().all(|n| (400..600).contains(n)), "{places:?}");
    }
}
