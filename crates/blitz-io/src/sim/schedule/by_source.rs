//! The decisions of a run by their sources, for the search for a shorter failure.

use std::collections::{HashMap, HashSet};

use super::random::Random;
use super::replay::Replay;
use super::{Choice, What};
use crate::sim::trace::Trace;

/// The number of faults of a kind of `Faults`.
pub(in crate::sim) const OF_A_KIND: u32 = 1 << 16;

/// The part of a run that makes a decision.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::sim) enum Source {
    /// A fault of `Faults`. Its kind has the numbers from a multiple of [`OF_A_KIND`] on, and the first one switches the kind on.
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

    /// Returns the group of sources that this one is in; `None` for orders.
    pub(in crate::sim) fn group(self) -> Option<Group> {
        match self {
            Self::Fault(fault) => Some(Group::Faults(fault / OF_A_KIND)),
            Self::Value(_) => Some(Group::Values),
            Self::Order => None,
        }
    }
}

/// Sources that are left out at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::sim) enum Group {
    /// The faults of a kind.
    Faults(u32),
    /// The numbers that all tasks have drawn.
    Values,
}

impl Group {
    pub(in crate::sim) fn is_of_faults(self) -> bool {
        self != Self::Values
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

/// The random numbers of a run that are drawn anew.
pub(in crate::sim) struct Draw<'a> {
    pub(in crate::sim) seed: u64,
    /// The decisions whose faults the run has.
    pub(in crate::sim) faults: &'a [Taken],
    /// The run draws these faults anew, so that it has fewer, or others of their kinds.
    pub(in crate::sim) draws_faults: bool,
    /// Tasks draw numbers, too, such as the latencies of packets. Otherwise these are the harmless ones.
    pub(in crate::sim) has_values: bool,
}

/// Where the decisions come from.
enum Given {
    Trace(Replay),
    Each(HashMap<(Source, u32), u32>),
    Drawn(Drawing),
}

/// Draws random numbers, and takes the plain order of all tasks.
struct Drawing {
    random: Random,
    faults: Faults,
    has_values: bool,
}

impl Drawing {
    fn choose(&mut self, choice: &Choice<'_>, source: Source, number: u32) -> u32 {
        match (source, &self.faults) {
            (Source::Fault(_), Faults::Given(given)) => chosen(given, source, number, choice),
            (Source::Fault(_), Faults::Drawn(known)) if known.contains(&source) => {
                self.random.choose(choice.what, choice.of)
            }
            (Source::Value(_), _) if self.has_values => self.random.choose(choice.what, choice.of),
            _ => 0,
        }
    }
}

/// The faults of a run with random numbers of its own.
enum Faults {
    /// Those with these decisions.
    Given(HashMap<(Source, u32), u32>),
    /// Those with these sources, whose decisions are drawn.
    Drawn(HashSet<Source>),
}

impl Faults {
    fn of(draw: &Draw<'_>) -> Self {
        if draw.draws_faults {
            Self::Drawn(draw.faults.iter().map(|taken| taken.source).collect())
        } else {
            Self::Given(by_number(draw.faults))
        }
    }
}

/// Returns the alternative that is given for a decision, and otherwise the harmless one.
fn chosen(
    given: &HashMap<(Source, u32), u32>,
    source: Source,
    number: u32,
    choice: &Choice<'_>,
) -> u32 {
    let given = given.get(&(source, number)).copied().unwrap_or(0);
    given.min(choice.of - 1)
}

fn by_number(taken: &[Taken]) -> HashMap<(Source, u32), u32> {
    let each = taken.iter();
    each.map(|one| ((one.source, one.number), one.choice))
        .collect()
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
        Self::new(Given::Each(by_number(taken)))
    }

    pub(super) fn draw(draw: &Draw<'_>) -> Self {
        Self::new(Given::Drawn(Drawing {
            random: Random::new(draw.seed),
            faults: Faults::of(draw),
            has_values: draw.has_values,
        }))
    }

    pub(super) fn choose(&mut self, choice: &Choice<'_>) -> u32 {
        let source = Source::of(choice);
        let next = self.numbers.entry(source).or_default();
        let number = *next;
        *next += 1;
        let choice = match &mut self.given {
            Given::Trace(replay) => replay.choose(choice),
            Given::Each(each) => chosen(each, source, number, choice),
            Given::Drawn(drawing) => drawing.choose(choice, source, number),
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
