//! Guided search: each run learns from those before it.
//!
//! 1. **Contended objects.** All runs count the operations of each task on each object. Preemptions of PCT come before
//!    operations on objects that several tasks use, and SURW orders such an object: a preemption elsewhere changes
//!    nothing that another task sees.
//! 2. **Pairs.** A pair is (object, event, object): an operation of one task, why this task did not go on, and
//!    the next operation of another one. A run that reaches a new pair is kept.
//! 3. **Changes.** One of eight runs changes a kept one: they repeat its beginning, and go on by another schedule; or they
//!    repeat all of it but for a few decisions.
//!
//! The other runs do not depend on kept ones, so a search that has kept nothing useful is as good as a
//! portfolio. A run follows from its seed and the runs before it.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;

use super::pct::Pct;
use super::pos::Pos;
use super::random::Random;
use super::surw::{Counts, Profile, Surw};
use super::tasks::OfNumber;
use super::{Choice, Chooser, What};
use crate::sim::trace::{Decision, Trace};

/// So many runs are random walks, before the others.
const FIRST: u64 = 4;
/// One of so many runs changes a kept one.
const CHANGED: u32 = 8;
/// The largest number of runs that are kept.
const KEPT: usize = 256;
/// The largest number of decisions of a run that is kept.
const LONGEST: usize = 20_000;
/// The largest number of decisions that differ from a kept run.
const CHANGES: u32 = 4;
/// The largest depth of PCT.
const DEPTH: u32 = 4;

/// A run that has reached a new pair.
struct Kept {
    trace: Trace,
    /// Number of all its decisions, with the harmless ones.
    length: u64,
}

/// An operation: its task and its object.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Operation {
    task: u32,
    object: u32,
}

pub(in crate::sim) struct Guided {
    random: Random,
    profile: Profile,
    pairs: HashSet<(u32, bool, u32), BuildHasherDefault<OfNumber>>,
    /// Number of runs that have begun.
    runs: u64,
    kept: Vec<Kept>,
    /// The place in `kept` that is used next, when there is no room.
    oldest: usize,
    /// The largest number of decisions of a run.
    length: u64,
    run: OneRun,
}

/// The state of one run.
struct OneRun {
    /// The decisions that it repeats, before the decision `until`.
    repeated: Trace,
    /// Number of decisions of `repeated` that have been taken.
    taken: usize,
    until: u64,
    /// Number of decisions so far.
    decisions: u64,
    /// Makes the decisions from `until` on.
    chooser: Box<Chooser>,
    counts: Counts,
    last: Operation,
    /// The task of `last` was preempted before it.
    is_preempted: bool,
    /// The run has reached a new pair.
    is_new: bool,
}

impl OneRun {
    fn new(repeated: Trace, until: u64, chooser: Chooser) -> Self {
        Self {
            repeated,
            taken: 0,
            until,
            decisions: 0,
            chooser: Box::new(chooser),
            counts: Counts::default(),
            last: Operation::default(),
            is_preempted: false,
            is_new: false,
        }
    }

    fn choose(&mut self, choice: &Choice<'_>) -> u32 {
        let at = self.decisions;
        self.decisions += 1;
        if at >= self.until {
            return self.chooser.choose(choice);
        }
        match self.repeated.decisions.get(self.taken) {
            Some(&(index, alternative)) if index == at => {
                self.taken += 1;
                alternative.min(choice.of - 1)
            }
            _ => 0,
        }
    }
}

impl Guided {
    /// Creates a search that has no earlier runs. [`begin`](Self::begin) follows.
    pub(super) fn new() -> Self {
        Self {
            random: Random::new(0),
            profile: Profile::default(),
            pairs: HashSet::default(),
            runs: 0,
            kept: Vec::new(),
            oldest: 0,
            length: 0,
            run: OneRun::new(Trace::default(), 0, Chooser::First),
        }
    }

    /// Begins a run.
    pub(in crate::sim) fn begin(&mut self, seed: u64) {
        self.random = Random::new(seed);
        self.runs += 1;
        let changes = !self.kept.is_empty() && self.random.below(CHANGED) == 0;
        self.run = if changes {
            self.changed()
        } else {
            let chooser = self.fresh();
            OneRun::new(Trace::default(), 0, chooser)
        };
    }

    /// Returns a schedule for a run, or for its end.
    fn fresh(&mut self) -> Chooser {
        let seed = self.random.number();
        // The first runs find mistakes that need no search.
        let of = if self.runs <= FIRST { 1 } else { 8 };
        match self.random.below(of) {
            0 | 1 => Chooser::Random(Random::new(seed)),
            2..=5 => Chooser::Surw(Surw::new(seed, &self.profile)),
            6 => Chooser::Pos(Pos::new(seed)),
            _ if self.random.below(2) == 0 => {
                let depth = 2 + self.random.below(DEPTH - 1);
                Chooser::Pct(Pct::new(seed, depth, self.length))
            }
            _ => {
                let changes = 1 + self.random.below(DEPTH - 1);
                let targets = (0..changes)
                    .filter_map(|_| self.profile.draw_operation(&mut self.random))
                    .collect();
                Chooser::Pct(Pct::before(seed, targets))
            }
        }
    }

    /// Returns a run that changes a kept one.
    fn changed(&mut self) -> OneRun {
        let count = self.kept.len() as u32;
        // A new one half of the time: it has been changed least.
        let index = match self.random.below(2) {
            0 => count - 1 - self.random.below(count.min(8)),
            _ => self.random.below(count),
        };
        let kept = &self.kept[index as usize];
        let (mut trace, length) = (kept.trace.clone(), kept.length);
        if self.random.below(2) == 0 {
            let until = self.random.number() % length.max(1);
            let chooser = self.fresh();
            return OneRun::new(trace, until, chooser);
        }
        for _ in 0..1 + self.random.below(CHANGES) {
            self.change(&mut trace, length);
        }
        let seed = self.random.number();
        OneRun::new(trace, length, Chooser::Random(Random::new(seed)))
    }

