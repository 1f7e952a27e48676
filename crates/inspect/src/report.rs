//! The report for people. [`report`] breaks no line: a line of a file or log is found with its whole path. On a terminal,
//! [`report_within`] breaks lines between words, and shortens names of functions that do not fit.

use std::fmt::Write;

use blitz_io_observe::{Kind, Mode};

use crate::alike::{blocks, without_waits};
use crate::graph::Graph;
use crate::lines::Lines;
use crate::names::{
    counted, is_of_std, of_members, of_target, of_time_if_any, of_waiter, role_of_reader, short,
    since_taken, with_role, within_process,
};
use crate::snapshot::{
    Certainty, End, Fill, Finding, Object, Process, ProcessState, Snapshot, Stack, TaskState, Wait,
    Waiter,
};
use crate::{long_wait, own_lock, own_request};

/// The columns of the report about a program that has failed, which is a part of another text.
const COLUMNS: usize = 60;
/// A finding shows each of so many waits.
const EACH: usize = 16;
/// So many notes are shown.
const NOTES: usize = 8;
/// The role of the thread or task that has an object.
const HELD: &str = "held by";
/// The functions of a stack that are shown.
const FRAMES: usize = 16;

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
    let mut text = Lines::new(columns);
    if findings.is_empty() {
        text.line("", "nothing certain");
    }
    describe_all(&mut text, snapshot, findings);
    text.text
}

/// Writes the report about a program that has failed: it says nothing about findings if there are none.
#[doc(hidden)]
#[must_use]
pub fn report_of_failure(snapshot: &Snapshot, findings: &[Finding]) -> String {
    let mut text = Lines::new(COLUMNS);
    describe_all(&mut text, snapshot, findings);
    text.text
}

/// Writes the findings, then all waits.
fn describe_all(text: &mut Lines, snapshot: &Snapshot, findings: &[Finding]) {
    for finding in findings {
        let certainty = match finding.certainty {
            Certainty::Certain => "certain",
            Certainty::Probable => "probable",
        };
        text.line(
            "",
            &format!("{certainty}: {}: {}", finding.kind, finding.summary),
        );
        if finding.waits.len() <= EACH {
            for wait in &finding.waits {
                describe(text, snapshot, wait);
            }
        } else {
            describe_blocks(text, snapshot, &finding.waits);
        }
    }
    describe_notes(text, snapshot, findings);
    summarise(text, snapshot);
    describe_blocks(text, snapshot, &snapshot.waits);
    for (waiter, more) in without_waits(snapshot) {
        describe_task(text, snapshot, waiter, more);
    }
    describe_left_out(text, snapshot);
    for missing in &snapshot.missing {
        text.line("", missing);
    }
    for stack in &snapshot.stacks {
        describe_stack(text, snapshot, stack);
    }
    for process in snapshot.processes.iter().skip(1) {
        describe_process(text, process);
    }
}

/// Writes what is no finding, and that a person wants to see if something hangs.
fn describe_notes(text: &mut Lines, snapshot: &Snapshot, findings: &[Finding]) {
    let mut notes = own_lock::notes(snapshot, findings);
    notes.append(&mut own_request::notes(snapshot, findings));
    notes.append(&mut long_wait::notes(snapshot, findings));
    for note in notes.iter().take(NOTES) {
        text.line("", &format!("note: {note}"));
    }
    if let more @ 1.. = notes.len().saturating_sub(NOTES) {
        text.line("", &format!("and {more} more notes like this"));
    }
}

