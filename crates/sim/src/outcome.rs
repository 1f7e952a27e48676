//! The result of a run.

use std::fmt;

use crate::plan::Faults;
use crate::shared::region::{Decision, Scripted};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// The program ended with status 0.
    Passed,
    /// The program ended with another status.
    Failed(i32),
    /// A signal ended the program.
    Killed(i32),
    /// All threads waited, and none of them for a time; or the program's records say that some waits can never end.
    Deadlock,
    /// The run passed its limit of points.
    Livelock,
    /// The program made a call that is neither simulated nor harmless.
    Escaped,
    /// The recorded choices do not fit to the run.
    Diverged,
    /// The run made more decisions than can be recorded.
    Full,
    /// A thread kept the processor without reaching a point, or waits in the kernel.
    Stuck,
    /// The run ended at the step at which it was to stop.
    Stopped,
}

impl Verdict {
    /// Returns `true` if the program did wrong.
    ///
    /// ```
    /// use blitz_io_sim::Verdict;
    ///
    /// assert!(Verdict::Deadlock.is_failure());
    /// assert!(!Verdict::Escaped.is_failure());
    /// ```
    pub fn is_failure(self) -> bool {
        matches!(
            self,
            Verdict::Failed(_) | Verdict::Killed(_) | Verdict::Deadlock | Verdict::Livelock
        )
    }

    /// Returns `true` if the run says nothing about the program: the simulation could not go on.
    ///
    /// ```
    /// assert!(blitz_io_sim::Verdict::Escaped.is_incomplete());
    /// ```
    pub fn is_incomplete(self) -> bool {
        !self.is_failure() && self != Verdict::Passed
    }

    pub(crate) fn numbers(self) -> (u64, u64) {
        match self {
            Verdict::Passed => (0, 0),
            Verdict::Failed(code) => (1, code as u64),
            Verdict::Killed(signal) => (2, signal as u64),
            Verdict::Deadlock => (3, 0),
            Verdict::Livelock => (4, 0),
            Verdict::Escaped => (5, 0),
            Verdict::Diverged => (6, 0),
            Verdict::Full => (7, 0),
            Verdict::Stuck => (8, 0),
            Verdict::Stopped => (9, 0),
        }
    }

    pub(crate) fn from_numbers(kind: u64, value: u64) -> Option<Verdict> {
        Some(match kind {
            0 => Verdict::Passed,
            1 => Verdict::Failed(value as i32),
            2 => Verdict::Killed(value as i32),
            3 => Verdict::Deadlock,
            4 => Verdict::Livelock,
            5 => Verdict::Escaped,
            6 => Verdict::Diverged,
            7 => Verdict::Full,
            8 => Verdict::Stuck,
            9 => Verdict::Stopped,
            _ => return None,
        })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Passed => f.write_str("passed"),
            Verdict::Failed(code) => write!(f, "failed with status {code}"),
            Verdict::Killed(signal) => write!(f, "killed by signal {signal}"),
            Verdict::Deadlock => f.write_str("deadlock"),
            Verdict::Livelock => f.write_str("livelock"),
            Verdict::Escaped => f.write_str("escaped"),
            Verdict::Diverged => f.write_str("diverged"),
            Verdict::Full => f.write_str("too many decisions"),
            Verdict::Stuck => f.write_str("stuck outside of the simulation"),
            Verdict::Stopped => f.write_str("stopped"),
        }
    }
}

/// One run and its record.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub verdict: Verdict,
    /// Which thread waits where, or what escaped. May be empty.
    pub report: String,
    /// The program's standard output and error.
    pub output: Vec<u8>,
    /// Hash of all events.
    pub hash: u64,
    /// Hash before every 1,024th decision.
    pub checkpoints: Vec<u64>,
    /// All decisions.
    pub decisions: Vec<Decision>,
    /// Number of points.
    pub points: u64,
    /// Number of instructions that were executed one by one, between two calls ([`Plan::preempt`](crate::Plan::preempt)).
    pub stepped: u64,
    /// Simulated nanoseconds.
    pub nanoseconds: u64,
    /// Loops without a call in which threads were preempted: a part of the plan that repeats the run.
    pub loops: Vec<u64>,
    /// Number of threads that have run.
    pub threads: u32,
    /// Families of faults of which the run has had an opportunity, also those that the plan does not have.
    pub opportunities: Faults,
    /// The program has got random numbers, which follow from the seed.
    pub is_random: bool,
}

impl Outcome {
    /// Returns `true` if a run with any other seed and some of these faults is the same one: the program has one thread,
    /// and nothing in it was left to the seed.
    pub fn is_only_one(&self, faults: Faults) -> bool {
        let is_faulty = self.opportunities.0 & faults.0 != 0;
        self.threads == 1 && self.decisions.is_empty() && !is_faulty && !self.is_random
    }

    /// Returns the choices that are not 0: with them, the run can be replayed.
    pub fn script(&self) -> Vec<Scripted> {
        let all = self.decisions.iter().enumerate();
        all.filter(|(_, decision)| decision.choice != 0)
            .map(|(index, decision)| Scripted {
                index: index as u32,
                kind: decision.kind,
                count: decision.count,
                choice: decision.choice,
                reserved: 0,
            })
            .collect()
    }
}
