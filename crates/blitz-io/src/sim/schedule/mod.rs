//! How a simulation selects its decisions.
//!
//! | file | contents |
//! |---|---|
//! | `random.rs` | a random walk, and the first of the list |
//! | `pct.rs` | priorities that change a few times |
//! | `pos.rs` | priorities of operations |
//! | `surw.rs` | weights by the operations that are left |
//! | `counting.rs` | a random walk that counts the operations for `pct.rs` and `surw.rs` |
//! | `guided.rs` | changes of earlier runs, and preemptions before contended objects |
//! | `exhaustive.rs` | each sequence of decisions once |
//! | `replay.rs` | the decisions of a trace |
//! | `by_source.rs` | the decisions of a run by what makes them |
//! | `text.rs` | the texts of schedules |

mod by_source;
mod counting;
mod exhaustive;
mod guided;
mod pct;
mod pos;
mod random;
mod replay;
mod surw;
mod tasks;
mod text;

use super::trace::Trace;

pub(super) use by_source::OF_A_KIND;
#[cfg(test)]
pub(super) use by_source::Source;
pub(super) use by_source::{Draw, Group, Taken};
pub(super) use counting::{Counted, SEED as COUNTED_SEED};
pub(super) use exhaustive::Exhaustive;
pub(super) use guided::Guided;
pub(super) use text::MOST_DEPTH;

/// How the decisions of a simulation are selected.
///
/// Each of them has a text, for environment variables and messages: `portfolio`, `random`, `round-robin`, `pct:3`,
/// `pos`, `surw`, `guided`, `exhaustive`, and `exhaustive:2` with at most two preemptions.
///
/// # Examples
///
/// ```
/// use blitz_io::sim::Schedule;
///
/// assert_eq!("pct:3".parse(), Ok(Schedule::Pct { depth: 3 }));
/// assert_eq!(Schedule::Pos.to_string(), "pos");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Schedule {
    /// `Random`, `Pct` with depth 3, `Pos` and `Surw` in turns. The default.
    #[default]
    Portfolio,
    /// Each alternative is equally likely.
    Random,
    /// Tasks run in the order in which they become ready, until they wait. All runs are the same.
    RoundRobin,
    /// The task with the highest priority runs. Priorities are random, and `depth - 1` times in a run the
    /// priority of the running task becomes the lowest (Burckhardt et al., "A randomized scheduler with
    /// probabilistic guarantees of finding bugs", ASPLOS 2010). It finds a bug that needs `depth` events in
    /// a certain order with a probability that does not depend on how rare that order is. The number of decisions of a
    /// run is taken from a random walk with seed 0.
    Pct {
        /// Number of ordered events that a bug may need, at most 10,000.
        depth: u32,
    },
    /// Each next operation has a random priority, and operations on the same object get new ones after each
    /// (Yuan, Yang, Gu, "Partial order aware concurrency sampling", CAV 2018).
    Pos,
    /// The next task that uses a contended object is drawn by how many operations on it each task still has to do. A random
    /// walk with seed 0 has counted them (Zhao et al., "Selectively uniform concurrency testing", ASPLOS 2025).
    Surw,
    /// Each run learns from those before it: which objects are contended, and so where a preemption matters. A run that
    /// reaches a new pair of operations is kept, and changed. So a longer search is better than several short ones, and a
    /// seed alone does not repeat a run: its [`Trace`](super::Trace) does.
    Guided,
    /// Each sequence of decisions once, until there is no other one. For small tests.
    Exhaustive {
        /// The largest number of preemptions in a run: how often a task that could go on does not. `None`
        /// stands for any number.
        preemptions: Option<u32>,
    },
}

impl Schedule {
    /// Returns `true` if a run selects by the operations that the random walk has counted.
    pub(super) fn needs_counts(self) -> bool {
        matches!(self, Self::Pct { .. } | Self::Surw)
    }

    /// Returns `true` if a run depends on the runs before it, and not only on its seed.
    pub(super) fn learns(self) -> bool {
        matches!(self, Self::Guided | Self::Exhaustive { .. })
    }