    /// Leaves out a decision, moves it, or adds one.
    fn change(&mut self, trace: &mut Trace, length: u64) {
        let decisions = &mut trace.decisions;
        let count = decisions.len() as u32;
        let what = self.random.below(3);
        let moved = if what < 2 && count > 0 {
            Some(decisions.remove(self.random.below(count) as usize))
        } else {
            None
        };
        let added = match (what, moved) {
            (0, _) => return,
            (1, Some((at, choice))) => {
                let distance = 1 + u64::from(self.random.below(8));
                match self.random.below(2) {
                    0 => (at.saturating_sub(distance), choice),
                    _ => (at + distance, choice),
                }
            }
            _ => (
                self.random.number() % length.max(1),
                1 + self.random.below(4),
            ),
        };
        match decisions.binary_search_by_key(&added.0, |&(at, _)| at) {
            Ok(index) => decisions[index] = added,
            Err(index) => decisions.insert(index, added),
        }
    }

    pub(super) fn choose(&mut self, choice: &Choice<'_>) -> u32 {
        let chosen = self.run.choose(choice);
        if choice.what == What::Point && chosen != 0 {
            self.run.is_preempted = true;
        }
        chosen
    }

    pub(super) fn ready(&mut self, task: u32, yields: bool) {
        self.run.chooser.ready(task, yields);
    }

    #[cfg(feature = "net")]
    pub(super) fn hosts_change(&mut self) {
        self.run.chooser.hosts_change();
    }

    pub(super) fn operates(&mut self, task: u32, object: u32) {
        self.run.chooser.operates(task, object);
        if object == 0 {
            return;
        }
        self.run.counts.add(task, object);
        let (last, now) = (self.run.last, Operation { task, object });
        if last.task != task && last.object != 0 {
            let pair = (last.object, self.run.is_preempted, object);
            self.run.is_new |= self.pairs.insert(pair);
        }
        (self.run.last, self.run.is_preempted) = (now, false);
    }

    pub(super) fn stops_at(&mut self, task: u32, object: u32) {
        self.run.chooser.stops_at(task, object);
    }

    /// Ends a run, which has made these decisions.
    pub(in crate::sim) fn end(&mut self, decisions: &[Decision]) {
        self.profile.add(&self.run.counts);
        self.length = self.length.max(decisions.len() as u64);
        if !self.run.is_new || decisions.len() > LONGEST {
            return;
        }
        let kept = Kept {
            trace: Trace::of(decisions, 0),
            length: decisions.len() as u64,
        };
        if self.kept.len() < KEPT {
            self.kept.push(kept);
        } else {
            self.kept[self.oldest] = kept;
            self.oldest = (self.oldest + 1) % KEPT;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two tasks that use an object each, in turns; `order` says which.
    fn operations(guided: &mut Guided, order: &[(u32, u32)]) {
        for &(task, object) in order {
            guided.ready(task, false);
            guided.operates(task, object);
        }
        guided.end(&[Decision { of: 2, choice: 1 }; 3]);
    }

    #[test]
    fn a_run_is_kept_if_it_reaches_a_new_pair() {
        let mut guided = Guided::new();
        guided.begin(0);
        operations(&mut guided, &[(1, 5), (2, 6), (1, 5)]);
        assert_eq!((guided.kept.len(), guided.pairs.len()), (1, 2));
        guided.begin(1);
        operations(&mut guided, &[(1, 5), (2, 6)]);
        assert_eq!(guided.kept.len(), 1);
        guided.begin(2);
        operations(&mut guided, &[(1, 5), (2, 5)]);
        assert_eq!(guided.kept.len(), 2);
    }

    #[test]
    fn two_operations_of_one_task_are_no_pair() {
        let mut guided = Guided::new();
        guided.begin(0);
        operations(&mut guided, &[(1, 5), (1, 6), (1, 5)]);
        assert!(guided.kept.is_empty() && guided.pairs.is_empty());
    }

    #[test]
    fn a_run_repeats_the_beginning_of_a_kept_one() {
        let trace = Trace {
            decisions: vec![(1, 2), (4, 1), (6, 3)],
            ..Trace::default()
        };
        let mut run = OneRun::new(trace, 6, Chooser::First);
        let ready = [1, 2, 3, 4];
        let choice = Choice::of_ready(&ready);
        let chosen: Vec<u32> = (0..9).map(|_| run.choose(&choice)).collect();
        assert_eq!(chosen, [0, 2, 0, 0, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn changes_keep_the_order_of_decisions() {
        let mut guided = Guided::new();
        let (mut trace, mut longest) = (Trace::default(), 0);
        for _ in 0..500 {
            guided.change(&mut trace, 50);
            let indexes = || trace.decisions.iter().map(|&(at, _)| at);
            longest = longest.max(trace.len());
            assert!(
                indexes()
                    .zip(indexes().skip(1))
                    .all(|(one, next)| one < next)
            );
        }
        // Additions and removals are balanced, so it is not always empty.
        assert!(longest > 1);
    }

    #[test]
    fn the_oldest_run_makes_room() {
        let mut guided = Guided::new();
        for object in 1..=KEPT as u32 + 1 {
            guided.begin(0);
            operations(&mut guided, &[(1, object), (2, object)]);
        }
        assert_eq!((guided.kept.len(), guided.oldest), (KEPT, 1));
    }
}
