//! Shortens the decisions of a run that fails.
//!
//! A run never gets more faults of a kind: a decision that is left out may let one happen that has not happened before. So first all
//! faults are left out. A failure with faults may need more than these. Then some runs in the plain order with fewer or other ones of
//! these faults, or with other numbers, come first: one of them that fails, too, is much easier to shorten.
//!
//! Parts of the decisions are left out as long as the run still fails:
//!
//! 1. All orders. Often a fault alone is enough.
//! 2. All kinds of faults of [`Faults`](super::Faults) but one.
//! 3. Faults.
//! 4. Whole kinds of faults, and all numbers that tasks have drawn, such as the latencies of packets.
//! 5. Large blocks of decisions, which are those of some time.
//! 6. All of one [`Source`](super::schedule::Source) of events, such as one fault, or the numbers that one task has drawn.
//! 7. Small blocks and single decisions.
//!
//! From the third on, first halves are left out, then smaller parts (delta debugging: Zeller and Hildebrandt, 2002).
//!
//! Two preemptions that are left often do what one does elsewhere, so each place is tried with one alone.
//!
//! Then each that is left is made as small as possible. A choice of many, such as the time of a fault, is halved until it is near the
//! smallest one with which the run fails: that takes few runs. Choice 0 is the harmless one, so all of this makes the run simpler.
//! All of this is repeated until nothing changes: a decision may be needless only after a later part has changed another
//! one. It ends, because each change leaves out a decision or makes one smaller.
//!
//! A decision is known by its source and its number among those of the source. So a fault stays the same one if the run
//! without an earlier one has fewer steps. The number of runs is limited, and of a search with a time limit also their time.

use super::fault_counts::FaultCounts;
use super::schedule::{Draw, Group, Taken};

/// The largest number of runs.
pub(super) const RUNS: u32 = 1_000;

/// The largest number of runs with one preemption alone.
const ALONE: u32 = RUNS / 10;

/// The largest number of runs of each [`Draw`].
const DRAWN: u32 = RUNS / 30;

/// A large block of decisions is one of so many.
const LARGE: usize = 16;

/// Choices up to this one are tried each. Above it, a choice that is too large by less than one of so many parts stays.
const FEW: u32 = 16;

/// The decisions of a run that were not the harmless ones, in their order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Candidate {
    pub(super) taken: Vec<Taken>,
    /// The seed of the system's random numbers.
    pub(super) entropy: u32,
    /// The faults of the run that has had these decisions.
    pub(super) faults: FaultCounts,
}

/// A run that the search tries.
pub(super) enum Tried<'a> {
    /// That with these decisions.
    Of(&'a Candidate),
    /// One in the plain order, whose random numbers follow from a seed.
    Drawn(Draw<'a>),
}

/// The result of shortening a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shrunk {
    /// Nothing has been tried.
    No,
    /// Without any of the decisions that are left the run does not fail.
    Fully,
    /// A limit has been reached, after so many runs.
    Partly { runs: u32 },
}

/// The search for a shorter candidate. `F` runs one. If the run fails as it should, `F` returns the decisions that the run has
/// taken, the entropy that it has used, and its faults. The decisions are some of the candidate's, and the faults are no more than
/// before. `T` returns `false` if there is no time for another run.
struct Search<F, T> {
    best: Candidate,
    runs: u32,
    fails: F,
    is_time: T,
}

/// The limit of runs, or that of time, has been reached.
struct Stopped;

/// Returns `true` for a decision about a fault of [`Faults`](super::Faults).
fn is_of_faults(taken: &Taken) -> bool {
    taken.source.group().is_some_and(Group::is_of_faults)
}

