//! The report for people. [`report`] breaks no line: a line of a file or log is found with its whole path. On a terminal,
//! [`report_within`] breaks lines between words, and shortens names of functions that do not fit.

use std::collections::BTreeSet;
use std::fmt::Write;

use blitz_io_observe::collections::HashSet;
use blitz_io_observe::{Kind, Mode, counted};

use crate::alike::{Block, blocks, without_waits};
use crate::connections::without_own_of_connections;
use crate::graph::{Graph, is_for_guard_or_room};
use crate::lines::Lines;
use crate::names::{
    HELD, abridged, of_members, of_target, of_time_if_any, of_waiter, role_of_reader, short,
    since_taken, with_role, within_process,
};
use crate::objects::{created_at, creation, holder_alone, is_numbered};
use crate::origin::{Origin, origin};
use crate::requests::Requests;
use crate::snapshot::{
    End, Fill, Finding, Object, Process, ProcessState, Snapshot, TaskState, Wait, Waiter,
};
use crate::stack_text::{describe_stacks, is_of_program};
use crate::{behind_outside, held_cycle, long_wait, no_sender, own_lock, own_request, unreceived};

/// A finding shows each of so many waits.
const EACH: usize = 16;
/// A finding shows so many of the waits that could end it.
const FURTHER: usize = 8;
/// So many notes are shown.
const NOTES: usize = 8;

/// Writes the report: the findings, then all waits. No line is broken.
///
/// # Examples
///
/// ```
/// let text = blitz_io_inspect::report(&Default::default(), &[]);
/// assert!(text.contains("nothing certain"));
/// ```
#[must_use]
pub fn report(snapshot: &Snapshot, findings: &[Finding]) -> String {
    report_within(snapshot, findings, usize::MAX)
}

/// Writes the same report for a terminal with this many columns: longer lines are broken between words.
///
/// # Examples
///
/// ```
/// let text = blitz_io_inspect::report_within(&Default::default(), &[], 60);
/// assert!(text.lines().all(|line| line.len() <= 60));
/// ```
#[must_use]
pub fn report_within(snapshot: &Snapshot, findings: &[Finding], columns: usize) -> String {
    describe_all(Lines::new(columns), snapshot, findings, false)
}

/// Writes the same report, but the list has the waits of findings again, and the stacks have all their functions.
///
/// # Examples
///
/// ```
/// let text = blitz_io_inspect::report_in_full(&Default::default(), &[], 60);
/// assert!(text.contains("nothing certain"));
/// ```
#[must_use]
pub fn report_in_full(snapshot: &Snapshot, findings: &[Finding], columns: usize) -> String {
    describe_all(Lines::new(columns), snapshot, findings, true)
}

/// Writes the report about a run of a simulation that has failed: the findings, then the waits of the other tasks. No line is
/// broken. Empty if there is neither.
#[doc(hidden)]
#[must_use]
pub fn report_of_failure(snapshot: &Snapshot, findings: &[Finding]) -> String {
    let mut text = Lines::new(usize::MAX);
    describe_findings(&mut text, snapshot, findings);
    describe_notes(&mut text, snapshot, findings);
    let waits = findings.iter().flat_map(|finding| &finding.waits);
    let told: HashSet<Waiter> = waits.map(|wait| wait.waiter).collect();
    let is_new = |waiter: &Waiter| !told.contains(waiter);
    let (mut waits, _) = without_own_of_connections(snapshot);
    waits.retain(|wait| is_new(&wait.waiter));
    let blocks = blocks(snapshot, waits);
    let mut without = without_waits(snapshot);
    without.retain(|(waiter, _)| is_new(waiter));
    if blocks.is_empty() && without.is_empty() {
        return text.text;
    }
    text.blank();
    let heading = if told.is_empty() {
        "tasks that have not ended"
    } else {
        "other tasks that have not ended"
    };
    text.line("", heading);
    describe_tasks(&mut text, snapshot, &blocks, &without);
    text.text
}

/// The waits that the findings show, and the tasks that they are about. The list leaves these out.
#[derive(Default)]
struct Told {
    waits: HashSet<(Waiter, u64)>,
    tasks: HashSet<Waiter>,
}

impl Told {
    fn has(&self, wait: &Wait) -> bool {
        self.waits.contains(&(wait.waiter, wait.id))
    }
}

