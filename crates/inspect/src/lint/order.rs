//! `lock-order`: locks that are taken in a cycle.
//!
//! # Method
//!
//! An edge is a lock that a task or thread took while it held another one. A cycle of edges is a deadlock in a
//! schedule in which each owner has its first lock and waits for its second one, if
//!
//! 1. at each lock, the mode in which it is held keeps out the mode in which it is wanted: two readers do not;
//! 2. no lock is held by all owners, which would let only one of them into the cycle;
//! 3. all owners may run at the same time.
//!
//! The last one is not known: one task may have taken the locks in one order, and then in the other one. So such
//! a cycle of one owner is only probable.
//!
//! Edges into a lock that is tried, or waited for with a deadline, are not recorded: such a wait ends. Nor is the
//! second acquisition of a lock that its owner has.
//!
//! # Instances and classes
//!
//! A cycle of the same locks comes first. Then locks that were created at one line count as one, a class, as in
//! the kernel's lockdep: another run may have them in a cycle. A cycle of classes is probable. Two locks of one
//! class are always distinguished, since programs take such locks by their addresses, or from parents to children.
//! The line at which a lock of threads was created is not known, so each of these is a class of its own. So is a lock that
//! std made, as `Arc::default` does: its line is std's, whatever it is for.
//!
//! # Connections
//!
//! A task that has another pending future may hold the first lock in that one, and then no future takes both. The recorder
//! usually knows which future has it. If it does not, a wait for a lock, a channel or a task shows that another future is at
//! work, so such an edge does not count. The task of a connection always waits for its socket beside its handler, and often
//! for a timer or an event. An edge of such a task counts in a probable cycle of several owners.
//!
//! # Readers that read twice
//!
//! A lock that its owner reads already, and reads again, is a cycle of this lock alone if another owner may want to
//! write in between: a lock that is fair to writers lets no reader pass a writer that waits. There is a finding if
//! another owner has written in the run, and no further lock keeps the two apart.
//!
//! # Bounds
//!
//! Locks without an edge to them, or from them, are in no cycle, and are removed first. The search for the
//! shortest cycle through an edge visits each other edge once.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use blitz_io_observe::Mode;

use super::finding::{Finding, Lint, made_at, name, numbered};
use super::run::{Edge, Run, Side, Step, Write};
use crate::names::{is_of_std, short};
use crate::snapshot::Certainty;

/// The most locks of a cycle.
const LONGEST: usize = 8;
/// The most findings of a run.
const MOST: usize = 256;

/// Returns the cycles of a run.
pub(super) fn orders(run: &Run) -> Vec<Finding> {
    let is_possible = |edge: &&Edge| !edge.is_joined && edge.from.lock != edge.to.lock;
    let possible: Vec<&Edge> = run.edges.iter().filter(is_possible).collect();
    let edges: Vec<&Edge> = possible
        .iter()
        .filter(|edge| !edge.is_beside)
        .copied()
        .collect();
    let mut known = HashSet::new();
    let mut found = Vec::new();
    let lock = |side: &Side| side.lock.clone();
    for cycle in cycles(&edges, &lock) {
        let certainty = if is_certain(&cycle) {
            Certainty::Certain
        } else {
            Certainty::Probable
        };
        if known.insert(lines(&cycle)) {
            found.push(finding(&cycle, certainty, "", run));
        }
    }
    for cycle in cycles(&possible, &lock) {
        if has_owners(&cycle) && known.insert(lines(&cycle)) {
            let doubt =
                "; their tasks also waited for a socket, a timer or an event, as a connection does";
            found.push(finding(&cycle, Certainty::Probable, doubt, run));
        }
    }
    let is_between = |edge: &&Edge| class(&edge.from) != class(&edge.to);
    let edges: Vec<&Edge> = edges.into_iter().filter(is_between).collect();
    for cycle in cycles(&edges, &class) {
        if known.insert(lines(&cycle)) {
            let doubt = "; these were other locks, created at the same lines";
            found.push(finding(&cycle, Certainty::Probable, doubt, run));
        }
    }
    found.truncate(MOST);
    found
}

