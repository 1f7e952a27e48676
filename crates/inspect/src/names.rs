//! Names of waiters and objects in reports.

use std::path::Path;

use blitz_io_observe::{Kind, Mode, counted};

use crate::graph::is_unknown;
use crate::objects::of_object;
use crate::snapshot::{
    End, Process, Snapshot, Wait, Waiter, id_of_child, is_future, process_and_number,
};

/// A summary of a finding names so many tasks and threads.
pub(crate) const IN_SUMMARY: usize = 8;
/// A name lists so many closures.
const NAMES: usize = 4;
/// The name of a task has so many of the requests for which it works.
const REQUESTS: usize = 2;
/// The name of a child has so many children around it.
const DEPTH: usize = 8;
/// A thread that is no part of the simulation. Its number is another one in each run.
pub(crate) const OTHER_THREAD: &str = "a thread outside of the simulation";
/// Set in the number of a thread that this library has given none. The rest is the system's number.
pub(crate) const SYSTEM_NUMBER: u64 = 1 << 40;

/// Keeps so many names, and adds the number of the others as the last one.
pub(crate) fn abridged(mut names: Vec<String>, most: usize) -> Vec<String> {
    if let more @ 1.. = names.len().saturating_sub(most) {
        names.truncate(most);
        names.push(format!("and {more} more"));
    }
    names
}

/// Returns the name of a thread, task or process, as reports have it.
#[must_use]
pub fn of_waiter(snapshot: &Snapshot, waiter: Waiter) -> String {
    let name = within_process(snapshot, waiter);
    let mut hosts = snapshot.hosts.iter();
    if let Some(hosted) = hosts.find(|hosted| Waiter::Task(hosted.task) == waiter) {
        return format!("{}: {name}", hosted.host);
    }
    let (Waiter::Thread(id) | Waiter::Task(id)) = waiter else {
        return name;
    };
    match process_and_number(id).0 {
        0 => name,
        index => match snapshot.processes.get(index) {
            Some(process) => format!("{name} of process {}", process.pid),
            None => name,
        },
    }
}

/// Returns the name of a thread or task, without its process.
pub(crate) fn within_process(snapshot: &Snapshot, waiter: Waiter) -> String {
    let (kind, id, name) = match waiter {
        Waiter::Task(id) => match snapshot.task(id) {
            Some(task) if task.is_root => return format!("block_on at {}", short(&task.location)),
            _ if id_of_child(id).is_some() => return of_child(snapshot, id),
            _ if is_future(id) => return of_future(snapshot, waiter, id),
            Some(task) => ("task", id, Some(task.name.as_str())),
            None => match snapshot.job(id) {
                Some(job) => ("job", id, Some(job.name.as_str())),
                None => ("task", id, snapshot.ended.get(&id).map(String::as_str)),
            },
        },
        Waiter::Thread(id) if snapshot.simulation == Some(id) => return "the simulation".into(),
        Waiter::Thread(_) if snapshot.simulation.is_some() => return OTHER_THREAD.into(),
        Waiter::Thread(id) => {
            let thread = snapshot.threads.iter().find(|thread| thread.id == id);
            ("thread", id, thread.map(|thread| thread.name.as_str()))
        }
        Waiter::Process(pid) => {
            let program = snapshot.process(pid).and_then(program);
            ("process", pid.into(), program)
        }
    };
    let id = process_and_number(id).1;
    let (kind, id) = match waiter {
        Waiter::Thread(_) if id & SYSTEM_NUMBER != 0 => ("tid", id & !SYSTEM_NUMBER),
        _ => (kind, id),
    };
    let mut text = match name.filter(|name| !name.is_empty()) {
        Some(name) => format!("{kind} {id} \"{name}\""),
        None => format!("{kind} {id}"),
    };
    let serves = waiter.task().map_or(&[][..], |id| snapshot.requests_of(id));
    if !serves.is_empty() {
        let names = serves.iter().map(|serves| serves.name.clone());
        let names = abridged(names.collect(), REQUESTS);
        text += &format!(" ({})", names.join(", "));
    }
    text
}

/// Returns the name of a future of another runtime, with the thread that polled it last. That is known of a future that waits.
fn of_future(snapshot: &Snapshot, waiter: Waiter, number: u64) -> String {
    let name = short_future(number);
    let mut waits = snapshot.waits.iter();
    match waits.find(|wait| wait.waiter == waiter) {
        Some(wait) => {
            let thread = within_process(snapshot, Waiter::Thread(wait.thread));
            format!("{name} (last polled by {thread})")
        }
        None => format!("{name} of another runtime"),
    }
}