/// Writes the findings, then all waits, and the stacks. `is_whole`: also those that the findings show.
fn describe_all(
    mut text: Lines,
    snapshot: &Snapshot,
    findings: &[Finding],
    is_whole: bool,
) -> String {
    if findings.is_empty() {
        text.line("", "nothing certain");
    }
    let told = describe_findings(&mut text, snapshot, findings);
    let told = if is_whole { Told::default() } else { told };
    describe_notes(&mut text, snapshot, findings);
    let (mut waits, own) = without_own_of_connections(snapshot);
    waits.retain(|wait| !told.has(wait));
    let mut without = without_waits(snapshot);
    without.retain(|(waiter, _)| !told.tasks.contains(waiter));
    summarise(
        &mut text,
        snapshot,
        &told,
        waits.is_empty() && without.is_empty(),
    );
    let mut blocks = blocks(snapshot, waits);
    blocks.sort_by_key(|block| !is_contended(block));
    describe_tasks(&mut text, snapshot, &blocks, &without);
    if own != 0 {
        let more = counted(own, "more wait");
        text.line(
            "  ",
            &format!("and {more} of these tasks for their clients, or for the end of the service"),
        );
    }
    describe_left_out(&mut text, snapshot);
    for missing in &snapshot.missing {
        text.line("", missing);
    }
    describe_stacks(&mut text, snapshot, is_whole);
    for process in snapshot.processes.iter().skip(1) {
        describe_process(&mut text, process);
    }
    text.text
}

/// Returns `true` if the waiter waits for what others have. Most others wait for what is to come: clients, messages, signals.
fn is_contended(block: &Block<'_>) -> bool {
    block.waits.iter().any(|wait| is_for_guard_or_room(wait))
}

/// Writes the findings alone. No line is broken.
pub(crate) fn of_findings(snapshot: &Snapshot, findings: &[Finding]) -> String {
    let mut text = Lines::new(usize::MAX);
    describe_findings(&mut text, snapshot, findings);
    text.text
}

/// Writes the findings, and returns what they show. A wait that two findings have is shown once.
fn describe_findings(text: &mut Lines, snapshot: &Snapshot, findings: &[Finding]) -> Told {
    let mut told = Told::default();
    for finding in findings {
        let certainty = finding.certainty;
        text.line(
            "",
            &format!("{certainty}: {}: {}", finding.kind, finding.summary),
        );
        told.tasks.extend(&finding.waiters);
        let (seen, new): (Vec<&Wait>, Vec<&Wait>) =
            finding.waits.iter().partition(|wait| told.has(wait));
        if finding.waits.len() <= EACH {
            describe_each(text, snapshot, &new);
        } else {
            describe_blocks(text, snapshot, &blocks(snapshot, new.iter().copied()));
        }
        if !seen.is_empty() {
            let names = seen.iter().map(|wait| of_waiter(snapshot, wait.waiter));
            let names: BTreeSet<String> = names.collect();
            text.line("  ", &of_seen(names));
        }
        told.waits
            .extend(new.iter().map(|wait| (wait.waiter, wait.id)));
        describe_further(text, snapshot, &finding.further);
    }
    told
}

/// Returns the line about the waiters whose waits are above.
fn of_seen(names: BTreeSet<String>) -> String {
    let names = abridged(names.into_iter().collect(), EACH);
    format!("{}: see above", names.join(", "))
}

/// Writes these waits, and after the last one of each task where it was spawned: not that of a connection, in the package of
/// the server, which says nothing.
fn describe_each(text: &mut Lines, snapshot: &Snapshot, waits: &[&Wait]) {
    for (number, wait) in waits.iter().enumerate() {
        describe(text, snapshot, wait);
        let mut later = waits[number + 1..].iter();
        let task = wait.waiter.task().and_then(|id| snapshot.task(id));
        let is_of_package = task.is_some_and(|task| origin("", &task.location) == Origin::Package);
        if !later.any(|other| other.waiter == wait.waiter) && !is_of_package {
            describe_spawn(text, snapshot, wait.waiter);
        }
    }
}

