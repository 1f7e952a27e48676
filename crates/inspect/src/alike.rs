//! Waiters that look alike, such as a thousand connections that wait for their clients: a report has one of them,
//! and the number of the others.

use crate::snapshot::{Finding, Snapshot, Wait, Waiter, process_and_number};
use blitz_io_observe::collections::{HashMap, HashSet};
use std::hash::Hash;

/// The largest number of blocks in a picture.
const BLOCKS: usize = 40;

/// A waiter with its waits, and the number of others like it.
pub(crate) struct Block<'a> {
    pub(crate) waits: Vec<&'a Wait>,
    pub(crate) more: usize,
}

/// The common part of waits that are alike.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Likeness<'a> {
    waiter: Named<'a>,
    kind: &'a str,
    /// The name of the object, and the place that created it. Those of one place without a name are alike.
    object: Option<(Option<&'a str>, &'a str)>,
    awaited: Option<Named<'a>>,
    /// The source up to the address or number in it.
    source: Option<&'a str>,
    location: &'a str,
    is_timed: bool,
}

/// The kind, process, name and spawn location of a thread or task, and the first request for which it works.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Named<'a>(u8, usize, &'a str, &'a str, &'a str);

impl<'a> Named<'a> {
    fn new(snapshot: &'a Snapshot, waiter: Waiter) -> Self {
        match waiter {
            Waiter::Task(id) => {
                let task = snapshot.task(id).map(|task| (&task.name, &task.location));
                let job = || snapshot.job(id).map(|job| (&job.name, &job.location));
                let (name, location) = task.or_else(job).map_or(("", ""), |(n, l)| (n, l));
                let serves = snapshot.requests_of(id).first();
                let request = serves.map_or("", |serves| &serves.name);
                Self(0, process_and_number(id).0, name, location, request)
            }
            Waiter::Thread(id) => {
                let thread = snapshot.threads.iter().find(|thread| thread.id == id);
                let name = thread.map_or("", |thread| &thread.name);
                Self(1, process_and_number(id).0, name, "", "")
            }
            Waiter::Process(pid) => Self(2, pid as usize, "", "", ""),
        }
    }
}

impl<'a> Likeness<'a> {
    fn new(snapshot: &'a Snapshot, wait: &'a Wait) -> Self {
        let source = wait.source.as_deref();
        let object = wait.object.as_ref();
        Self {
            waiter: Named::new(snapshot, wait.waiter),
            kind: &wait.kind,
            object: object.map(|object| (object.name.as_deref(), object.created_at.as_str())),
            awaited: (wait.task).map(|id| Named::new(snapshot, Waiter::Task(id))),
            source: source.and_then(|source| source.split(|c: char| c.is_ascii_digit()).next()),
            location: &wait.location,
            is_timed: wait.is_timed,
        }
    }
}

/// Puts the waits of each waiter into a block, in their order. Waiters whose waits are all alike share one, in whatever order
/// these have begun.
pub(crate) fn blocks<'a>(
    snapshot: &'a Snapshot,
    waits: impl IntoIterator<Item = &'a Wait>,
) -> Vec<Block<'a>> {
    let mut order: Vec<Waiter> = Vec::new();
    let mut of_waiters: HashMap<Waiter, Vec<&Wait>> = HashMap::default();
    for wait in waits {
        let waits = of_waiters.entry(wait.waiter).or_default();
        if waits.is_empty() {
            order.push(wait.waiter);
        }
        waits.push(wait);
    }
    let mut found: Vec<Block<'a>> = Vec::new();
    let mut seen: HashMap<Vec<Likeness<'a>>, usize> = HashMap::default();
    for waiter in order {
        let waits = of_waiters.remove(&waiter).unwrap_or_default();
        let likeness = waits.iter().map(|wait| Likeness::new(snapshot, wait));
        let mut likeness: Vec<Likeness<'_>> = likeness.collect();
        likeness.sort_unstable();
        let at = *seen.entry(likeness).or_insert(found.len());
        match found.get_mut(at) {
            Some(block) => block.more += 1,
            None => found.push(Block { waits, more: 0 }),
        }
    }
    found
}

/// Returns the first of the waits that are alike and in the same group, in their order, each with the number of the others.
#[doc(hidden)]
pub fn alike<'a, G: Eq + Hash>(
    snapshot: &'a Snapshot,
    waits: impl IntoIterator<Item = &'a Wait>,
    group: impl Fn(&Wait) -> G,
) -> Vec<(&'a Wait, usize)> {
    let mut found: Vec<(&Wait, usize)> = Vec::new();
    let mut seen = HashMap::default();
    for wait in waits {
        let likeness = (group(wait), Likeness::new(snapshot, wait));
        let at = *seen.entry(likeness).or_insert(found.len());
        match found.get_mut(at) {
            Some((_, more)) => *more += 1,
            None => found.push((wait, 0)),
        }
    }
    found
}

/// Counts tasks without a recorded wait: for each name, spawn location and state, the first one and the number of
/// the others.
pub(crate) fn without_waits(snapshot: &Snapshot) -> Vec<(Waiter, usize)> {
    let waiting: HashSet<Waiter> = snapshot.waits.iter().map(|wait| wait.waiter).collect();
    let mut found: Vec<(Waiter, usize)> = Vec::new();
    let mut seen = HashMap::default();
    for task in &snapshot.tasks {
        let waiter = Waiter::Task(task.id);
        if waiting.contains(&waiter) {
            continue;
        }
        let likeness = (Named::new(snapshot, waiter), task.state as u8);
        let at = *seen.entry(likeness).or_insert(found.len());
        match found.get_mut(at) {
            Some((_, more)) => *more += 1,
            None => found.push((waiter, 0)),
        }
    }
    found
}

/// Returns the waits that a picture shows, and for some waiters the number of others like them. With findings: their
/// waits, and the neighbours of these. The waits of findings come first, and each is shown.
pub(crate) fn excerpt(
    snapshot: &Snapshot,
    findings: &[Finding],
) -> (Vec<Wait>, HashMap<Waiter, usize>) {
    let waits = || findings.iter().flat_map(|finding| &finding.waits);
    let waiters = findings
        .iter()
        .flat_map(|finding| &finding.waiters)
        .copied();
    let waiters: HashSet<Waiter> = waiters.chain(waits().map(|wait| wait.waiter)).collect();
    let object = |wait: &Wait| wait.object.as_ref().map(|object| object.id);
    let objects: HashSet<u64> = waits().filter_map(object).collect();
    let own: HashSet<u64> = waits().map(|wait| wait.id).take(BLOCKS).collect();
    let is_near = |wait: &&Wait| {
        let holder = wait.object.as_ref().and_then(|object| object.holder);
        let awaited = wait.task.map(Waiter::Task);
        let mut enders = holder.into_iter().chain(awaited);
        waiters.contains(&wait.waiter)
            || object(wait).is_some_and(|id| objects.contains(&id))
            || enders.any(|ender| waiters.contains(&ender))
            || findings.is_empty()
    };
    let all = &snapshot.waits;
    let mut shown: Vec<Wait> = all
        .iter()
        .filter(|w| own.contains(&w.id))
        .cloned()
        .collect();
    let others = all.iter().filter(|wait| !own.contains(&wait.id));
    let mut more = HashMap::default();
    for block in blocks(snapshot, others.filter(is_near)) {
        if shown.len() >= BLOCKS {
            break;
        }
        if block.more != 0 {
            more.insert(block.waits[0].waiter, block.more);
        }
        shown.extend(block.waits.into_iter().cloned());
    }
    (shown, more)
}