/// Writes the numbers of tasks and waits.
fn summarise(text: &mut Lines, snapshot: &Snapshot) {
    text.blank();
    let (tasks, waits) = (snapshot.tasks.len(), snapshot.waits.len());
    let Some(left_out) = &snapshot.left_out else {
        let line = format!("{}, {}", counted(tasks, "task"), counted(waits, "wait"));
        return text.line("", &line);
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

/// Writes the waits of each waiter, and the number of the waiters that look the same.
fn describe_blocks(text: &mut Lines, snapshot: &Snapshot, waits: &[Wait]) {
    for block in blocks(snapshot, waits) {
        for wait in &block.waits {
            describe(text, snapshot, wait);
        }
        let waiter = block.waits.first().map(|wait| wait.waiter);
        let task = waiter
            .and_then(Waiter::task)
            .and_then(|id| snapshot.task(id));
        // The name of a root has its location.
        if let Some(task) = task.filter(|task| !task.is_root && !task.location.is_empty()) {
            text.line("    ", &format!("spawned at {}", short(&task.location)));
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
    if !task.is_root && !task.location.is_empty() {
        text.line("    ", &format!("spawned at {}", short(&task.location)));
    }
    if more != 0 {
        text.line("    ", &format!("and {more} more like this"));
    }
}

/// Writes the functions that a thread is in, the innermost one first.
fn describe_stack(text: &mut Lines, snapshot: &Snapshot, stack: &Stack) {
    let thread = of_waiter(snapshot, Waiter::Thread(stack.thread));
    let does = match stack.state.as_str() {
        "" => String::new(),
        state => format!(", which {state}"),
    };
    if stack.frames.is_empty() {
        let missing = match stack.missing.as_str() {
            "" => "it blocks the signal, or does not run",
            missing => missing,
        };
        return text.line("", &format!("no stack of {thread}{does}: {missing}"));
    }
    text.line("", &format!("stack of {thread}{does}:"));
    for frame in stack.frames.iter().take(FRAMES) {
        let function = text.end_of(without_arguments(&frame.function), 2);
        text.line("  ", &function);
        if !frame.location.is_empty() {
            let location = text.end_of(short(&frame.location), 7);
            text.line("    ", &format!("at {location}"));
        }
    }
    if let more @ 1.. = stack.frames.len().saturating_sub(FRAMES) {
        text.line("  ", &format!("and {more} callers, which are in the JSON"));
    }
    if !stack.missing.is_empty() {
        text.line("  ", &stack.missing);
    }
}

/// Returns a function's name without the types at its end, which may take many lines.
fn without_arguments(function: &str) -> &str {
    match function.find('<') {
        Some(at @ 1..) if function.ends_with('>') => &function[..at],
        _ => function,
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
    // The name of a `block_on` is its location.
    if !wait.location.is_empty() && !target.ends_with(short(&wait.location)) {
        text.line("    ", &format!("at {}", short(&wait.location)));
    }
    if let Some(end) = snapshot.end(wait) {
        describe_peers(text, snapshot, wait, end);
    }
    let Some(object) = &wait.object else { return };
    if let Some(place) = of_creation(object) {
        text.line("    ", &format!("created at {place}"));
    }
    let roles = [
        (HELD, object.holder),
        ("last sender", object.sender),
        ("last receiver", object.receiver),
    ];
    for (role, waiter) in roles {
        if let Some(waiter) = waiter {
            let since = match role {
                HELD => since_taken(wait),
                _ => String::new(),
            };
            let name = of_waiter(snapshot, waiter);
            text.line("    ", &format!("{role} {name}{since}"));
        }
    }
    if let Some(channel) = snapshot.channel(object.id) {
        text.line("    ", &of_channel(channel));
    }
    if let Some(members) = of_members(wait) {
        text.line("    ", &members);
    }
    let role = role_of_reader(wait);
    for &reader in &object.readers {
        let name = of_waiter(snapshot, reader);
        text.line("    ", &with_role(role, &name));
    }
    if object.holder.is_none() && !object.readers.is_empty() && !object.taken_at.is_empty() {
        text.line(
            "    ",
            &format!("taken last at {}", short(&object.taken_at)),
        );
    }
    let readers = match wait.semantics.mode {
        Mode::Join => "more",
        _ => "readers that are not known",
    };
    if object.unnamed != 0 {
        text.line("    ", &format!("and {} {readers}", object.unnamed));
    }
}

/// Returns the place at which an object without a name was created, unless it is one of std: `Arc::default` creates what it
/// contains.
fn of_creation(object: &Object) -> Option<&str> {
    let place = object.created_at.as_str();
    let says = object.name.is_none() && !place.is_empty() && !is_of_std(place);
    says.then(|| short(place))
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
