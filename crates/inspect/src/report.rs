//! The report for people, within 60 columns where names allow it.

use std::fmt::Write;

use blitz_io_observe::{Kind, Mode};

use crate::alike::{blocks, without_waits};
use crate::graph::Graph;
use crate::names::{
    is_of_std, of_members, of_target, of_time, of_waiter, role_of_reader, short, since_taken,
    with_role, within_process,
};
use crate::snapshot::{
    Certainty, End, Fill, Finding, Object, Process, ProcessState, Snapshot, Stack, TaskState, Wait,
    Waiter,
};
use crate::{long_wait, own_lock};

const COLUMNS: usize = 60;
/// A finding shows each of so many waits.
const EACH: usize = 16;
/// So many notes are shown.
const NOTES: usize = 8;
/// The role of the thread or task that has an object.
const HELD: &str = "held by";
/// The functions of a stack that are shown.
const FRAMES: usize = 16;

/// Writes the report: the findings, then all waits.
///
/// # Examples
///
/// ```
/// let text = blitz_io_inspect::report(&Default::default(), &[]);
/// assert!(text.contains("nothing certain"));
/// ```
#[must_use]
pub fn report(snapshot: &Snapshot, findings: &[Finding]) -> String {
    if findings.is_empty() {
        return format!("nothing certain\n{}", report_of_failure(snapshot, findings));
    }
    report_of_failure(snapshot, findings)
}

/// Writes the report about a program that has failed: it says nothing about findings if there are none.
#[doc(hidden)]
#[must_use]
pub fn report_of_failure(snapshot: &Snapshot, findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let certainty = match finding.certainty {
            Certainty::Certain => "certain",
            Certainty::Probable => "probable",
        };
        wrap(
            &mut text,
            "",
            &format!("{certainty}: {}: {}", finding.kind, finding.summary),
        );
        if finding.waits.len() <= EACH {
            for wait in &finding.waits {
                describe(&mut text, snapshot, wait);
            }
        } else {
            describe_blocks(&mut text, snapshot, &finding.waits);
        }
    }
    describe_notes(&mut text, snapshot, findings);
    summarise(&mut text, snapshot);
    describe_blocks(&mut text, snapshot, &snapshot.waits);
    for (waiter, more) in without_waits(snapshot) {
        describe_task(&mut text, snapshot, waiter, more);
    }
    describe_left_out(&mut text, snapshot);
    for missing in &snapshot.missing {
        wrap(&mut text, "", missing);
    }
    for stack in &snapshot.stacks {
        describe_stack(&mut text, snapshot, stack);
    }
    for process in snapshot.processes.iter().skip(1) {
        describe_process(&mut text, process);
    }
    text
}

/// Writes what is no finding, and that a person wants to see if something hangs.
fn describe_notes(text: &mut String, snapshot: &Snapshot, findings: &[Finding]) {
    let mut notes = own_lock::notes(snapshot, findings);
    notes.append(&mut long_wait::notes(snapshot, findings));
    for note in notes.iter().take(NOTES) {
        wrap(text, "", &format!("note: {note}"));
    }
    if let more @ 1.. = notes.len().saturating_sub(NOTES) {
        wrap(text, "", &format!("and {more} more notes like this"));
    }
}

/// Writes the numbers of tasks and waits.
fn summarise(text: &mut String, snapshot: &Snapshot) {
    let (tasks, waits) = (snapshot.tasks.len(), snapshot.waits.len());
    let Some(left_out) = &snapshot.left_out else {
        _ = writeln!(
            text,
            "\n{}, {}",
            counted(tasks, "task"),
            counted(waits, "wait")
        );
        return;
    };
    let (tasks, waits) = (tasks as u64, waits as u64);
    let more = |is_task: bool| -> u64 {
        let groups = left_out.groups.iter();
        let wanted = groups.filter(|group| (group.kind == Kind::Task.name()) == is_task);
        wanted.map(|group| group.count).sum()
    };
    text.push('\n');
    let (all_tasks, all_waits) = (tasks + more(true), waits + more(false));
    let line = format!(
        "{all_tasks} tasks, {all_waits} waits; {tasks} tasks and {waits} waits are examined in detail, the others counted below"
    );
    wrap(text, "", &line);
}

/// Writes how many waits and tasks were counted only.
fn describe_left_out(text: &mut String, snapshot: &Snapshot) {
    let Some(left_out) = &snapshot.left_out else {
        return;
    };
    for group in &left_out.groups {
        let (what, role) = if group.kind == Kind::Task.name() {
            ("tasks".to_owned(), "spawned at")
        } else {
            (format!("waits for {}", group.kind), "at")
        };
        wrap(text, "  ", &format!("{} more {what}", group.count));
        if !group.location.is_empty() {
            wrap(text, "    ", &format!("{role} {}", short(&group.location)));
        }
    }
    if left_out.others != 0 {
        wrap(text, "  ", &format!("{} others", left_out.others));
    }
}

