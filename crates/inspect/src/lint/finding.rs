//! `Finding`: something that could go wrong in another schedule, as plain data.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter, Write as _};
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::explain;
use super::run::{Side, Step};
use crate::names::{is_of_std, short, short_future};
use crate::origin::{Origin, origin};
use crate::snapshot::{Certainty, Waiter, id_of_child, is_future};

/// The numbers of futures for which threads block are above this one, and those of tasks are not.
const ROOTS: u64 = 1 << 52;

/// The subject of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Lint {
    /// Locks are taken in several orders.
    LockOrder,
    /// A task keeps the guard of a thread lock while it is suspended.
    GuardAcrossAwait,
    /// The poll of a task blocks its worker.
    BlockingInPoll,
    /// A future has a lock, and its task does not poll it.
    FuturelockRisk,
    /// A task is left when its runtime ends, and nothing could wake it.
    LeakedTask,
    /// A channel without a limit gets longer and longer.
    UnboundedGrowth,
    /// A permit was forgotten, and the semaphore has fewer from then on.
    LostPermit,
    /// A request waits for a socket without a deadline.
    NoDeadline,
    /// Many tasks are woken, and one has something to do.
    WakeStorm,
}

impl Lint {
    /// All lints.
    pub const ALL: [Self; 9] = [
        Self::LockOrder,
        Self::GuardAcrossAwait,
        Self::BlockingInPoll,
        Self::FuturelockRisk,
        Self::LeakedTask,
        Self::UnboundedGrowth,
        Self::LostPermit,
        Self::NoDeadline,
        Self::WakeStorm,
    ];

    /// Returns the name that the command line uses.
    ///
    /// ```
    /// use blitz_io_inspect::lint::Lint;
    ///
    /// assert_eq!(Lint::LockOrder.name(), "lock-order");
    /// assert_eq!("lock-order".parse(), Ok(Lint::LockOrder));
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LockOrder => "lock-order",
            Self::GuardAcrossAwait => "guard-across-await",
            Self::BlockingInPoll => "blocking-in-poll",
            Self::FuturelockRisk => "futurelock-risk",
            Self::LeakedTask => "leaked-task",
            Self::UnboundedGrowth => "unbounded-growth",
            Self::LostPermit => "lost-permit",
            Self::NoDeadline => "no-deadline",
            Self::WakeStorm => "wake-storm",
        }
    }

    /// Returns a page about the lint: its findings, the fault, and the change that mends it.
    ///
    /// ```
    /// use blitz_io_inspect::lint::Lint;
    ///
    /// assert!(Lint::LockOrder.explanation().contains("order"));
    /// ```
    #[must_use]
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::LockOrder => explain::LOCK_ORDER,
            Self::GuardAcrossAwait => explain::GUARD_ACROSS_AWAIT,
            Self::BlockingInPoll => explain::BLOCKING_IN_POLL,
            Self::FuturelockRisk => explain::FUTURELOCK_RISK,
            Self::LeakedTask => explain::LEAKED_TASK,
            Self::UnboundedGrowth => explain::UNBOUNDED_GROWTH,
            Self::LostPermit => explain::LOST_PERMIT,
            Self::NoDeadline => explain::NO_DEADLINE,
            Self::WakeStorm => explain::WAKE_STORM,
        }
    }
}

impl Display for Lint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Lint {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|lint| lint.name() == name);
        found.ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|lint| lint.name()).collect();
            format!("there is no lint {name:?}; there are {}", names.join(", "))
        })
    }
}

impl Serialize for Lint {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

/// Something that could go wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The subject.
    pub lint: Lint,
    /// How sure it is.
    pub certainty: Certainty,
    /// A program that works may do so: it is for those who ask for all.
    pub is_pedantic: bool,
    /// One sentence.
    pub summary: String,
    /// The tasks and threads.
    pub steps: Vec<Step>,
    /// The command line of the process.
    pub command: String,
    /// The number of times that it was seen.
    pub count: u64,
}

impl Finding {
    /// Returns all lines of the program that the finding has, such as `src/main.rs:17`.
    #[must_use]
    pub fn lines(&self) -> BTreeSet<&str> {
        let sides = self
            .steps
            .iter()
            .flat_map(|step| [&step.holds, &step.takes]);
        let sides = sides.flatten().filter_map(|side| side.at.as_deref());
        // The lines of the objects tell one such finding from another. Any task may show it.
        let is_of_objects = matches!(
            self.lint,
            Lint::LockOrder | Lint::LostPermit | Lint::UnboundedGrowth
        );
        let tasks = (self.steps.iter()).filter(|_| !is_of_objects);
        let tasks = tasks.filter_map(|step| step.spawned_at.as_deref());
        let between = self.steps.iter().flat_map(|step| &step.between).flatten();
        let between = between.map(String::as_str);
        sides.chain(between).chain(tasks).collect()
    }