/// Writes the waits whose end would end a finding, each in one line.
fn describe_further(text: &mut Lines, snapshot: &Snapshot, waits: &[Wait]) {
    if waits.is_empty() {
        return;
    }
    text.line("  ", "the waits that could end it:");
    for wait in waits.iter().take(FURTHER) {
        let waiter = of_waiter(snapshot, wait.waiter);
        let target = of_target(snapshot, wait);
        let place = match wait.location.as_str() {
            // A library that polls a socket itself: the line that spawned its task says whose it is.
            "" => {
                let task = wait.waiter.task().and_then(|id| snapshot.task(id));
                let spawned = task.filter(|task| !task.is_root && !task.location.is_empty());
                spawned.map(|task| format!(", spawned at {}", short(&task.location)))
            }
            at if target.ends_with(short(at)) => None,
            at => Some(format!(", at {}", short(at))),
        };
        let place = place.unwrap_or_default();
        text.line("    ", &format!("{waiter} for {target}{place}"));
    }
    if let more @ 1.. = waits.len().saturating_sub(FURTHER) {
        text.line("    ", &format!("and {more} more"));
    }
}

/// Writes what is no finding, and that a person wants to see if something hangs.
fn describe_notes(text: &mut Lines, snapshot: &Snapshot, findings: &[Finding]) {
    let graph = Graph::new(snapshot);
    let requests = Requests::new(&graph);
    let (mut behind, mut behind_members) = behind_outside::notes(&graph, &requests, findings);
    let mut notes = held_cycle::notes(&graph, &requests, findings);
    notes.append(&mut behind);
    notes.append(&mut own_lock::notes(&graph, findings));
    notes.append(&mut own_request::notes(&graph, findings));
    notes.append(&mut unreceived::notes(snapshot, findings));
    notes.append(&mut no_sender::notes(snapshot, findings));
    notes.append(&mut behind_members);
    notes.append(&mut long_wait::notes(snapshot, findings));
    for note in notes.iter().take(NOTES) {
        text.line("", &format!("note: {note}"));
    }
    if let more @ 1.. = notes.len().saturating_sub(NOTES) {
        text.line("", &format!("and {more} more notes like this"));
    }
}

/// Writes the numbers of tasks and waits. `is_all`: all of them are `told`.
fn summarise(text: &mut Lines, snapshot: &Snapshot, told: &Told, is_all: bool) {
    text.blank();
    let (tasks, waits) = (snapshot.tasks.len(), snapshot.waits.len());
    let Some(left_out) = &snapshot.left_out else {
        let rest = match (told.tasks.is_empty(), is_all) {
            (true, _) => "",
            (false, true) => ", all shown above",
            (false, false) => "; those not shown above:",
        };
        let (tasks, waits) = (counted(tasks, "task"), counted(waits, "wait"));
        return text.line("", &format!("{tasks}, {waits}{rest}"));
    };
    let (tasks, waits) = (tasks as u64, waits as u64);
    let more = |is_task: bool| -> u64 {
        let groups = left_out.groups.iter();
        let wanted = groups.filter(|group| (group.kind == Kind::Task.name()) == is_task);
        wanted.map(|group| group.count).sum()
    };
    let (all_tasks, all_waits) = (tasks + more(true), waits + more(false));
    let line = format!(
        "{all_tasks} tasks, {all_waits} waits; {tasks} tasks and {waits} waits are examined in detail, the others counted below"
    );
    text.line("", &line);
}

/// Writes how many waits and tasks were counted only.
fn describe_left_out(text: &mut Lines, snapshot: &Snapshot) {
    let Some(left_out) = &snapshot.left_out else {
        return;
    };
    for group in &left_out.groups {
        let (what, role) = if group.kind == Kind::Task.name() {
            ("tasks".to_owned(), "spawned at")
        } else {
            (format!("waits for {}", group.kind), "at")
        };
        text.line("  ", &format!("{} more {what}", group.count));
        if !group.location.is_empty() {
            text.line("    ", &format!("{role} {}", short(&group.location)));
        }
    }
    if left_out.others != 0 {
        text.line("  ", &format!("{} others", left_out.others));
    }
}

