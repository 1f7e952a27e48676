//! Makes a failing schedule smaller.
//!
//! Choice 0 is always the harmless one, so a smaller schedule has fewer choices that are not 0. A smaller
//! schedule counts if the run ends with the same verdict, and then its own decisions are the new start.
//!
//! 1. Schedules with no, one and two preemptions and without faults are tried in the order of the
//!    exhaustive search, up to a number of runs.
//! 2. If threads lose the processor between two calls, schedules with one such window are tried, alone and with one other
//!    choice. An exhaustive search has none, as there are too many. The lengths are those of the failing run: two windows of a
//!    thread without a call between them may be one.
//! 3. Chunks of choices are left out, from a half down to single ones and to pairs: a thread that is not
//!    preempted need not be resumed either. A choice has a number, which is another one after a change before it. So
//!    a few choices are also left out one by one in another way: each later one moves to the same decision of its thread.
//!    Then each choice is lowered.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::exhaustive::Exhaustive;
use crate::outcome::Outcome;
use crate::plan::{Faults, Plan, Schedule};
use crate::shared::region::{Decision, Scripted, WINDOWS, kind};
use crate::simulator::Simulator;

/// Runs of the search for each number of preemptions, and of the one for windows.
const SEARCHED: u64 = 1_000;
/// Lengths of windows that are tried for a thread.
const LENGTHS: usize = 64;
/// The largest number of choices whose decisions are looked up again when one is left out, as each takes a run.
const MOVED: usize = 32;

/// Shrinks the schedule of `outcome`, which came from `plan`. Returns the smallest plan that was found
/// and its outcome. Calls `progress` with the number of runs and of choices left after each run. If it returns `false`,
/// the search ends with the smallest plan so far.
///
/// # Errors
///
/// Fails if the simulator does.
pub fn shrink(
    simulator: &mut Simulator,
    plan: &Plan,
    outcome: &Outcome,
    progress: impl FnMut(u64, usize) -> bool,
) -> io::Result<(Plan, Outcome)> {
    let best = Plan {
        schedule: Schedule::Script,
        strict: false,
        script: outcome.script(),
        loops: outcome.loops.clone(),
        ..plan.clone()
    };
    let mut shrinking = Shrinking {
        simulator,
        best,
        found: outcome.clone(),
        runs: 0,
        is_done: false,
        progress,
    };
    match shrinking.search() {
        Err(_) if shrinking.is_done => {}
        result => result?,
    }
    shrinking.best.strict = true;
    Ok((shrinking.best, shrinking.found))
}

/// The best schedule so far.
struct Shrinking<'a, P> {
    simulator: &'a mut Simulator,
    best: Plan,
    /// Its outcome.
    found: Outcome,
    runs: u64,
    /// No choice is left, or the caller wants no more runs.
    is_done: bool,
    progress: P,
}