    /// Returns the schedule of the run with this seed.
    pub(super) fn of_run(self, seed: u64) -> Self {
        match (self, seed % 4) {
            (Self::Portfolio, 0) => Self::Random,
            (Self::Portfolio, 1) => Self::Pct { depth: 3 },
            (Self::Portfolio, 2) => Self::Pos,
            (Self::Portfolio, _) => Self::Surw,
            (own, _) => own,
        }
    }
}

/// The kind of a decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// Which ready task runs next.
    Task,
    /// Which task runs next, as the current one begins an operation: alternative 0 is the current one, and the
    /// others are the ready ones.
    Point,
    /// A number, such as the branch with which `select!` begins.
    Value,
    /// Whether the clock moves to the next timer (1) although a task is ready.
    Timer,
    /// Whether the network delivers (1) before the timers that are due at the same moment.
    Network,
    /// The worker on which this step of a task runs.
    Worker,
    /// How the fork-join pool runs a job: which one, whether it is stolen, and by which worker.
    Job,
}

/// A decision that is to be made.
pub(super) struct Choice<'a> {
    pub(super) what: What,
    /// Number of alternatives, at least 2.
    pub(super) of: u32,
    /// The current task, if this is a `Point`.
    pub(super) current: u32,
    /// The fault of `Faults` of which this decides a part.
    pub(super) fault: Option<u32>,
    /// The indexes of the ready tasks.
    pub(super) ready: &'a [u32],
}

impl<'a> Choice<'a> {
    /// Returns the decision which of these tasks runs next.
    #[cfg(test)]
    fn of_ready(ready: &'a [u32]) -> Self {
        Self {
            what: What::Task,
            of: ready.len() as u32,
            current: 0,
            fault: None,
            ready,
        }
    }
}

impl Choice<'_> {
    /// Returns the task that an alternative stands for.
    fn task(&self, alternative: u32) -> u32 {
        let index = alternative as usize;
        match self.what {
            What::Point if index == 0 => self.current,
            What::Point => self.ready[index - 1],
            _ => self.ready[index],
        }
    }

    /// Returns `true` if this is a decision between tasks.
    fn is_of_tasks(&self) -> bool {
        matches!(self.what, What::Task | What::Point)
    }

    /// Returns the alternative for which `key` is greatest, the first one of several.
    #[inline]
    fn greatest(&self, mut key: impl FnMut(u32) -> u64) -> u32 {
        let (mut best, mut most) = (0, key(self.task(0)));
        for alternative in 1..self.of {
            let key = key(self.task(alternative));
            if key > most {
                (best, most) = (alternative, key);
            }
        }
        best
    }
}

/// The state of a schedule in one run.
pub(super) enum Chooser {
    Random(random::Random),
    First,
    Counting(Box<counting::Counting>),
    Pct(pct::Pct),
    Pos(pos::Pos),
    Surw(surw::Surw),
    Guided(Box<Guided>),
    Exhaustive(Exhaustive),
    Replay(replay::Replay),
    BySource(Box<by_source::BySource>),
}

impl Chooser {
    /// Returns the schedule of a run. `Guided` and `Exhaustive` keep their state between runs: this makes those of the first
    /// one.
    pub(super) fn new(schedule: Schedule, seed: u64, counted: &Counted) -> Self {
        let Counted { profile, length } = counted;
        match schedule {
            Schedule::Portfolio | Schedule::Random if seed == counting::SEED => Self::counting(),
            Schedule::Portfolio | Schedule::Random => Self::Random(random::Random::new(seed)),
            Schedule::RoundRobin => Self::First,
            Schedule::Pct { depth } => Self::Pct(pct::Pct::new(seed, depth, *length)),
            Schedule::Pos => Self::Pos(pos::Pos::new(seed)),
            Schedule::Surw => Self::Surw(surw::Surw::new(seed, profile)),
            Schedule::Guided => {
                let mut guided = Box::new(Guided::new());
                guided.begin(seed);
                Self::Guided(guided)
            }
            Schedule::Exhaustive { preemptions } => Self::Exhaustive(Exhaustive::new(preemptions)),
        }
    }