/// Returns the line at which a lock was created, or else the lock.
fn class(side: &Side) -> String {
    let line = side.made_at.as_deref().filter(|line| !is_of_std(line));
    line.unwrap_or(&side.lock).to_owned()
}

/// Returns `true` if a lock that is held in one mode keeps out another mode.
fn keeps_out(held: Mode, wanted: Mode) -> bool {
    let shares = |mode| matches!(mode, Mode::Read | Mode::RecursiveRead);
    match (held, wanted) {
        (Mode::UpgradableRead, wanted) => !shares(wanted),
        (held, Mode::UpgradableRead) => !shares(held),
        (held, wanted) => !(shares(held) && shares(wanted)),
    }
}

fn is_certain(cycle: &[&Edge]) -> bool {
    has_owners(cycle) && cycle.iter().all(|edge| !edge.is_movable)
}

/// Returns `true` for a cycle of several owners.
fn has_owners(cycle: &[&Edge]) -> bool {
    let owners: BTreeSet<_> = cycle.iter().filter_map(|edge| edge.owner).collect();
    owners.len() > 1
}

/// Returns the lines of a cycle, which say if it is a new one.
fn lines(cycle: &[&Edge]) -> BTreeSet<[String; 2]> {
    let line = |side: &Side| side.at.clone().unwrap_or_else(|| side.lock.clone());
    let pairs = cycle.iter().map(|edge| [line(&edge.from), line(&edge.to)]);
    pairs.collect()
}

/// Returns the shortest cycle through each edge.
fn cycles<'a>(edges: &[&'a Edge], node: &impl Fn(&Side) -> String) -> Vec<Vec<&'a Edge>> {
    let edges = trimmed(edges, node);
    let mut by_from: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, edge) in edges.iter().enumerate() {
        by_from.entry(node(&edge.from)).or_default().push(at);
    }
    let mut found = Vec::new();
    let mut in_cycle = HashSet::new();
    for start in 0..edges.len() {
        // An edge of a cycle that is found needs no other one.
        if found.len() == MOST || in_cycle.contains(&start) {
            continue;
        }
        if let Some(cycle) = shortest(&edges, &by_from, node, start) {
            in_cycle.extend(cycle.iter().copied());
            found.push(cycle.into_iter().map(|at| edges[at]).collect());
        }
    }
    found
}

/// Returns the edges whose locks have edges to them and from them.
fn trimmed<'a>(edges: &[&'a Edge], node: &impl Fn(&Side) -> String) -> Vec<&'a Edge> {
    let mut edges = edges.to_vec();
    loop {
        let before = edges.len();
        let from: HashSet<_> = edges.iter().map(|edge| node(&edge.from)).collect();
        let to: HashSet<_> = edges.iter().map(|edge| node(&edge.to)).collect();
        edges.retain(|edge| from.contains(&node(&edge.to)) && to.contains(&node(&edge.from)));
        if edges.len() == before {
            return edges;
        }
    }
}

/// Searches by breadth for a way from the end of an edge to its beginning.
fn shortest(
    edges: &[&Edge],
    by_from: &HashMap<String, Vec<usize>>,
    node: &impl Fn(&Side) -> String,
    start: usize,
) -> Option<Vec<usize>> {
    let goal = node(&edges[start].from);
    let joins = |held: &Side, wanted: &Side| keeps_out(held.mode(), wanted.mode());
    let mut queue = VecDeque::from([vec![start]]);
    let mut seen = HashSet::from([start]);
    while let Some(path) = queue.pop_front() {
        let last = edges[*path.last()?];
        let end = node(&last.to);
        if end == goal && joins(&edges[start].from, &last.to) && !has_gate(edges, &path) {
            return Some(path);
        }
        // Each lock is in the cycle once.
        if end == goal || path.len() == LONGEST {
            continue;
        }
        for &next in by_from.get(&end).into_iter().flatten() {
            let from = &edges[next].from;
            let is_new = path.iter().all(|&at| node(&edges[at].from) != end);
            if is_new && joins(from, &last.to) && seen.insert(next) {
                queue.push_back(path.iter().copied().chain([next]).collect());
            }
        }
    }
    None
}