impl<P: FnMut(u64, usize) -> bool> Shrinking<'_, P> {
    /// Searches in all ways. Fails if the simulator does, or if the search is done before its end.
    fn search(&mut self) -> io::Result<()> {
        for preemptions in 0..=2 {
            // Each of them is a choice.
            if self.best.script.len() >= preemptions as usize {
                self.search_preemptions(preemptions)?;
            }
        }
        self.search_windows()?;
        loop {
            let before = self.best.script.clone();
            self.leave_out_chunks()?;
            self.leave_out_pairs()?;
            self.leave_out_and_move()?;
            self.lower()?;
            if self.best.script == before {
                return Ok(());
            }
        }
    }

    /// Runs a plan, and keeps it if it is better. Returns the outcome, and `true` if it is kept.
    fn try_plan(&mut self, plan: Plan) -> io::Result<(Outcome, bool)> {
        let outcome = self.simulator.run(&plan)?;
        self.runs += 1;
        let script = outcome.script();
        let is_better =
            outcome.verdict == self.found.verdict && weight(&script) < weight(&self.best.script);
        if is_better {
            self.best = Plan {
                strict: false,
                script,
                loops: outcome.loops.clone(),
                ..plan
            };
            self.found = outcome.clone();
        }
        let wants_more = (self.progress)(self.runs, self.best.script.len());
        self.is_done = !wants_more || self.best.script.is_empty();
        if self.is_done {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok((outcome, is_better))
    }

    /// Runs the best plan with another script.
    fn try_script(&mut self, script: Vec<Scripted>) -> io::Result<(Outcome, bool)> {
        self.try_plan(Plan {
            script,
            ..self.best.clone()
        })
    }

    /// Searches among the schedules with this number of preemptions.
    fn search_preemptions(&mut self, preemptions: u32) -> io::Result<()> {
        let mut search = Exhaustive::new(self.best.seed, Some(preemptions));
        let (start, plan) = (search.plan_mut(), &self.best);
        (start.limit, start.processors) = (plan.limit, plan.processors);
        (start.atomics, start.no_timeouts) = (plan.atomics, plan.no_timeouts);
        start.loops.clone_from(&plan.loops);
        while let Some(plan) = search.plan().filter(|_| search.runs() < SEARCHED) {
            let plan = plan.clone();
            let (outcome, _) = self.try_plan(plan)?;
            search.finish(&outcome);
        }
        Ok(())
    }

    /// Searches among the schedules with one window of instructions, and then among those with one more choice.
    fn search_windows(&mut self) -> io::Result<()> {
        let lengths = lengths(&self.found.decisions);
        if !self.best.preempt || lengths.is_empty() {
            return Ok(());
        }
        let start = Plan {
            faults: Faults::NONE,
            script: vec![],
            ..self.best.clone()
        };
        let with = |script: &[Scripted]| Plan {
            script: script.to_vec(),
            ..start.clone()
        };
        let end = self.runs + SEARCHED;
        let (outcome, _) = self.try_plan(start.clone())?;
        let mut first: Vec<(Vec<Scripted>, Vec<Decision>)> = vec![];
        for choice in alternatives(&outcome.decisions, 0, &lengths) {
            if self.best.script.len() <= 1 || self.runs >= end {
                return Ok(());
            }
            let script = vec![choice];
            let (outcome, _) = self.try_plan(with(&script))?;
            first.push((script, outcome.decisions));
        }
        for (script, decisions) in first {
            let after = script[0].index as usize + 1;
            for choice in alternatives(&decisions, after, &lengths) {
                let has_window = [&script[0], &choice]
                    .iter()
                    .any(|it| it.kind == kind::WINDOW);
                // Two choices of threads are what the other search has tried.
                if !has_window {
                    continue;
                }
                if self.best.script.len() <= 2 || self.runs >= end {
                    return Ok(());
                }
                self.try_plan(with(&[script[0], choice]))?;
            }
        }
        Ok(())
    }

    fn leave_out_chunks(&mut self) -> io::Result<()> {
        let mut size = self.best.script.len();
        while size > 0 {
            let mut start = 0;
            while start < self.best.script.len() {
                let mut script = self.best.script.clone();
                script.drain(start..(start + size).min(script.len()));
                if !self.try_script(script)?.1 {
                    start += size;
                }
            }
            size /= 2;
        }
        Ok(())
    }

    fn leave_out_pairs(&mut self) -> io::Result<()> {
        for distance in 1..4 {
            let mut at = 0;
            while at + distance < self.best.script.len() {
                let mut script = self.best.script.clone();
                script.remove(at + distance);
                script.remove(at);
                if !self.try_script(script)?.1 {
                    at += 1;
                }
            }
        }
        Ok(())
    }

    /// Leaves out single choices. The later ones move to the same decisions of their threads.
    fn leave_out_and_move(&mut self) -> io::Result<()> {
        let mut at = 0;
        while at < self.best.script.len() && self.best.script.len() <= MOVED {
            if !self.try_moved(at)? {
                at += 1;
            }
        }
        Ok(())
    }

    /// Leaves out one choice. Each run shows where the next decision is now.
    fn try_moved(&mut self, without: usize) -> io::Result<bool> {
        let wanted: Vec<(Scripted, Of)> = self.best.script[without + 1..]
            .iter()
            .map(|choice| {
                (
                    *choice,
                    Of::new(&self.found.decisions, choice.index as usize),
                )
            })
            .collect();
        let mut script = self.best.script[..without].to_vec();
        let (mut outcome, mut is_better) = self.try_script(script.clone())?;
        for (choice, of) in wanted {
            if is_better {
                return Ok(true);
            }
            let last = script.last().map_or(0, |last| last.index as usize + 1);
            let Some(at) = of.find(&outcome.decisions).filter(|at| *at >= last) else {
                continue;
            };
            let decision = outcome.decisions[at];
            script.push(Scripted {
                index: at as u32,
                kind: decision.kind,
                count: decision.count,
                choice: choice.choice.min(decision.count - 1),
                reserved: 0,
            });
            (outcome, is_better) = self.try_script(script.clone())?;
        }
        Ok(is_better)
    }

    fn lower(&mut self) -> io::Result<()> {
        let mut at = 0;
        while at < self.best.script.len() {
            let choice = self.best.script[at].choice;
            let mut is_lower = false;
            // Windows of instructions have thousands of choices.
            for lower in [choice / 2, choice.saturating_sub(1)] {
                if lower > 0 && lower < choice && !is_lower {
                    let mut script = self.best.script.clone();
                    script[at].choice = lower;
                    is_lower = self.try_script(script)?.1;
                }
            }
            at += usize::from(!is_lower);
        }
        Ok(())
    }
}

/// A decision, as one of those that a thread makes: the number of equal ones before it does not change if another thread
/// makes fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Of {
    thread: u8,
    kind: u16,
    number: usize,
}

impl Of {
    fn new(decisions: &[Decision], at: usize) -> Of {
        let decision = &decisions[at];
        let (thread, kind) = (decision.thread, class(decision.kind));
        let equal = decisions[..at].iter().filter(|it| is_of(it, thread, kind));
        Of {
            thread,
            kind,
            number: equal.count(),
        }
    }

