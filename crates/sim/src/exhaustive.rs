//! Exhaustive search: every schedule once, by depth first.
//!
//! A run is a path in the tree of decisions. The next path has the same decisions up to the last one
//! that has an untried choice, which it takes, and choice 0 after it. A decision depends on the ones
//! before it only, so every path comes exactly once, and the search ends when no decision has an untried
//! choice.
//!
//! A thread that waits in a loop of atomic operations may make hundreds of points before anything changes. A preemption
//! there differs from one before the loop's second turn in the number of turns only. So the search leaves it out. With
//! `Plan::contended` it leaves out preemptions before operations on objects of one thread, too.

use crate::outcome::Outcome;
use crate::plan::{Plan, Schedule};
use crate::shared::region::{Scripted, kind};

/// State of a search.
#[derive(Clone, Debug)]
pub struct Exhaustive {
    plan: Plan,
    preemptions: Option<u32>,
    /// Number of finished runs.
    runs: u64,
    done: bool,
}

impl Exhaustive {
    /// Creates a search. With a bound, it leaves out schedules that take the processor away from a
    /// thread that could go on more often than that.
    ///
    /// ```
    /// let search = blitz_io_sim::Exhaustive::new(0, Some(2));
    /// assert!(search.plan().is_some());
    /// ```
    pub fn new(seed: u64, preemptions: Option<u32>) -> Exhaustive {
        let mut plan = Plan::new(Schedule::Script, seed);
        plan.strict = true;
        Exhaustive {
            plan,
            preemptions,
            runs: 0,
            done: false,
        }
    }

    /// Returns the plan of the next run, or `None` if all were tried.
    pub fn plan(&self) -> Option<&Plan> {
        (!self.done).then_some(&self.plan)
    }

    /// Returns the plan, to change limits before the first run.
    pub fn plan_mut(&mut self) -> &mut Plan {
        &mut self.plan
    }

    /// Returns the number of finished runs.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Notes the outcome of [`plan`](Self::plan), and moves on.
    pub fn finish(&mut self, outcome: &Outcome) {
        self.runs += 1;
        let decisions = &outcome.decisions;
        let is_preemption = |at: usize| decisions[at].kind == kind::SWITCH;
        // Preemptions before each decision.
        let mut before = 0;
        let mut next = None;
        for (at, decision) in decisions.iter().enumerate() {
            let bound = self.preemptions;
            let allowed = !is_preemption(at)
                || decision.alone == 0 && bound.is_none_or(|bound| before < bound);
            if allowed && decision.choice + 1 < decision.count {
                next = Some(at);
            }
            before += u32::from(is_preemption(at) && decision.choice != 0);
        }
        let Some(last) = next else {
            self.done = true;
            return;
        };
        let mut script = outcome.script();
        script.retain(|scripted| (scripted.index as usize) < last);
        let decision = decisions[last];
        script.push(Scripted {
            index: last as u32,
            kind: decision.kind,
            count: decision.count,
            choice: decision.choice + 1,
            reserved: 0,
        });
        self.plan.script = script;
    }
}
