//! Tasks and threads that wait for a lock or permit of their own, and also for something outside.
//!
//! 1. A handler that locks twice waits until its client goes away, as its task is that of the connection, which also
//!    waits for the socket. But a healthy task looks the same: one of its futures has the lock and reads from the socket,
//!    and another one waits for the lock. No record says which future of a task has a lock. In the second case the program
//!    itself reads under its lock. If a package, such as axum, has spawned the task, and no line of the program waits for its
//!    sockets, the first case is likely: a finding, after a second.
//! 2. A permit of a semaphore may have moved to another task, which drops it later, and so may a guard of `lock_owned`.
//!    An accept loop that gives each connection a permit waits for the permits that it took itself.
//!
//! All others are notes in the report.

use blitz_io_observe::{EndedBy, Kind, Mode, SOCKET};

use crate::graph::{Graph, is_held, is_timer};
use crate::names::{of_target, of_waiter, since_taken};
use crate::origin::{Origin, origin};
use crate::snapshot::{Certainty, Finding, Object, Snapshot, Task, TaskState, Wait, Waiter};

/// Adds the handlers that lock twice.
pub(crate) fn own_locks(earlier: &Graph<'_>, later: &Graph<'_>, found: &mut Vec<Finding>) {
    let waiters = later.waiters();
    let is_new = |waiter: &Waiter| !found.iter().any(|finding| finding.waiters.contains(waiter));
    let own = waiters.filter(is_new).filter_map(|waiter| {
        let wait = own_wait(later, waiter).filter(|_| !has_timer(later, waiter))?;
        let has_lasted = earlier.has_lasting(wait) && own_wait(earlier, waiter).is_some();
        (has_lasted && !is_movable(wait) && is_read_by_a_package(later, wait))
            .then(|| finding(later, wait))
    });
    let own: Vec<Finding> = own.collect();
    found.extend(own);
}

/// Returns `true` if the program has taken the lock, a package has spawned the task, and no line of the program waits for the
/// task's sockets.
fn is_read_by_a_package(graph: &Graph<'_>, wait: &Wait) -> bool {
    let is_of = |place: &str, from: Origin| origin("", place) == from;
    let taken_at = wait.object.as_ref().map_or("", |object| &object.taken_at);
    let task = wait.waiter.task().and_then(|id| graph.task(id));
    let sockets = graph.waits(wait.waiter).iter();
    let mut sockets = sockets.filter(|wait| wait.kind == SOCKET).peekable();
    is_of(taken_at, Origin::Program)
        && task.is_some_and(|task| is_of(&task.location, Origin::Package))
        && sockets.peek().is_some()
        && sockets.all(|wait| !is_of(&wait.location, Origin::Program))
}

fn finding(graph: &Graph<'_>, wait: &Wait) -> Finding {
    let all = graph.waits(wait.waiter).iter();
    let further = all.filter(|other| other.id != wait.id);
    let snapshot = graph.snapshot;
    let behind = writer_before(snapshot, wait).map(|writer| {
        let writer = of_waiter(snapshot, writer);
        format!(" (and {writer}, which waits to write, comes first)")
    });
    let summary = format!(
        "{} waits for {}, which it took itself{}{}, and can go on only if a client goes away, or if another of its futures has it",
        of_waiter(snapshot, wait.waiter),
        of_target(snapshot, wait),
        taken(wait),
        behind.unwrap_or_default(),
    );
    Finding {
        certainty: Certainty::Probable,
        kind: "self-wait".into(),
        summary,
        waiters: vec![wait.waiter],
        waits: vec![wait.clone()],
        further: further.map(|&wait| wait.clone()).collect(),
    }
}

/// Returns a writer that waits for a lock which the waiter reads, and wants to read again: readers queue up behind it.
fn writer_before(snapshot: &Snapshot, wait: &Wait) -> Option<Waiter> {
    let id = wait.object.as_ref()?.id;
    let is_it = |other: &&Wait| {
        other.kind == Kind::Write.name()
            && other.object.as_ref().is_some_and(|object| object.id == id)
    };
    let writer = snapshot.waits.iter().find(is_it)?;
    (wait.kind == Kind::Read.name()).then_some(writer.waiter)
}

/// Returns the line at which the lock was taken, with a word before it.
fn taken(wait: &Wait) -> String {
    since_taken(wait).replacen(" since ", " at ", 1)
}

/// Returns the note about each such task or thread that is in no finding.
pub(crate) fn notes(graph: &Graph<'_>, findings: &[Finding]) -> Vec<String> {
    let waiters = graph.waiters().filter(|waiter| {
        let mut findings = findings.iter();
        !findings.any(|finding| finding.waiters.contains(waiter))
    });
    let own = waiters.filter_map(|waiter| Some((waiter, own_wait(graph, waiter)?)));
    own.map(|(waiter, wait)| note(graph, waiter, wait))
        .collect()
}