    fn find(self, decisions: &[Decision]) -> Option<usize> {
        let all = decisions.iter().enumerate();
        let mut equal = all.filter(|(_, it)| is_of(it, self.thread, self.kind));
        equal.nth(self.number).map(|(at, _)| at)
    }
}

fn is_of(decision: &Decision, thread: u8, kind: u16) -> bool {
    decision.thread == thread && class(decision.kind) == kind
}

/// Returns the kind, which is one for all decisions of which thread runs.
fn class(kind: u16) -> u16 {
    match kind {
        kind::SWITCH | kind::NEXT | kind::YIELD => kind::SWITCH,
        _ => kind,
    }
}

/// Returns the lengths of the windows of each thread, and of those that end where a later one has ended.
fn lengths(decisions: &[Decision]) -> BTreeMap<u8, BTreeSet<u16>> {
    let mut of_threads: BTreeMap<u8, Vec<usize>> = BTreeMap::new();
    let windows = decisions.iter();
    for window in windows.filter(|it| it.kind == kind::WINDOW && it.choice > 0) {
        let lengths = of_threads.entry(window.thread).or_default();
        lengths.push(window.choice.into());
    }
    let all = of_threads.into_iter().map(|(thread, lengths)| {
        let sums = (0..lengths.len()).flat_map(|first| {
            let sums = lengths[first..].iter().scan(0, |sum, length| {
                *sum += length;
                Some(*sum)
            });
            sums.take_while(|sum| *sum < WINDOWS).map(|sum| sum as u16)
        });
        (thread, sums.take(LENGTHS).collect())
    });
    all.collect()
}

/// Returns the other choices of the decisions from a number on: those about threads, and windows of these lengths.
fn alternatives(
    decisions: &[Decision],
    from: usize,
    lengths: &BTreeMap<u8, BTreeSet<u16>>,
) -> Vec<Scripted> {
    let mut found = vec![];
    for (at, decision) in decisions.iter().enumerate().skip(from) {
        let scripted = |choice| Scripted {
            index: at as u32,
            kind: decision.kind,
            count: decision.count,
            choice,
            reserved: 0,
        };
        match decision.kind {
            kind::WINDOW => {
                let lengths = lengths.get(&decision.thread).into_iter().flatten();
                found.extend(lengths.copied().map(scripted));
            }
            _ if decision.alone == 0 => found.extend((1..decision.count).map(scripted)),
            _ => {}
        }
    }
    // Windows are what the schedule needs.
    found.sort_by_key(|choice| choice.kind != kind::WINDOW);
    found
}

/// Returns the size of a schedule: its choices that are not 0, and their sum.
fn weight(script: &[Scripted]) -> (usize, usize) {
    (
        script.len(),
        script
            .iter()
            .map(|scripted| usize::from(scripted.choice))
            .sum(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(thread: u8, kind: u16, choice: u16) -> Decision {
        Decision {
            kind,
            count: if kind == kind::WINDOW { 4096 } else { 3 },
            choice,
            alone: 0,
            thread,
        }
    }

    #[test]
    fn a_decision_is_found_again_by_its_thread() {
        let before = [
            decision(1, kind::SWITCH, 0),
            decision(2, kind::WINDOW, 9),
            decision(2, kind::SWITCH, 0),
            decision(1, kind::NEXT, 1),
        ];
        let of = Of::new(&before, 3);
        assert_eq!(of.find(&before), Some(3));
        // The other thread does less.
        let after = [decision(1, kind::YIELD, 0), decision(1, kind::SWITCH, 0)];
        assert_eq!(of.find(&after), Some(1));
        assert_eq!(of.find(&after[..1]), None);
        assert_eq!(Of::new(&before, 1).find(&after), None);
    }

    #[test]
    fn windows_of_a_thread_may_be_one() {
        let found = lengths(&[
            decision(1, kind::WINDOW, 7),
            decision(2, kind::WINDOW, 4000),
            decision(1, kind::WINDOW, 0),
            decision(1, kind::WINDOW, 20),
            decision(2, kind::WINDOW, 200),
        ]);
        assert_eq!(found[&1], BTreeSet::from([7, 20, 27]));
        // A window has less than 4,096 instructions.
        assert_eq!(found[&2], BTreeSet::from([200, 4000]));
    }

    #[test]
    fn alternatives_begin_with_windows() {
        let decisions = [
            decision(1, kind::SWITCH, 0),
            decision(1, kind::WINDOW, 0),
            decision(2, kind::WINDOW, 0),
        ];
        let lengths = BTreeMap::from([(1, BTreeSet::from([5, 6]))]);
        let found = alternatives(&decisions, 0, &lengths);
        let found: Vec<_> = found.iter().map(|it| (it.index, it.choice)).collect();
        assert_eq!(found, [(1, 5), (1, 6), (0, 1), (0, 2)]);
        assert!(alternatives(&decisions, 2, &lengths).is_empty());
    }
}
