//! SURW: the order of the operations on one contended object is drawn so that each is about equally likely.
//!
//! A run selects one object that several tasks have used in the run whose operations are counted (`counting.rs`). It draws the task that uses it next,
//! with a probability proportional to how many operations on it the task still has to do. The other tasks
//! run as they like, but wait before their own operations on it until the drawn task has done its one.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

use super::Choice;
use super::random::Random;
use super::tasks::{OfNumber, Tasks};

/// The operations of a run.
#[derive(Default)]
pub(super) struct Counts {
    /// Number of operations of each task on each object: by object and task.
    operations: HashMap<(u32, u32), u32, BuildHasherDefault<OfNumber>>,
}

impl Counts {
    #[inline]
    pub(super) fn add(&mut self, task: u32, object: u32) {
        if object != 0 {
            *self.operations.entry((object, task)).or_default() += 1;
        }
    }
}

/// The operations of one run or more.
#[derive(Default)]
pub(in crate::sim) struct Profile {
    /// Number of operations of each task, by its index, on each object.
    operations: BTreeMap<u32, BTreeMap<u32, u32>>,
}

impl Profile {
    /// Adds the operations of a run. The largest count stays.
    pub(super) fn add(&mut self, counts: &Counts) {
        for (&(object, task), &count) in &counts.operations {
            let known = self.operations.entry(object).or_default();
            let known = known.entry(task).or_default();
            *known = count.max(*known);
        }
    }

    /// Returns a contended object. The more operations meet those of other tasks, the likelier it is.
    fn draw(&self, random: &mut Random) -> Option<u32> {
        let all = || {
            self.operations
                .iter()
                .map(|(&object, tasks)| (object, contention(tasks)))
        };
        let total = all().map(|(_, weight)| weight).fold(0, u32::saturating_add);
        let mut at = random.below(total);
        all().find_map(|(object, weight)| {
            let is_here = at < weight;
            at = at.saturating_sub(weight);
            is_here.then_some(object)
        })
    }

    /// Returns an operation on a contended object: the object, and which of the operations on it, from 1.
    pub(super) fn draw_operation(&self, random: &mut Random) -> Option<(u32, u32)> {
        let object = self.draw(random)?;
        let tasks = self.operations.get(&object)?;
        let total = tasks.values().copied().fold(0, u32::saturating_add);
        Some((object, 1 + random.below(total)))
    }
}

/// Returns how many operations meet those of other tasks: all but those of the task that has most.
fn contention(tasks: &BTreeMap<u32, u32>) -> u32 {
    let total = tasks.values().copied().fold(0, u32::saturating_add);
    total - tasks.values().copied().max().unwrap_or(0)
}

pub(in crate::sim) struct Surw {
    random: Random,
    /// The object whose operations are ordered; 0 if no contended object has been found.
    object: u32,
    /// How many operations on it each task, by its index, still has to do.
    left: BTreeMap<u32, u32>,
    /// The index of the task that uses it next.
    drawn: Option<u32>,
    /// The object of each task's next operation. A task that has not begun has none before its first point.
    objects: Tasks<u32>,
    /// Memory for the alternatives that may be chosen.
    free: Vec<u32>,
}

impl Surw {
    pub(super) fn new(seed: u64, profile: &Profile) -> Self {
        let mut random = Random::new(seed);
        let object = profile.draw(&mut random).unwrap_or(0);
        let mut this = Self {
            random,
            object,
            left: profile.operations.get(&object).cloned().unwrap_or_default(),
            drawn: None,
            objects: Tasks::default(),
            free: Vec::new(),
        };
        this.draw();
        this
    }

    /// Draws the task that uses the object next.
    fn draw(&mut self) {
        let total = self.left.values().copied().fold(0, u32::saturating_add);
        let mut at = self.random.below(total);
        self.drawn = self.left.iter().find_map(|(&task, &left)| {
            let is_here = at < left;
            at = at.saturating_sub(left);
            is_here.then_some(task)
        });
    }

    pub(super) fn operates(&mut self, task: u32, object: u32) {
        *self.objects.entry(task) = object;
    }

    pub(super) fn stops_at(&mut self, task: u32, object: u32) {
        *self.objects.entry(task) = object;
    }

    pub(super) fn choose(&mut self, choice: &Choice<'_>) -> u32 {
        if !choice.is_of_tasks() {
            return self.random.choose(choice.what, choice.of);
        }
        let (object, drawn) = (self.object, self.drawn);
        let waits =
            |task: u32| object != 0 && self.objects.get(task) == object && drawn != Some(task);
        self.free.clear();
        self.free
            .extend((0..choice.of).filter(|&at| !waits(choice.task(at))));
        // If the drawn task waits, any other one may go first.
        let chosen = match self.free.len() {
            0 => self.random.below(choice.of),
            n => self.free[self.random.below(n as u32) as usize],
        };
        let task = choice.task(chosen);
        if object != 0 && self.objects.get(task) == object {
            let left = self.left.entry(task).or_default();
            *left = left.saturating_sub(1);
            self.draw();
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts<const N: usize>(operations: [((u32, u32), u32); N]) -> Counts {
        Counts {
            operations: operations.into_iter().collect(),
        }
    }

    /// A task with nine operations on the object and one with one: the latter comes at each of the ten places
    /// about equally often. A random walk would take it first in half of the runs.
    #[test]
    fn the_place_of_a_rare_operation_is_uniform() {
        let mut profile = Profile::default();
        profile.add(&counts([((1, 0), 9), ((1, 1), 1)]));
        let mut places = [0; 10];
        for seed in 0..5_000 {
            let mut surw = Surw::new(seed, &profile);
            assert_eq!(surw.object, 1);
            *surw.objects.entry(0) = 1;
            *surw.objects.entry(1) = 1;
            let choice = Choice::of_ready(&[0, 1]);
            let place = (0..9).take_while(|_| surw.choose(&choice) == 0).count();
            places[place] += 1;
        }
        assert!(places.iter().all(|n| (400..600).contains(n)), "{places:?}");
    }

    #[test]
    fn an_object_is_drawn_by_its_contention() {
        let mut profile = Profile::default();
        // Only one task uses object 2, and nine of the twelve operations that meet others are on object 3.
        let all = [
            ((1, 0), 20),
            ((1, 1), 3),
            ((2, 0), 50),
            ((3, 0), 9),
            ((3, 1), 30),
        ];
        profile.add(&counts(all));
        let mut random = Random::new(7);
        let mut times = [0; 4];
        for _ in 0..1_200 {
            times[profile.draw(&mut random).unwrap() as usize] += 1;
            let (object, which) = profile.draw_operation(&mut random).unwrap();
            assert!((1..=if object == 1 { 23 } else { 39 }).contains(&which));
        }
        assert!(times[2] == 0 && (250..350).contains(&times[1]), "{times:?}");
        assert_eq!(Profile::default().draw(&mut random), None);
    }
}