/// Writes the waits of each waiter, and the number of the waiters that look the same.
fn describe_blocks(text: &mut String, snapshot: &Snapshot, waits: &[Wait]) {
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
            wrap(
                text,
                "    ",
                &format!("spawned at {}", short(&task.location)),
            );
        }
        if block.more != 0 {
            wrap(text, "    ", &format!("and {} more like this", block.more));
        }
    }
}

/// Describes a task without a recorded wait, and says how many others are like it.
fn describe_task(text: &mut String, snapshot: &Snapshot, waiter: Waiter, more: usize) {
    let Some(task) = waiter.task().and_then(|id| snapshot.task(id)) else {
        return;
    };
    let does = match task.state {
        TaskState::Idle => "waits for something without a record",
        TaskState::Scheduled => "is ready",
        TaskState::Running => "runs",
    };
    wrap(
        text,
        "  ",
        &format!("{} {does}", of_waiter(snapshot, waiter)),
    );
    if !task.is_root && !task.location.is_empty() {
        wrap(
            text,
            "    ",
            &format!("spawned at {}", short(&task.location)),
        );
    }
    if more != 0 {
        wrap(text, "    ", &format!("and {more} more like this"));
    }
}

/// Writes the functions that a thread is in, the innermost one first.
fn describe_stack(text: &mut String, snapshot: &Snapshot, stack: &Stack) {
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
        return wrap(text, "", &format!("no stack of {thread}{does}: {missing}"));
    }
    wrap(text, "", &format!("stack of {thread}{does}:"));
    for frame in stack.frames.iter().take(FRAMES) {
        wrap(text, "  ", &end_of(without_arguments(&frame.function), 2));
        if !frame.location.is_empty() {
            wrap(
                text,
                "    ",
                &format!("at {}", end_of(short(&frame.location), 7)),
            );
        }
    }
    if let more @ 1.. = stack.frames.len().saturating_sub(FRAMES) {
        wrap(
            text,
            "  ",
            &format!("and {more} callers, which are in the JSON"),
        );
    }
    if !stack.missing.is_empty() {
        wrap(text, "  ", &stack.missing);
    }
}

/// Returns the end of a name or path that fits beside this many columns. It tells more than the beginning.
fn end_of(name: &str, beside: usize) -> String {
    let room = COLUMNS - beside;
    match name.chars().count() {
        length if length <= room => name.into(),
        length => {
            let end: String = name.chars().skip(length - room + 1).collect();
            format!("…{end}")
        }
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
fn describe_process(text: &mut String, process: &Process) {
    wrap(
        text,
        "",
        &format!("process {}: {}", process.pid, process.command),
    );
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
    wrap(text, "  ", &line);
}

/// Writes the participants that can end a wait for shared memory.
fn describe_peers(text: &mut String, snapshot: &Snapshot, wait: &Wait, end: &End) {
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
        wrap(text, "    ", &line);
    }
}

fn describe(text: &mut String, snapshot: &Snapshot, wait: &Wait) {
    let waiter = of_waiter(snapshot, wait.waiter);
    let target = of_target(snapshot, wait);
    let time = of_time(wait);
    wrap(text, "  ", &format!("{waiter} waits {time} for {target}"));
    // The name of a `block_on` is its location.
    if !wait.location.is_empty() && !target.ends_with(short(&wait.location)) {
        wrap(text, "    ", &format!("at {}", short(&wait.location)));
    }
    if let Some(end) = snapshot.end(wait) {
        describe_peers(text, snapshot, wait, end);
    }
    let Some(object) = &wait.object else { return };
    if let Some(place) = of_creation(object) {
        wrap(text, "    ", &format!("created at {place}"));
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
            wrap(text, "    ", &format!("{role} {name}{since}"));
        }
    }
    if let Some(channel) = snapshot.channel(object.id) {
        wrap(text, "    ", &of_channel(channel));
    }
    if let Some(members) = of_members(wait) {
        wrap(text, "    ", &members);
    }
    let role = role_of_reader(wait);
    for &reader in &object.readers {
        let name = of_waiter(snapshot, reader);
        wrap(text, "    ", &with_role(role, &name));
    }
    if object.holder.is_none() && !object.readers.is_empty() && !object.taken_at.is_empty() {
        wrap(
            text,
            "    ",
            &format!("taken last at {}", short(&object.taken_at)),
        );
    }
    let readers = match wait.semantics.mode {
        Mode::Join => "more",
        _ => "readers that are not known",
    };
    if object.unnamed != 0 {
        wrap(text, "    ", &format!("and {} {readers}", object.unnamed));
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

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Adds `line` with an indentation, broken between words.
fn wrap(text: &mut String, indent: &str, line: &str) {
    let mut width = indent.len();
    text.push_str(indent);
    for word in line.split_whitespace() {
        let length = word.chars().count();
        if width > indent.len() {
            if width + 1 + length > COLUMNS {
                _ = write!(text, "\n{indent}  ");
                width = indent.len() + 2;
            } else {
                text.push(' ');
                width += 1;
            }
        }
        text.push_str(word);
        width += length;
    }
    text.push('\n');
}