/// Returns `true` if a waiter waits for a timer, too, which may be the time limit of the request.
fn has_timer(graph: &Graph<'_>, waiter: Waiter) -> bool {
    graph.waits(waiter).iter().any(|wait| is_timer(wait))
}

/// Returns the wait of a task or thread for something that it took itself, if it has no other waits than for sockets,
/// for the ends of channels that stop a service, and for timers.
fn own_wait<'a>(graph: &Graph<'a>, waiter: Waiter) -> Option<&'a Wait> {
    let waits = graph.waits(waiter);
    let mut held = waits.iter().copied().filter(|wait| is_held(wait));
    let (first, second) = (held.next()?, held.next());
    let object = first.object.as_ref()?;
    let reads_alone = object.unnamed == 0 && object.readers == [waiter];
    let is_own = match object.holder {
        // Others may have permits, too.
        Some(_) if first.semantics.mode == Mode::Permit && !object.readers.is_empty() => {
            reads_alone
        }
        Some(holder) => holder == waiter,
        None => reads_alone,
    };
    let is_outside =
        |wait: &Wait| wait.kind == SOCKET || wait.semantics.mode == Mode::Closed && !wait.is_timed;
    let mut others = waits.iter().filter(|wait| wait.id != first.id);
    let task = waiter.task().and_then(|id| graph.task(id));
    let has_records_only =
        |task: &Task| task.state == TaskState::Idle && task.wakers <= waits.len();
    let is_it = second.is_none()
        && is_own
        && (waits.len() > 1 || is_movable(first))
        && !first.is_short()
        && !first.is_timed
        && others.all(|wait| is_outside(wait) || is_timer(wait))
        && (first.blocks_thread || task.is_some_and(has_records_only));
    is_it.then_some(first)
}

/// Returns `true` if the wait is for something whose guard or permit may have moved to another task.
pub(crate) fn is_movable(wait: &Wait) -> bool {
    let may_move = |object: &Object| {
        // Permits may move, also if it is not known who took one last.
        let is_of_unknown = is_for_permit(wait) && object.holder.is_none();
        is_of_unknown || object.is_movable && !object.is_beside_readers
    };
    wait.object.as_ref().is_some_and(may_move)
}

/// Returns `true` if a child of a scope waits for such a lock or permit, which its task has taken.
pub(crate) fn is_movable_of_owner(graph: &Graph<'_>, wait: &Wait) -> bool {
    let holder = wait.object.as_ref().and_then(|object| object.holder);
    let mut owners = graph.families.owners(wait.waiter);
    is_movable(wait) && owners.any(|owner| Some(owner) == holder)
}

/// Returns `true` if the wait is for a permit of a semaphore of one process.
fn is_for_permit(wait: &Wait) -> bool {
    wait.semantics.mode == Mode::Permit && wait.semantics.ended_by == EndedBy::LastUser
}

/// Returns `true` if the wait is for permits, and the waiter has some that it may have given to another task. Several accept
/// loops do so that share one semaphore: each gives its permits to connections.
pub(crate) fn may_have_given(wait: &Wait) -> bool {
    let object = wait.object.as_ref();
    let has_some = |object: &Object| !object.are_kept && object.readers.contains(&wait.waiter);
    is_for_permit(wait) && object.is_some_and(has_some)
}

fn note(graph: &Graph<'_>, waiter: Waiter, wait: &Wait) -> String {
    let snapshot = graph.snapshot;
    let others = graph.waits(waiter).iter();
    let others = others.filter(|other| other.id != wait.id);
    let others: Vec<String> = others.map(|other| of_target(snapshot, other)).collect();
    let mut ways = Vec::new();
    if is_movable(wait) {
        ways.push("another task or thread has it by now");
    }
    let kinds = || graph.waits(waiter).iter();
    if !others.is_empty() {
        ways.push("another of its futures has it");
    }
    if kinds().any(|wait| wait.kind == SOCKET) {
        ways.push("a client goes away");
    }
    if has_timer(graph, waiter) {
        ways.push("a time limit ends it");
    }
    let mut text = format!(
        "{} waits for {}, which it took itself{}. This ends only if {}",
        of_waiter(snapshot, waiter),
        of_target(snapshot, wait),
        taken(wait),
        ways.join(", or "),
    );
    if !others.is_empty() {
        text.push_str("; also waiting: ");
        text.push_str(&others.join(", "));
    }
    text
}