/// Shortens `best`, with which the run fails. `fails` keeps the best one: each with which it succeeds is shorter. `is_time` returns
/// `false` if there is no time for another run.
pub(super) fn shrink(
    best: Candidate,
    fails: impl FnMut(Tried<'_>) -> Option<Candidate>,
    is_time: impl Fn() -> bool,
) -> Shrunk {
    let mut search = Search {
        best,
        runs: 0,
        fails,
        is_time,
    };
    match search.run() {
        Ok(()) => Shrunk::Fully,
        Err(Stopped) => Shrunk::Partly { runs: search.runs },
    }
}

impl<F: FnMut(Tried<'_>) -> Option<Candidate>, T: Fn() -> bool> Search<F, T> {
    /// Simplifies until nothing changes.
    fn run(&mut self) -> Result<(), Stopped> {
        if !self.keep(|taken| !is_of_faults(taken))? {
            self.draw_faults()?;
        }
        loop {
            let before = self.best.clone();
            self.simplify()?;
            if self.best == before {
                return Ok(());
            }
        }
    }

    fn simplify(&mut self) -> Result<(), Stopped> {
        if self.best.entropy != 0 {
            let usual = Candidate {
                entropy: 0,
                ..self.best.clone()
            };
            self.attempt(Tried::Of(&usual))?;
        }
        self.keep(|taken| !taken.source.is_order())?;
        self.look_for_one_kind()?;
        self.leave_out(|taken| is_of_faults(taken).then_some(taken.source))?;
        self.leave_out(|taken| taken.source.group())?;
        self.leave_out_blocks(self.best.taken.len() / LARGE)?;
        self.leave_out(|taken| Some(taken.source).filter(|source| !source.is_order()))?;
        self.leave_out_blocks(1)?;
        self.look_for_one()?;
        self.lower()
    }

    /// Looks for a failure by faults alone, if the present one needs orders or numbers that tasks have drawn. Without one of these, a
    /// test of several hosts does something else from there on. So few can be left out of hundreds, and other faults may need none of them.
    fn draw_faults(&mut self) -> Result<(), Stopped> {
        if self.best.faults.is_empty() || !self.best.taken.iter().any(is_of_faults) {
            return Ok(());
        }
        if self.keep(is_of_faults)? {
            return Ok(());
        }
        let first = self.best.clone();
        let present = &first.taken[..];
        // Numbers of tasks without a fault are the simplest failure, and then other faults without such numbers. With them, the present
        // faults are likelier to fail again.
        let draws = [
            (&[][..], false, true),
            (present, true, false),
            (present, false, true),
            (present, true, true),
        ];
        for (faults, draws_faults, has_values) in draws {
            for seed in 0..u64::from(DRAWN) {
                let draw = Draw {
                    seed,
                    faults,
                    draws_faults,
                    has_values,
                };
                if self.attempt(Tried::Drawn(draw))? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Takes the candidate if the run still fails with it.
    fn attempt(&mut self, tried: Tried<'_>) -> Result<bool, Stopped> {
        if self.runs == RUNS || !(self.is_time)() {
            return Err(Stopped);
        }
        self.runs += 1;
        let Some(failed) = (self.fails)(tried) else {
            return Ok(false);
        };
        self.best = failed;
        Ok(true)
    }

    /// Tries these decisions alone. Returns `true` if they are fewer, and enough.
    fn keep(&mut self, keeps: impl Fn(&Taken) -> bool) -> Result<bool, Stopped> {
        let mut fewer = self.best.clone();
        fewer.taken.retain(keeps);
        Ok(fewer.taken.len() < self.best.taken.len() && self.attempt(Tried::Of(&fewer))?)
    }

    /// Tries the faults of each kind without those of all others. The first kind that is enough stays.
    fn look_for_one_kind(&mut self) -> Result<(), Stopped> {
        let faults = |taken: &Taken| taken.source.group().filter(|group| group.is_of_faults());
        let kinds = self.groups(faults);
        if kinds.len() > 1 {
            for kind in kinds {
                if self.keep(|taken| faults(taken).is_none_or(|own| own == kind))? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Leaves out the decisions of whole groups: first of all of them, then of halves and smaller parts, the last groups first. What these
    /// decide follows from the first ones. A test of hosts has hundreds of tasks that draw numbers, most of which do not matter.
    fn leave_out<G: Copy + PartialEq>(
        &mut self,
        group: impl Fn(&Taken) -> Option<G>,
    ) -> Result<(), Stopped> {
        let mut size = self.groups(&group).len();
        while size > 0 {
            for part in self.groups(&group).rchunks(size) {
                self.keep(|taken| group(taken).is_none_or(|own| !part.contains(&own)))?;
            }
            size /= 2;
        }
        Ok(())
    }

    /// Returns the groups of the decisions, in the order in which they come first.
    fn groups<G: PartialEq>(&self, group: impl Fn(&Taken) -> Option<G>) -> Vec<G> {
        let mut groups = Vec::new();
        for own in self.best.taken.iter().filter_map(group) {
            if !groups.contains(&own) {
                groups.push(own);
            }
        }
        groups
    }

    /// Leaves out blocks of decisions, which are those of some time, first large ones and then smaller ones, down to this size.
    fn leave_out_blocks(&mut self, least: usize) -> Result<(), Stopped> {
        let mut size = self.best.taken.len();
        while size >= least.max(1) {
            let mut start = 0;
            let mut is_shorter = false;
            while start < self.best.taken.len() {
                let mut shorter = self.best.clone();
                let end = (start + size).min(shorter.taken.len());
                shorter.taken.drain(start..end);
                if self.attempt(Tried::Of(&shorter))? {
                    is_shorter = true;
                } else {
                    start = end;
                }
            }
            // Without a later decision, an earlier one may become needless.
            if size > 1 || !is_shorter {
                size /= 2;
            }
        }
        Ok(())
    }

    /// Tries one decision about the order instead of several.
    fn look_for_one(&mut self) -> Result<(), Stopped> {
        let of_order = |taken: &&Taken| taken.source.is_order();
        let orders = self.best.taken.iter().filter(of_order);
        let Some(&last) = orders.clone().next_back().filter(|_| orders.count() > 1) else {
            return Ok(());
        };
        let mut one = self.best.clone();
        one.taken.retain(|taken| !taken.source.is_order());
        for number in (0..=last.number).take(ALONE as usize) {
            let mut with_one = one.clone();
            with_one.taken.push(Taken {
                number,
                choice: 1,
                ..last
            });
            if self.attempt(Tried::Of(&with_one))? {
                break;
            }
        }
        Ok(())
    }

    /// Makes the choices smaller.
    fn lower(&mut self) -> Result<(), Stopped> {
        let mut at = 0;
        while at < self.best.taken.len() {
            if self.best.taken[at].choice <= FEW {
                self.count_up(at)?;
            } else {
                self.halve(at)?;
            }
            at += 1;
        }
        Ok(())
    }

    /// Looks for the smallest choice.
    fn count_up(&mut self, at: usize) -> Result<(), Stopped> {
        for choice in 1..self.best.taken[at].choice {
            if self.attempt(Tried::Of(&self.with_choice(at, choice)))? {
                break;
            }
        }
        Ok(())
    }

    /// Looks for a small choice between 0, with which the run does not fail, and the present one.
    fn halve(&mut self, at: usize) -> Result<(), Stopped> {
        let changed = self.best.taken[at];
        let (mut passes, mut fails) = (0, changed.choice);
        while fails - passes > (fails / FEW).max(1) {
            let middle = passes + (fails - passes) / 2;
            if !self.attempt(Tried::Of(&self.with_choice(at, middle)))? {
                passes = middle;
                continue;
            }
            fails = middle;
            // The shorter run may have other decisions.
            let expected = Taken {
                choice: middle,
                ..changed
            };
            if self.best.taken.get(at) != Some(&expected) {
                break;
            }
        }
        Ok(())
    }

    /// Returns the best candidate with another choice.
    fn with_choice(&self, at: usize, choice: u32) -> Candidate {
        let mut changed = self.best.clone();
        changed.taken[at].choice = choice;
        changed
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::sim::notes::Fault;
    use crate::sim::schedule::Source;

    fn order(number: u32, choice: u32) -> Taken {
        let source = Source::Order;
        Taken {
            source,
            number,
            choice,
        }
    }

    fn of_fault(fault: u32, number: u32) -> Taken {
        let source = Source::Fault(fault);
        Taken {
            source,
            number,
            choice: 1,
        }
    }

    fn of_task(task: u32) -> Taken {
        Taken {
            source: Source::Value(task),
            number: 0,
            choice: 1,
        }
    }

    fn candidate(taken: Vec<Taken>, entropy: u32) -> Candidate {
        let mut faults = FaultCounts::default();
        if taken.iter().any(is_of_faults) {
            faults.add(Fault::Crash);
        }
        Candidate {
            taken,
            entropy,
            faults,
        }
    }

    /// Returns the shortest candidate, the number of runs, and how far it is shortened.
    fn shrunk(
        taken: Vec<Taken>,
        entropy: u32,
        fails: impl Fn(&Candidate) -> bool,
    ) -> (Candidate, u32, Shrunk) {
        let mut best = candidate(taken, entropy);
        let mut runs = 0;
        let first = best.clone();
        let run = |tried: Tried<'_>| {
            runs += 1;
            let Tried::Of(candidate) = tried else {
                return None;
            };
            fails(candidate).then(|| {
                best = candidate.clone();
                candidate.clone()
            })
        };
        let shrunk = shrink(first, run, || true);
        (best, runs, shrunk)
    }

    #[test]
    fn only_what_matters_is_left() {
        let all = (0..200).map(|at| order(at, 5)).collect();
        // Three decisions matter, and the second one of them only from 3 on.
        let (best, _, shrunk) = shrunk(all, 0, |candidate| {
            let has = |at, least| {
                let mut taken = candidate.taken.iter();
                taken.any(|taken| taken.number == at && taken.choice >= least)
            };
            has(17, 1) && has(90, 3) && has(199, 1)
        });
        assert_eq!(best.taken, [order(17, 1), order(90, 3), order(199, 1)]);
        assert_eq!(shrunk, Shrunk::Fully);
    }

    #[test]
    fn a_large_choice_becomes_small_in_few_runs() {
        for least in [1, 2, 17, 1_000, 70_000, 4_400_000] {
            let (best, runs, shrunk) = shrunk(vec![order(3, 4_500_000)], 0, |candidate| {
                candidate.taken.iter().any(|taken| taken.choice >= least)
            });
            let [Taken { choice, .. }] = best.taken[..] else {
                panic!("{best:?}")
            };
            assert!((least..=least + least / 8).contains(&choice), "{choice}");
            assert!(runs < 60, "{runs} for {least}");
            assert_eq!(shrunk, Shrunk::Fully);
        }
    }

    #[test]
    fn a_smaller_choice_may_make_another_decision_needless() {
        // With choice 3 of the first decision, the second one matters. With choice 1, it does not.
        let (best, _, shrunk) = shrunk(vec![order(1, 3), order(2, 1)], 0, |candidate| {
            let has = |number, choice| candidate.taken.contains(&order(number, choice));
            has(1, 1) || has(1, 3) && has(2, 1)
        });
        assert_eq!(best.taken, [order(1, 1)]);
        assert_eq!(shrunk, Shrunk::Fully);
    }

    #[test]
    fn one_preemption_takes_the_place_of_two() {
        let (best, ..) = shrunk(vec![order(3, 2), order(7, 1)], 0, |candidate| {
            let numbers = candidate.taken.iter().map(|taken| taken.number);
            matches!(numbers.collect::<Vec<_>>()[..], [3, 7] | [5])
        });
        assert_eq!(best.taken, [order(5, 1)]);
    }

    #[test]
    fn faults_and_orders_are_left_out_as_a_whole() {
        let mut all: Vec<_> = (0..1_000).map(|at| order(at, 1)).collect();
        all.extend((0..200).map(|at| of_fault(at / 5, at % 5)));
        // All of a fault matters, or nothing.
        let (best, runs, shrunk) = shrunk(all, 0, |candidate| {
            let of_seven = |taken: &&Taken| taken.source == Source::Fault(7);
            candidate.taken.iter().filter(of_seven).count() == 5
        });
        assert_eq!(
            best.taken,
            (0..5).map(|at| of_fault(7, at)).collect::<Vec<_>>()
        );
        assert_eq!(shrunk, Shrunk::Fully);
        // A run for the orders, a run for each fault, and some for the decisions of fault 7, twice.
        assert!(runs < 80, "{runs}");
    }

    #[test]
    fn hundreds_of_tasks_that_do_not_matter_take_few_runs() {
        let mut all: Vec<_> = (0..300).map(of_task).collect();
        all.extend((0..40).map(|at| of_fault(((at % 4) << 16) | at, 0)));
        let matters = [of_fault(2 << 16 | 6, 0), of_task(117)];
        let (best, runs, shrunk) = shrunk(all, 0, |candidate| {
            matters.iter().all(|taken| candidate.taken.contains(taken))
        });
        assert_eq!((best.taken.len(), shrunk), (2, Shrunk::Fully));
        assert!(runs < 80 + 4 * DRAWN, "{runs}");
    }

    #[test]
    fn one_kind_of_faults_takes_the_place_of_two() {
        let of_kind = |kind: u32| (0..3).map(move |at| of_fault(kind << 16 | at, 0));
        // All faults of one kind are enough, or one of each of the first two.
        let all = [0, 1, 2].into_iter().flat_map(of_kind).collect();
        let (best, ..) = shrunk(all, 0, |candidate| {
            let has = |kind: u32, at| candidate.taken.contains(&of_fault(kind << 16 | at, 0));
            let kinds = [0, 1, 2].map(|kind| (0..3).filter(|&at| has(kind, at)).count());
            kinds == [0, 0, 3] || kinds[0] > 0 && kinds[1] > 0
        });
        assert_eq!(best.taken, of_kind(2).collect::<Vec<_>>());
    }

    #[test]
    fn a_failure_without_decisions_needs_none() {
        let all = (0..50).map(|at| order(at, 1)).collect();
        assert!(shrunk(all, 0, |_| true).0.taken.is_empty());
    }

    #[test]
    fn the_entropy_is_left_out_unless_it_matters() {
        for matters in [false, true] {
            let fails = |candidate: &Candidate| !matters || candidate.entropy == 9;
            let (best, ..) = shrunk(vec![order(3, 1)], 9, fails);
            assert_eq!(best.entropy, if matters { 9 } else { 0 });
            assert!(best.taken.is_empty());
        }
    }

    #[test]
    fn no_run_begins_when_the_time_is_over() {
        let left = Cell::new(7);
        let taken = (0..5_000).map(|at| order(at, 1)).collect();
        let best = candidate(taken, 0);
        let run = |_: Tried<'_>| {
            left.set(left.get() - 1);
            None
        };
        let shrunk = shrink(best, run, || left.get() > 0);
        assert_eq!((shrunk, left.get()), (Shrunk::Partly { runs: 7 }, 0));
    }

    #[test]
    fn the_number_of_runs_is_limited() {
        let all = (0..5_000).map(|at| order(at, 1)).collect();
        let (best, runs, shrunk) = shrunk(all, 0, |candidate| candidate.taken.len() == 5_000);
        assert_eq!((runs, best.taken.len()), (RUNS, 5_000));
        assert_eq!(shrunk, Shrunk::Partly { runs });
    }
}