/// Returns the name of a future of another runtime: a part of its number is enough for people.
pub(crate) fn short_future(number: u64) -> String {
    format!("future {:#08x}", number & 0xFF_FFFF)
}

/// Returns the name of a child that the future of its scope polls, with the tasks that await its scope and those around it.
fn of_child(snapshot: &Snapshot, mut number: u64) -> String {
    let mut name = String::new();
    for _ in 0..DEPTH {
        let Some(id) = id_of_child(number) else { break };
        if !name.is_empty() {
            name.push_str(" of ");
        }
        name.push_str(&format!("child {id}"));
        match snapshot.task(number).and_then(|task| task.child_of) {
            Some(of) => match of.owner {
                Waiter::Task(owner) if id_of_child(owner).is_some() => number = owner,
                owner => return format!("{name} of {}", within_process(snapshot, owner)),
            },
            None => break,
        }
    }
    name
}

/// Returns the file name of a process's program.
fn program(process: &Process) -> Option<&str> {
    let program = process.command.split(' ').next()?;
    Path::new(program).file_name()?.to_str()
}

/// Returns the time for which a wait has lasted, if that is known.
pub(crate) fn of_time(wait: &Wait) -> String {
    if is_unknown(wait) {
        return "since an unknown time".into();
    }
    format!("{:.1} s", wait.waiting_ms as f64 / 1e3)
}

/// Returns the same with a space before it, or nothing if it would be 0.0 s, as in most runs of a simulation.
pub(crate) fn of_time_if_any(wait: &Wait) -> String {
    let is_short = wait.waiting_ms < 50 && !is_unknown(wait);
    if is_short {
        return String::new();
    }
    format!(" {}", of_time(wait))
}

/// Returns the name of the target of a wait, as reports have it.
#[must_use]
pub fn of_target(snapshot: &Snapshot, wait: &Wait) -> String {
    if let Some(end) = snapshot.end(wait) {
        let segment = of_segment(end);
        return match segment.split_once(' ') {
            // The kind of the wait says as much.
            Some((_, name)) if matches!(end.kind.as_str(), "semaphore" | "barrier") => {
                format!("{} {name}", wait.kind)
            }
            _ => format!("{} of {segment}", wait.kind),
        };
    }
    if wait.runtime.is_some() {
        return of_shutdown(snapshot, wait);
    }
    let object = wait.object.as_ref();
    match (object, wait.task) {
        (Some(object), _) => of_object(snapshot, &wait.kind, object),
        (None, Some(task)) if wait.semantics.mode == Mode::Drive => {
            of_waiter(snapshot, Waiter::Task(task))
        }
        (None, Some(task)) => format!(
            "{} of {}",
            wait.kind,
            of_waiter(snapshot, Waiter::Task(task))
        ),
        (None, None) => match &wait.source {
            None if snapshot.made.contains_key(&wait.id) => {
                format!("{} #{}", wait.kind, snapshot.made[&wait.id])
            }
            Some(source) => format!("{} ({source})", wait.kind),
            None => wait.kind.clone(),
        },
    }
}

/// Says where the object of a wait was taken, if that is known.
pub(crate) fn since_taken(wait: &Wait) -> String {
    let object = wait.object.as_ref();
    match object.map(|object| short(&object.taken_at)) {
        None | Some("") => String::new(),
        Some(place) => format!(" since {place}"),
    }
}

/// Returns the name of the shared memory of an end.
pub(crate) fn of_segment(end: &End) -> String {
    if end.path.is_empty() {
        format!("{} {:#x}", end.kind, end.segment)
    } else {
        format!("{} \"{}\"", end.kind, end.path)
    }
}

/// Returns the name of the end of a runtime, with the closures that have not ended.
fn of_shutdown(snapshot: &Snapshot, wait: &Wait) -> String {
    let jobs = snapshot.jobs.iter();
    let jobs = jobs.filter(|job| job.thread.is_some() && Some(job.runtime) == wait.runtime);
    let names = jobs.map(|job| of_waiter(snapshot, Waiter::Task(job.id)));
    let names = abridged(names.collect(), NAMES);
    match names.as_slice() {
        [] => wait.kind.clone(),
        names => format!("{}, which waits for {}", wait.kind, names.join(", ")),
    }
}

/// The role of the thread or task that has an object.
pub(crate) const HELD: &str = "held by";

/// The kinds of waits for the children of a scope.
const SCOPES: [Kind; 3] = [Kind::Scope, Kind::ParallelScope, Kind::ScopeFailure];