/// Writes the waits of tasks, and the tasks without a recorded one.
fn describe_tasks(
    text: &mut Lines,
    snapshot: &Snapshot,
    blocks: &[Block<'_>],
    without: &[(Waiter, usize)],
) {
    describe_blocks(text, snapshot, blocks);
    for (waiter, more) in without {
        describe_task(text, snapshot, *waiter, *more);
    }
}

/// Writes where a task was spawned.
fn describe_spawn(text: &mut Lines, snapshot: &Snapshot, waiter: Waiter) {
    let task = waiter.task().and_then(|id| snapshot.task(id));
    // The name of a root has its location.
    if let Some(task) = task.filter(|task| !task.is_root && !task.location.is_empty()) {
        text.line("    ", &format!("spawned at {}", short(&task.location)));
    }
}

/// Writes the waits of each waiter, and the number of the waiters that look the same.
fn describe_blocks(text: &mut Lines, snapshot: &Snapshot, blocks: &[Block<'_>]) {
    for block in blocks {
        for wait in &block.waits {
            describe(text, snapshot, wait);
        }
        if let Some(wait) = block.waits.first() {
            describe_spawn(text, snapshot, wait.waiter);
        }
        if block.more != 0 {
            text.line("    ", &format!("and {} more like this", block.more));
        }
    }
}

/// Describes a task without a recorded wait, and says how many others are like it.
fn describe_task(text: &mut Lines, snapshot: &Snapshot, waiter: Waiter, more: usize) {
    let Some(task) = waiter.task().and_then(|id| snapshot.task(id)) else {
        return;
    };
    let does = match task.state {
        TaskState::Idle => "waits for something without a record",
        TaskState::Scheduled => "is ready",
        TaskState::Running => "runs",
    };
    text.line("  ", &format!("{} {does}", of_waiter(snapshot, waiter)));
    describe_spawn(text, snapshot, waiter);
    if more != 0 {
        text.line("    ", &format!("and {more} more like this"));
    }
}

/// Describes a process with which the asked one shares memory.
fn describe_process(text: &mut Lines, process: &Process) {
    text.line("", &format!("process {}: {}", process.pid, process.command));
    let state = match process.state {
        ProcessState::Unknown => "not visible from here",
        ProcessState::Running => "running",
        ProcessState::Sleeping => "sleeping",
        ProcessState::Stopped => "stopped",
        ProcessState::Ended => "has ended",
    };
    let mut line = state.to_owned();
    if let Some(time) = process.idle_ms {
        _ = write!(line, ", has not run for {:.1} s", time as f64 / 1e3);
    }
    if !process.has_records {
        line.push_str(", its waits are not known");
    }
    text.line("  ", &line);
}

/// Writes the participants that can end a wait for shared memory.
fn describe_peers(text: &mut Lines, snapshot: &Snapshot, wait: &Wait, end: &End) {
    let role = match wait.semantics.mode {
        Mode::Permit => "held by",
        Mode::Send => "receiver",
        Mode::Event => "notifier",
        _ => "sender",
    };
    for peer in Graph::peers(wait, end).0 {
        let mut line = format!("{role}: {}", of_waiter(snapshot, Waiter::Process(peer.pid)));
        let process = snapshot.process(peer.pid);
        if process.is_some_and(|process| process.state == ProcessState::Stopped) {
            line.push_str(", stopped");
        }
        if let Some(user) = snapshot.user(end, peer) {
            _ = write!(line, ", {}", within_process(snapshot, user));
        }
        text.line("    ", &line);
    }
}

fn describe(text: &mut Lines, snapshot: &Snapshot, wait: &Wait) {
    let waiter = of_waiter(snapshot, wait.waiter);
    let target = of_target(snapshot, wait);
    let time = of_time_if_any(wait);
    text.line("  ", &format!("{waiter} waits{time} for {target}"));
    let object = wait.object.as_ref();
    // Its number in the run of a simulation is its name; other names have the place.
    let numbered = object.filter(|object| object.name.is_none() && is_numbered(object));
    let created = numbered.and_then(|object| creation(snapshot, object));
    let line_of_creation = numbered.and_then(created_at);
    let place = Some(short(&wait.location)).filter(|place| !place.is_empty());
    // The name of a `block_on` is its location.
    let is_new = |place: &&str| !target.ends_with(place) && line_of_creation != Some(place);
    if let Some(place) = place.filter(is_new) {
        text.line("    ", &format!("at {place}"));
    }
    if let Some(place) = of_stack(snapshot, wait) {
        text.line("    ", &format!("at {place}"));
    }
    if let Some(awaited) = of_awaited(snapshot, wait) {
        text.line("    ", &awaited);
    }
    if let Some(end) = snapshot.end(wait) {
        describe_peers(text, snapshot, wait, end);
    }
    let Some(object) = object else { return };
    if let Some(place) = created {
        text.line("    ", &format!("created at {place}"));
    }
    let sender = ("last sender", object.sender);
    let receiver = ("last receiver", object.receiver);
    // Those that can end the wait come first. That the waiter has used its own side says nothing.
    let (other, own) = match wait.semantics.mode {
        Mode::Send => (receiver, sender),
        _ => (sender, receiver),
    };
    let own = (own.0, own.1.filter(|&user| user != wait.waiter));
    let roles = [(HELD, holder_alone(object)), other, own];
    for (role, waiter) in roles {
        if let Some(waiter) = waiter {
            let since = match role {
                HELD => since_taken(wait),
                _ => String::new(),
            };
            let name = of_waiter(snapshot, waiter);
            let ended = match (snapshot.has_ended(waiter), &*since) {
                (false, _) => "",
                (true, "") => ", which has ended",
                (true, _) => ", which has ended,",
            };
            text.line("    ", &format!("{role} {name}{ended}{since}"));
        }
    }
    if let Some(channel) = snapshot.channel(object.id) {
        text.line("    ", &of_channel(channel));
    }
    if let Some(parties) = object.parties {
        text.line("    ", &of_barrier(snapshot, object, parties));
    }
    if let Some(members) = of_members(wait) {
        text.line("    ", &members);
    }
    let role = role_of_reader(wait);
    for &reader in &object.readers {
        let name = of_waiter(snapshot, reader);
        // Of several with permits, it is known only of the last one where it has taken them.
        let since = match role {
            HELD if object.holder == Some(reader) => since_taken(wait),
            _ => String::new(),
        };
        text.line("    ", &(with_role(role, &name) + &since));
    }
    if object.holder.is_none() && !object.readers.is_empty() && !object.taken_at.is_empty() {
        text.line(
            "    ",
            &format!("taken last at {}", short(&object.taken_at)),
        );
    }
    let readers = match wait.semantics.mode {
        Mode::Join => "more",
        Mode::Permit => "with permits that are not known",
        _ => "readers that are not known",
    };
    // The number of all members is above.
    let says_all = object.readers.is_empty() && of_members(wait).is_some();
    if object.unnamed != 0 && !says_all {
        text.line("    ", &format!("and {} {readers}", object.unnamed));
    }
}

/// Says how many tasks or threads wait at a barrier, and how many it is for.
fn of_barrier(snapshot: &Snapshot, object: &Object, parties: u32) -> String {
    if snapshot.left_out.is_some() {
        return format!("a barrier for {parties}");
    }
    let waits = snapshot.waits.iter();
    let here = waits.filter(|wait| wait.object.as_ref().is_some_and(|at| at.id == object.id));
    format!("{} of {parties} are here", here.count())
}

/// Returns the innermost line of the program on the stack of a thread that sleeps in a wait without a line.
fn of_stack<'a>(snapshot: &'a Snapshot, wait: &Wait) -> Option<&'a str> {
    if !wait.blocks_thread || !wait.location.is_empty() {
        return None;
    }
    let mut stacks = snapshot.stacks.iter();
    let stack = stacks.find(|stack| stack.thread == wait.thread)?;
    let mut frames = stack.frames.iter();
    let of_program = frames.find(|frame| is_of_program(frame))?;
    Some(short(&of_program.location))
}

/// Returns where the task was spawned for which a wait is that does not know its own line.
fn of_awaited(snapshot: &Snapshot, wait: &Wait) -> Option<String> {
    let task = snapshot.task(wait.task?)?;
    let is_join = wait.location.is_empty() && wait.semantics.mode == Mode::Join;
    let says = is_join && !task.location.is_empty();
    says.then(|| format!("which was spawned at {}", short(&task.location)))
}

/// Describes how full a channel is, and how many ends it has.
fn of_channel(channel: &Fill) -> String {
    let mut text = match channel.capacity {
        Some(capacity) => format!("{} of {capacity} values", channel.used),
        None => counted(channel.used, "value"),
    };
    for (count, what) in [(channel.senders, "sender"), (channel.receivers, "receiver")] {
        if let Some(count) = count {
            _ = write!(text, ", {}", counted(count, what));
        }
    }
    text
}