    /// Returns the random walk that counts the operations.
    pub(super) fn counting() -> Self {
        Self::Counting(Box::new(counting::Counting::new()))
    }

    pub(super) fn replay(trace: &Trace) -> Self {
        Self::Replay(replay::Replay::new(trace.clone()))
    }

    /// Also replays a trace, and keeps its decisions by their sources.
    pub(super) fn replay_by_source(trace: &Trace) -> Self {
        Self::BySource(Box::new(by_source::BySource::of_trace(trace)))
    }

    /// Takes each of these decisions where the run has it, and the harmless alternative elsewhere.
    pub(super) fn of_each(taken: &[Taken]) -> Self {
        Self::BySource(Box::new(by_source::BySource::of_each(taken)))
    }

    /// Draws random numbers in the plain order.
    pub(super) fn draw(draw: &Draw<'_>) -> Self {
        Self::BySource(Box::new(by_source::BySource::draw(draw)))
    }

    /// Returns the decisions of the run by their sources, if they were kept.
    pub(super) fn into_taken(self) -> Vec<Taken> {
        match self {
            Self::BySource(by_source) => by_source.taken,
            _ => Vec::new(),
        }
    }

    /// Returns `false` if a replayed trace has decisions that the run has not had.
    pub(super) fn fits(&self) -> bool {
        match self {
            Self::Replay(replay) => replay.fits(),
            _ => true,
        }
    }

    /// Selects one of at least two alternatives.
    #[inline]
    pub(super) fn choose(&mut self, choice: &Choice<'_>) -> u32 {
        match self {
            Self::Random(random) => random.choose(choice.what, choice.of),
            Self::First => 0,
            Self::Counting(counting) => counting.choose(choice),
            Self::Pct(pct) => pct.choose(choice),
            Self::Pos(pos) => pos.choose(choice),
            Self::Surw(surw) => surw.choose(choice),
            Self::Guided(guided) => guided.choose(choice),
            Self::Exhaustive(exhaustive) => exhaustive.choose(choice),
            Self::Replay(replay) => replay.choose(choice),
            Self::BySource(by_source) => by_source.choose(choice),
        }
    }

    /// A task has become ready. `yields`: it was the current one, and waits for no event.
    #[inline]
    pub(super) fn ready(&mut self, task: u32, yields: bool) {
        match self {
            Self::Pct(pct) if yields => pct.yields(task),
            Self::Pct(pct) => pct.ready(task),
            Self::Pos(pos) if yields => pos.yields(task),
            Self::Pos(pos) => pos.ready(task),
            Self::Guided(guided) => guided.ready(task, yields),
            _ => {}
        }
    }

    /// Hosts have been paused or resumed, so other tasks may run than before.
    #[cfg(feature = "net")]
    pub(super) fn hosts_change(&mut self) {
        match self {
            Self::Pct(pct) => pct.hosts_change(),
            Self::Guided(guided) => guided.hosts_change(),
            _ => {}
        }
    }

    /// The poll of the task has ended, with an operation on this object: the task waits there, or has completed it.
    #[inline]
    pub(super) fn stops_at(&mut self, task: u32, object: u32) {
        match self {
            Self::Pos(pos) => pos.operates(task, object),
            Self::Surw(surw) => surw.stops_at(task, object),
            Self::Guided(guided) => guided.stops_at(task, object),
            _ => {}
        }
    }

    /// The current task begins an operation on an object; 0 if it is not known.
    #[inline]
    pub(super) fn operates(&mut self, task: u32, object: u32) {
        match self {
            Self::Pos(pos) => pos.operates(task, object),
            Self::Surw(surw) => surw.operates(task, object),
            Self::Counting(counting) => counting.operates(task, object),
            Self::Pct(pct) => pct.operates(task, object),
            Self::Guided(guided) => guided.operates(task, object),
            _ => {}
        }
    }
}