/// Returns the locks that a reader takes a second time, although a writer may wait in between: the writer waits for the
/// first guard, and the second one for the writer.
pub(super) fn rereads(run: &Run) -> Vec<Finding> {
    let again = |edge: &&Edge| !edge.is_joined && !edge.is_beside && edge.from.lock == edge.to.lock;
    let mut found: Vec<Finding> = Vec::new();
    for edge in run.edges.iter().filter(again) {
        let comes_between = |write: &&Write| {
            let has_gate = write.gates.iter().any(|gate| edge.gates.contains(gate));
            write.side.lock == edge.from.lock && write.owner != edge.owner && !has_gate
        };
        let Some(write) = run.writes.iter().find(comes_between) else {
            continue;
        };
        let step = |who, at: &Option<String>, holds: Option<&Side>, takes: &Side| Step {
            who,
            spawned_at: at.clone(),
            holds: holds.cloned(),
            takes: Some(takes.clone()),
            ..Step::default()
        };
        let finding = Finding {
            lint: Lint::LockOrder,
            // The writer may be one that has ended before there are readers.
            certainty: Certainty::Probable,
            is_pedantic: false,
            summary: format!(
                "{} is read twice by one owner, and another one writes",
                name(&edge.from)
            ),
            steps: vec![
                step(edge.owner, &edge.owner_at, Some(&edge.from), &edge.to),
                step(write.owner, &write.owner_at, None, &write.side),
            ],
            command: run.command.clone(),
            count: 1,
        };
        if !found.iter().any(|known| known.is_same(&finding)) {
            found.push(finding);
        }
        if found.len() == MOST {
            break;
        }
    }
    found
}

/// Returns `true` if all edges were taken within the same other lock.
fn has_gate(edges: &[&Edge], path: &[usize]) -> bool {
    let Some((&first, rest)) = path.split_first() else {
        return false;
    };
    let mut gates = edges[first].gates.iter();
    gates.any(|gate| rest.iter().all(|&at| edges[at].gates.contains(gate)))
}

/// Returns the name of one of the locks of a cycle, with the line of its creation if it has no name of its own.
fn identified(side: &Side, held: &[&Side]) -> String {
    let name = numbered(side, held);
    match (&side.name, made_at(side)) {
        (None, Some(made_at)) => format!("{name} created at {}", short(made_at)),
        _ => name,
    }
}

fn finding(cycle: &[&Edge], certainty: Certainty, doubt: &str, run: &Run) -> Finding {
    let held: Vec<&Side> = cycle.iter().map(|edge| &edge.from).collect();
    let names: Vec<_> = held.iter().map(|side| identified(side, &held)).collect();
    let owners: BTreeSet<_> = cycle.iter().filter_map(|edge| edge.owner).collect();
    let orders = if cycle.len() == 2 {
        "are taken in both orders"
    } else {
        "are taken in a circle"
    };
    let one = if owners.len() == 1 {
        ", so far by one task or thread"
    } else if cycle.iter().any(|edge| edge.is_movable) {
        ", if no guard moved to another task"
    } else {
        ""
    };
    let step = |edge: &&Edge| Step {
        who: edge.owner,
        spawned_at: edge.owner_at.clone(),
        holds: Some(edge.from.clone()),
        takes: Some(edge.to.clone()),
        ..Step::default()
    };
    Finding {
        lint: Lint::LockOrder,
        certainty,
        is_pedantic: false,
        summary: format!("{} {orders}{one}{doubt}", names.join(" and ")),
        steps: cycle.iter().map(step).collect(),
        command: run.command.clone(),
        count: 1,
    }
}
