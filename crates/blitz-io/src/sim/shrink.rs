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
//! Then each that is left is made as small as possible. Choice 0 is the harmless one, so all of this makes the run simpler.
//! All of this is repeated until nothing changes: a decision may be needless only after a later part has changed another
//! one. It ends, because each change leaves out a decision or makes one smaller.
//!
//! A decision is known by its source and its number among those of the source. So a fault stays the same one if the run
//! without an earlier one has fewer steps. The number of runs is limited.

use super::schedule::{Source, Taken};

/// The largest number of runs.
pub(super) const RUNS: u32 = 1_000;

/// The largest number of runs with one preemption alone.
const ALONE: u32 = RUNS / 10;

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
    /// The limit of runs has been reached.
    Partly,
}

/// The search for a shorter candidate. `F` runs one: if the run fails as it should, it returns the decisions that the run has
/// taken, which are some of the candidate's.
struct Search<F> {
    best: Candidate,
    runs: u32,
    fails: F,
}

/// The limit of runs has been reached.
struct Stopped;

/// Shortens `best`, with which the run fails. `fails` keeps the best one: each with which it succeeds is shorter.
pub(super) fn shrink(
    best: Candidate,
    fails: impl FnMut(&Candidate) -> Option<Vec<Taken>>,
) -> Shrunk {
    let mut search = Search {
        best,
        runs: 0,
        fails,
    };
    match search.run() {
        Ok(()) => Shrunk::Fully,
        Err(Stopped) => Shrunk::Partly,
    }
}

impl<F: FnMut(&Candidate) -> Option<Vec<Taken>>> Search<F> {
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
        if self.runs == RUNS {
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
            for choice in 1..self.best.taken[at].choice {
                let mut lower = self.best.clone();
                lower.taken[at].choice = choice;
                if self.attempt(lower)? {
                    break;
                }
            }
            at += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
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
        let shrunk = shrink(best.clone(), |candidate| {
            runs += 1;
            fails(candidate).then(|| {
                best = candidate.clone();
                candidate.taken.clone()
            })
        });
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
    fn the_number_of_runs_is_limited() {
        let all = (0..5_000).map(|at| order(at, 1)).collect();
        let (best, runs, shrunk) = shrunk(all, 0, |candidate| candidate.taken.len() == 5_000);
        assert_eq!((runs, best.taken.len()), (RUNS, 5_000));
        assert_eq!(shrunk, Shrunk::Partly);
    }
}
