//! `Selection`: the threads and tasks that a report examines in detail. The others are counted.
//!
//! A process may have a million tasks that wait, and a copy of all their records takes gigabytes. With up to [`ALL`]
//! records, the report has them all. With more, it walks over the records several times, which copies nothing, and
//! chooses up to [`MOST`] waiters:
//!
//! 1. **Chains.** Each member of a cycle waits, and another member waits for it. So a waiter is a candidate if a
//!    candidate waits for it; at first, all waiters are candidates. Each round keeps at least all cycles. It notes
//!    the waiters that candidates wait for in a filter of one bit each, which may name too many, and never too few.
//! 2. **Threads.** All that sleep in a wait, the futures that they drive, and the tasks that they poll. The system has a
//!    limit for these, so they count separately.
//! 3. **Examples.** Some waits of each kind and location, and some tasks that are ready.
//! 4. **Neighbours.** The threads and tasks for which a chosen one waits, and those that await the scopes of chosen children.
//!
//! All waits of a chosen waiter are copied, in both snapshots of a judgement. A waiter that is not chosen counts as one
//! that may proceed, so a selection hides findings and makes none. Where a rule needs all waiters of an object,
//! `graph.rs` asks if there is a selection. A holder that is not chosen has not ended: the snapshot names those that live.

use std::panic::Location;

use blitz_io_observe::collections::{HashMap, HashSet};
use blitz_io_observe::{self as records, Brief, Kind, TaskState};

use crate::snapshot::{Group, LeftOut, Snapshot, place};

/// With so many records there is no selection.
const ALL: usize = 16_384;
/// The largest number of chosen waiters, without their neighbours.
const MOST: usize = 4_096;
/// The largest numbers of chosen members of chains, and of ready tasks.
const CHAINS: usize = 2_048;
const READY: usize = 256;
/// The examples of each kind of wait at one location.
const EXAMPLES: usize = 16;
/// The examples of all groups.
const EXAMPLES_OF_ALL: usize = MOST - CHAINS - READY;
/// The maximum number of groups: pairs of a kind and a location.
const GROUPS: usize = 512;
/// The largest number of rounds in the search for chains, and for the owners of scopes within scopes.
const ROUNDS: usize = 4;

/// See the module documentation.
pub(crate) struct Selection(Option<Chosen>);

struct Chosen {
    /// The words of the waiters.
    waiters: HashSet<u64>,
    groups: HashMap<Likeness, u64>,
    /// Number of records without a group of their own.
    others: u64,
}

/// The common properties of a group's records. The location of a task is that of its spawn.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Likeness {
    /// The index in [`Kind::ALL`].
    kind: usize,
    location: Option<&'static Location<'static>>,
}

impl Likeness {
    fn new(brief: &Brief) -> Self {
        Self {
            kind: brief.kind as usize,
            location: brief.location,
        }
    }
}

/// A set of waiters that may have more members than were added.
struct Filter(Vec<u64>);

impl Filter {
    /// The number of bits, as a power of two.
    const BITS: u32 = 23;

    fn new() -> Self {
        Self(vec![0; 1 << (Self::BITS - u64::BITS.trailing_zeros())])
    }

    fn place(word: u64) -> (usize, u64) {
        let bit = word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - Self::BITS);
        (bit as usize / 64, 1 << (bit % 64))
    }

    fn add(&mut self, waiter: records::Waiter) {
        let (at, bit) = Self::place(waiter.word());
        self.0[at] |= bit;
    }

    fn may_have(&self, waiter: records::Waiter) -> bool {
        let (at, bit) = Self::place(waiter.word());
        self.0[at] & bit != 0
    }
}

/// Calls `f` with each record, and copies none.
fn for_each(mut f: impl FnMut(&Brief)) {
    _ = records::read_chosen(|brief| {
        f(brief);
        false
    });
}

fn is_wait(brief: &Brief) -> bool {
    !matches!(brief.kind, Kind::Task | Kind::Idle)
}

impl Selection {
    /// Chooses everything.
    pub(crate) const ALL: Self = Self(None);

    /// Looks at the records of this process, and chooses.
    pub(crate) fn choose() -> Self {
        let mut count = 0;
        let mut ended = Filter::new();
        for_each(|brief| {
            count += 1;
            if is_wait(brief) {
                brief.for_each_ender(|ender| ended.add(ender));
            }
        });
        if count <= ALL {
            return Self::ALL;
        }
        let chains = chains(ended, count);
        Self(Some(choose(&chains)))
    }

    /// Returns `true` if a copy of this record is wanted.
    pub(crate) fn has(&self, brief: &Brief) -> bool {
        let chosen = self.0.as_ref();
        // Without the record of an idle worker, its sleep would be one that nothing explains.
        brief.kind == Kind::Idle
            || chosen.is_none_or(|chosen| chosen.waiters.contains(&brief.waiter.word()))
    }