/// Returns the word for a thread or task among the readers of the object of a wait.
pub(crate) fn role_of_reader(wait: &Wait) -> &'static str {
    match wait.semantics.mode {
        Mode::Join => {}
        Mode::Permit => return HELD,
        _ => return "read by",
    }
    match &*wait.kind {
        kind if SCOPES.iter().any(|scope| scope.name() == kind) => "child",
        _ => "member",
    }
}

/// Returns the name with its role, unless the name has that.
pub(crate) fn with_role(role: &str, name: &str) -> String {
    if name.split_once(' ').is_some_and(|(first, _)| first == role) {
        name.into()
    } else {
        format!("{role} {name}")
    }
}

/// Says how many children or members the wait is for, if it is one for several.
pub(crate) fn of_members(wait: &Wait) -> Option<String> {
    let object = wait.object.as_ref()?;
    let members = match role_of_reader(wait) {
        "child" => "children",
        "member" => "members",
        _ => return None,
    };
    let count = object.readers.len() + object.unnamed as usize;
    (count > 1).then(|| format!("{count} {members}"))
}

/// Returns the numbers of tasks and threads, such as `3 tasks and 1 thread`.
pub(crate) fn tasks_and_threads(tasks: usize, threads: usize) -> String {
    match (tasks, threads) {
        (tasks, 0) => counted(tasks, "task"),
        (0, threads) => counted(threads, "thread"),
        _ => format!(
            "{} and {}",
            counted(tasks, "task"),
            counted(threads, "thread")
        ),
    }
}

/// Returns the longest of these waits, and the begin of a sentence about all of them, such as `2 senders wait (longest 1.3 s)`.
/// `None` if they have just begun.
pub(crate) fn long_waits<'a>(waits: &[&'a Wait], what: &str) -> Option<(&'a Wait, String)> {
    let longest = *waits.iter().max_by_key(|wait| wait.waiting_ms)?;
    let wait = if waits.len() == 1 { "waits" } else { "wait" };
    let text = format!(
        "{} {wait} (longest {:.1} s)",
        counted(waits.len(), what),
        longest.waiting_ms as f64 / 1e3,
    );
    (!longest.is_short()).then_some((longest, text))
}

/// Returns `true` for the kind of an end of a channel.
pub(crate) fn is_of_channel(kind: &str) -> bool {
    let families = ["broadcast", "mpmc", "mpsc", "oneshot", "watch"];
    let family = kind.split_once("::").map(|(family, _)| family);
    family.is_some_and(|family| families.contains(&family))
}

/// Returns `true` for a line of Rust's own libraries.
pub(crate) fn is_of_std(line: &str) -> bool {
    let crates = ["alloc", "core", "std"];
    crates
        .iter()
        .any(|name| line.contains(&format!("/library/{name}/src/")))
}

/// Returns a place in a program without the folders of a registry or compiler before it, such as
/// `axum-0.8.9/src/serve/mod.rs:275`. Other places stay as they are.
///
/// # Examples
///
/// ```
/// let place = "/u/me/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/axum-0.8.9/src/lib.rs:7";
/// assert_eq!(blitz_io_inspect::short_place(place), "axum-0.8.9/src/lib.rs:7");
/// assert_eq!(blitz_io_inspect::short_place("src/main.rs:7"), "src/main.rs:7");
/// ```
#[must_use]
pub fn short(place: &str) -> &str {
    place_in_package(place).unwrap_or(place)
}

/// Returns `true` for a line of a package that is not the program's own: one of a registry, of a copied repository, or of
/// Rust's libraries.
#[doc(hidden)]
#[must_use]
pub fn is_of_package(place: &str) -> bool {
    place_in_package(place).is_some()
}

fn place_in_package(place: &str) -> Option<&str> {
    for (folder, skipped) in [
        ("/registry/src/", 1),
        ("/git/checkouts/", 0),
        ("/rustc/", 1),
    ] {
        if let Some((_, rest)) = place.split_once(folder) {
            return Some(rest.splitn(skipped + 1, '/').last().unwrap_or(rest));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_packages_are_short() {
        let folder = "/srv/a/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/";
        let place = "axum-0.8.9/src/serve/mod.rs:275";
        assert_eq!(short(&format!("{folder}{place}")), place);
        assert_eq!(
            short("/rustc/59807616e/library/std/src/lib.rs:1"),
            "library/std/src/lib.rs:1"
        );
        assert_eq!(short("src/main.rs:7"), "src/main.rs:7");
        assert_eq!(short(""), "");
    }
}