    /// Returns `true` if both are about the same lines.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        // Requests of one library's tasks may have no other line than that of their spawn.
        let spawns = |finding: &Self| finding.lines().len() <= finding.steps.len();
        let request = |finding: &Self| finding.steps.first().and_then(|step| step.request.clone());
        self.lint == other.lint
            && self.lines() == other.lines()
            && (!spawns(self) || request(self) == request(other))
    }

    /// Returns the text for people.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{}: {}: {}\n", self.certainty, self.lint, self.summary);
        let sides = self.steps.iter();
        let sides: Vec<&Side> = sides
            .flat_map(|step| step.holds.iter().chain(&step.takes))
            .collect();
        let shown = |side| shown(side, &sides);
        for step in &self.steps {
            let who = who(step);
            match (&step.holds, &step.takes) {
                (Some(holds), Some(takes)) => {
                    _ = writeln!(text, "  {who} holds {}", shown(holds));
                    _ = writeln!(text, "    and takes {}", shown(takes));
                }
                (Some(holds), None) => _ = writeln!(text, "  {who} holds {}", shown(holds)),
                (None, Some(takes)) => _ = writeln!(text, "  {who} waits for {}", shown(takes)),
                (None, None) => _ = writeln!(text, "  {}", who.trim_end_matches(',')),
            }
            if let Some(part) = longest_part(step) {
                _ = writeln!(text, "    {part}");
            }
        }
        if self.count > 1 {
            _ = writeln!(text, "  seen {} times", self.count);
        }
        if self.lint == Lint::BlockingInPoll && self.steps.first().is_some_and(is_any_request) {
            text += MARK_REQUESTS;
        }
        text
    }
}

/// The advice for a poll of a server's task, which serves all requests of a connection.
const MARK_REQUESTS: &str = "  mark requests (`trace::RequestLayer`) to see which one it was\n";

/// Returns `true` for a task that a package has spawned, such as that of a connection, if it has no marked request.
fn is_any_request(step: &Step) -> bool {
    let spawned_at = step.spawned_at.as_deref();
    step.request.is_none() && spawned_at.is_some_and(|at| origin("", at) == Origin::Package)
}

/// Says between which lines the longest part of a poll was, if one is known.
fn longest_part(step: &Step) -> Option<String> {
    let between = step.between.each_ref().map(|at| at.as_deref().map(short));
    let lines = match between {
        [None, None] => return None,
        [Some(one), Some(other)] if one == other => format!("from {one} to the same line"),
        [Some(one), Some(other)] => format!("between {one} and {other}"),
        [Some(one), None] => format!("after {one}"),
        [None, Some(other)] => format!("before {other}"),
    };
    Some(format!("the longest part of it {lines}"))
}

/// Returns the name of the task or thread of a step, with the line at which it was spawned.
fn who(step: &Step) -> String {
    let at = step.spawned_at.as_deref().map(short);
    let name = match step.who {
        Some(Waiter::Task(number)) => match id_of_child(number) {
            Some(id) => format!("child {id} of a scope"),
            None if number > ROOTS => match at {
                // As `blitz why` names it.
                Some(at) => return format!("block_on at {at}"),
                None => format!("block_on {}", number - ROOTS),
            },
            None if is_future(number) => short_future(number),
            None => format!("task {number}"),
        },
        Some(Waiter::Thread(id)) => format!("thread {id}"),
        _ => "the holder".to_owned(),
    };
    let name = match &step.request {
        Some(request) => format!("{name} ({request})"),
        None => name,
    };
    match at {
        Some(at) => format!("{name}, spawned at {at},"),
        None => name,
    }
}

/// Describes one of several locks, in two lines.
fn shown(side: &Side, all: &[&Side]) -> String {
    let mut text = numbered(side, all);
    match (made_at(side).map(short), &side.name) {
        // The place is a part of the name.
        (Some(made_at), None) => _ = write!(text, " created at {made_at}"),
        (Some(made_at), Some(_)) => _ = write!(text, " (created at {made_at})"),
        (None, _) => {}
    }
    if let Some(at) = &side.at {
        _ = write!(text, "\n      at {}", short(at));
    }
    text
}

/// Returns the line at which a lock was created, unless `Arc::default` has created it, whose line says nothing.
pub(super) fn made_at(side: &Side) -> Option<&str> {
    side.made_at.as_deref().filter(|at| !is_of_std(at))
}

/// Returns the name of one of several locks, with its number among those that have this name and were created at this line.
pub(super) fn numbered(side: &Side, all: &[&Side]) -> String {
    let own = name(side);
    let is_like = |other: &&&Side| name(other) == own && made_at(other) == made_at(side);
    let mut locks: Vec<&str> = Vec::new();
    for other in all.iter().filter(is_like) {
        if !locks.contains(&&*other.lock) {
            locks.push(&other.lock);
        }
    }
    match locks.iter().position(|lock| *lock == side.lock) {
        Some(at) if locks.len() > 1 => format!("{own} #{}", at + 1),
        _ => own,
    }
}

/// Returns the name of a lock.
pub(super) fn name(side: &Side) -> String {
    match &side.name {
        Some(name) => format!("{} {name:?}", side.kind.name()),
        None => side.kind.name().to_owned(),
    }
}
