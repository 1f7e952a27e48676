//! The decisions of a run by their sources, for the search for a shorter failure.

use std::collections::HashMap;

use super::replay::Replay;
use super::{Choice, What};
use crate::sim::trace::Trace;

/// The part of a run that makes a decision.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::sim) enum Source {
    /// A fault of `Faults`.
    Fault(u32),
    /// A number that this task has drawn.
    Value(u32),
    /// The order of tasks and timers, and the workers. These decisions are one sequence: where one is left out, a later one may
    /// have the same effect on another task.
    Order,
}

impl Source {
    fn of(choice: &Choice<'_>) -> Self {
        match (choice.what, choice.fault) {
            (What::Value, Some(fault)) => Self::Fault(fault),
            (What::Value, None) => Self::Value(choice.current),
            _ => Self::Order,
        }
    }

    /// Returns `true` if its decisions are about the order of events, and not about the events.
    pub(in crate::sim) fn is_order(self) -> bool {
        self == Self::Order
    }
}

/// A decision that was not the harmless one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::sim) struct Taken {
    pub(in crate::sim) source: Source,
    /// Number of decisions of the source before it.
    pub(in crate::sim) number: u32,
    pub(in crate::sim) choice: u32,
}

/// Where the decisions come from.
enum Given {
    Trace(Replay),
    Each(HashMap<(Source, u32), u32>),
}

/// Replays decisions, and keeps those that the run has taken by their sources.
pub(in crate::sim) struct BySource {
    given: Given,
    /// Number of decisions of each source so far.
    numbers: HashMap<Source, u32>,
    pub(in crate::sim) taken: Vec<Taken>,
}

impl BySource {
    fn new(given: Given) -> Self {
        Self {
            given,
            numbers: HashMap::new(),
            taken: Vec::new(),
        }
    }

    pub(super) fn of_trace(trace: &Trace) -> Self {
        Self::new(Given::Trace(Replay::new(trace.clone())))
    }

    pub(super) fn of_each(taken: &[Taken]) -> Self {
        let each = taken
            .iter()
            .map(|one| ((one.source, one.number), one.choice));
        Self::new(Given::Each(each.collect()))
    }

    pub(super) fn choose(&mut self, choice: &Choice<'_>) -> u32 {
        let source = Source::of(choice);
        let next = self.numbers.entry(source).or_default();
        let number = *next;
        *next += 1;
        let choice = match &mut self.given {
            Given::Trace(replay) => replay.choose(choice),
            Given::Each(each) => {
                let given = each.get(&(source, number)).copied().unwrap_or(0);
                given.min(choice.of - 1)
            }
        };
        if choice != 0 {
            self.taken.push(Taken {
                source,
                number,
                choice,
            });
        }
        choice
    }
}