    /// Says which records the snapshot lacks. `None` if it has them all.
    pub(crate) fn left_out(&self, snapshot: &Snapshot) -> Option<LeftOut> {
        let chosen = self.0.as_ref()?;
        let mut detailed: HashMap<(&str, &str), u64> = HashMap::default();
        for wait in &snapshot.waits {
            *detailed.entry((&wait.kind, &wait.location)).or_default() += 1;
        }
        for task in &snapshot.tasks {
            *detailed
                .entry((Kind::Task.name(), &task.location))
                .or_default() += 1;
        }
        let mut groups: Vec<Group> = chosen.groups.iter().map(|(of, n)| group(of, *n)).collect();
        // The largest first, and always in the same order.
        groups
            .sort_by(|a, b| (b.count, &a.kind, &a.location).cmp(&(a.count, &b.kind, &b.location)));
        for group in &mut groups {
            let shown = detailed.get_mut(&(&*group.kind, &*group.location));
            if let Some(shown) = shown {
                let part = group.count.min(*shown);
                group.count -= part;
                *shown -= part;
            }
        }
        groups.retain(|group| group.count != 0);
        Some(LeftOut {
            groups,
            others: chosen.others,
            alive: alive(snapshot),
        })
    }
}

fn group(of: &Likeness, count: u64) -> Group {
    Group {
        kind: Kind::ALL[of.kind].name().into(),
        location: of.location.map(place).unwrap_or_default(),
        count,
    }
}

/// Returns the tasks that live, have an object for which a wait of the snapshot is, and are not in the snapshot.
fn alive(snapshot: &Snapshot) -> Vec<u64> {
    let is_here = |id: u64| snapshot.task(id).is_some() || snapshot.job(id).is_some();
    let holders = snapshot
        .waits
        .iter()
        .filter_map(|wait| wait.object.as_ref()?.holder?.task());
    let absent: HashSet<u64> = holders.filter(|&id| !is_here(id)).collect();
    let mut found = Vec::new();
    if !absent.is_empty() {
        for_each(|brief| {
            let id = brief.waiter.number();
            if brief.kind == Kind::Task && absent.contains(&id) {
                found.push(id);
            }
        });
    }
    found
}

/// Returns a filter with all waiters that may be in a cycle.
fn chains(mut ended: Filter, mut count: usize) -> Filter {
    for _ in 0..ROUNDS {
        let mut next = Filter::new();
        let mut candidates = 0;
        for_each(|brief| {
            if is_wait(brief) && ended.may_have(brief.waiter) {
                candidates += 1;
                brief.for_each_ender(|ender| next.add(ender));
            }
        });
        ended = next;
        if candidates <= CHAINS || candidates == count {
            break;
        }
        count = candidates;
    }
    ended
}

/// Chooses waiters: those of chains, threads, and examples.
fn choose(chains: &Filter) -> Chosen {
    let mut chosen = Chosen {
        waiters: HashSet::default(),
        groups: HashMap::default(),
        others: 0,
    };
    let mut neighbours = HashSet::default();
    let (mut members, mut ready, mut others) = (0, 0, 0);
    for_each(|brief| {
        if brief.kind == Kind::Idle {
            return;
        }
        let count = chosen.count(brief);
        let runs = brief.state == Some(TaskState::Running);
        let of_thread = brief.blocks_thread || brief.is_root || runs;
        let is_ready = brief.state == Some(TaskState::Scheduled);
        let is_member = is_wait(brief) && chains.may_have(brief.waiter);
        let is_example = count.is_some_and(|count| count <= EXAMPLES as u64);
        let is_wanted = of_thread
            || take(&mut members, CHAINS, is_member)
            || take(&mut ready, READY, is_ready)
            || take(&mut others, EXAMPLES_OF_ALL, is_example);
        if is_wanted {
            chosen.waiters.insert(brief.waiter.word());
        }
        if is_wait(brief) && chosen.waiters.contains(&brief.waiter.word()) {
            brief.for_each_ender(|ender| {
                if neighbours.len() < MOST {
                    neighbours.insert(ender.word());
                }
            });
        }
    });
    chosen.waiters.extend(neighbours);
    chosen.add_owners();
    chosen
}

/// Counts one more, if it is one and there are not too many.
fn take(count: &mut usize, most: usize, is_one: bool) -> bool {
    let takes = is_one && *count < most;
    *count += usize::from(takes);
    takes
}

impl Chosen {
    /// Adds the owners of the scopes of chosen children: without them, a child counts as one that may end.
    fn add_owners(&mut self) {
        for _ in 0..ROUNDS {
            let mut owners = Vec::new();
            for_each(|brief| {
                let owner = brief
                    .owner
                    .filter(|_| self.waiters.contains(&brief.waiter.word()));
                owners.extend(owner.filter(|owner| !self.waiters.contains(&owner.word())));
            });
            if owners.is_empty() {
                return;
            }
            self.waiters.extend(owners.iter().map(|owner| owner.word()));
        }
    }

    /// Counts a record in its group. Returns the number of those in the group; `None` if there are too many groups.
    fn count(&mut self, brief: &Brief) -> Option<u64> {
        let likeness = Likeness::new(brief);
        if self.groups.len() >= GROUPS && !self.groups.contains_key(&likeness) {
            self.others += 1;
            return None;
        }
        let count = self.groups.entry(likeness).or_default();
        *count += 1;
        Some(*count)
    }
}
