//! Shortens the decisions of a run that fails.
//!
//! Parts of the decisions are left out as long as the run still fails:
//!
//! 1. All orders. Often a fault alone is enough.
//! 2. All of one [`Source`] of events, such as one fault of [`Faults`](super::Faults).
//! 3. Blocks: first halves, then smaller ones (delta debugging: Zeller and Hildebrandt, 2002).
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

use super::schedule::{Source, Taken};

/// The largest number of runs.
pub(super) const RUNS: u32 = 1_000;

/// The largest number of runs with one preemption alone.
const ALONE: u32 = RUNS / 10;

/// Choices up to this one are tried each. Above it, a choice that is too large by less than one of so many parts stays.
const FEW: u32 = 16;

/// The decisions of a run that were not the harmless ones, in their order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Candidate {
    pub(super) taken: Vec<Taken>,
    /// The seed of the system's random numbers.
    pub(super) entropy: u32,
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

/// The search for a shorter candidate. `F` runs one: if the run fails as it should, it returns the decisions that the run has
/// taken, which are some of the candidate's. `T` returns `false` if there is no time for another run.
struct Search<F, T> {
    best: Candidate,
    runs: u32,
    fails: F,
    is_time: T,
}

/// The limit of runs, or that of time, has been reached.
struct Stopped;

/// Shortens `best`, with which the run fails. `fails` keeps the best one: each with which it succeeds is shorter. `is_time` returns
/// `false` if there is no time for another run.
pub(super) fn shrink(
    best: Candidate,
    fails: impl FnMut(&Candidate) -> Option<Vec<Taken>>,
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

impl<F: FnMut(&Candidate) -> Option<Vec<Taken>>, T: Fn() -> bool> Search<F, T> {
    /// Simplifies until nothing changes.
    fn run(&mut self) -> Result<(), Stopped> {
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
            self.attempt(usual)?;
        }
        self.keep(|taken| !taken.source.is_order())?;
        self.leave_out_sources()?;
        self.leave_out_blocks()?;
        self.look_for_one()?;
        self.lower()
    }

    /// Takes the candidate if the run still fails with it.
    fn attempt(&mut self, candidate: Candidate) -> Result<bool, Stopped> {
        if self.runs == RUNS || !(self.is_time)() {
            return Err(Stopped);
        }
        self.runs += 1;
        let Some(taken) = (self.fails)(&candidate) else {
            return Ok(false);
        };
        let entropy = candidate.entropy;
        self.best = Candidate { taken, entropy };
        Ok(true)
    }

    /// Tries these decisions alone.
    fn keep(&mut self, keeps: impl Fn(&Taken) -> bool) -> Result<(), Stopped> {
        let mut fewer = self.best.clone();
        fewer.taken.retain(keeps);
        if fewer.taken.len() < self.best.taken.len() {
            self.attempt(fewer)?;
        }
        Ok(())
    }

    /// Leaves out all decisions of a source that are not about orders, first those of the last sources: what these decide follows
    /// from the first ones.
    fn leave_out_sources(&mut self) -> Result<(), Stopped> {
        let mut sources: Vec<Source> = Vec::new();
        for taken in &self.best.taken {
            if !taken.source.is_order() && !sources.contains(&taken.source) {
                sources.push(taken.source);
            }
        }
        for source in sources.into_iter().rev() {
            self.keep(|taken| taken.source != source)?;
        }
        Ok(())
    }

    fn leave_out_blocks(&mut self) -> Result<(), Stopped> {
        let mut size = self.best.taken.len();
        while size > 0 {
            let mut start = 0;
            let mut is_shorter = false;
            while start < self.best.taken.len() {
                let mut shorter = self.best.clone();
                let end = (start + size).min(shorter.taken.len());
                shorter.taken.drain(start..end);
                if self.attempt(shorter)? {
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
            if self.attempt(with_one)? {
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
            if self.attempt(self.with_choice(at, choice))? {
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
            if !self.attempt(self.with_choice(at, middle))? {
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

    /// Returns the shortest candidate, the number of runs, and how far it is shortened.
    fn shrunk(
        taken: Vec<Taken>,
        entropy: u32,
        fails: impl Fn(&Candidate) -> bool,
    ) -> (Candidate, u32, Shrunk) {
        let mut best = Candidate { taken, entropy };
        let mut runs = 0;
        let first = best.clone();
        let run = |candidate: &Candidate| {
            runs += 1;
            fails(candidate).then(|| {
                best = candidate.clone();
                candidate.taken.clone()
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
        let best = Candidate { taken, entropy: 0 };
        let run = |_: &Candidate| {
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
