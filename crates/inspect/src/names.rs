//! Names of waiters and objects in reports.

use crate::snapshot::{Object, Snapshot, Wait, Waiter};

/// Returns the name of a thread or task, as reports have it.
#[must_use]
pub fn of_waiter(snapshot: &Snapshot, waiter: Waiter) -> String {
    let (kind, id, name) = match waiter {
        Waiter::Task(id) => match snapshot.task(id) {
            Some(task) if task.is_root => return format!("block_on at {}", task.location),
            Some(task) => ("task", id, Some(task.name.as_str())),
            None => match snapshot.job(id) {
                Some(job) => ("job", id, Some(job.name.as_str())),
                None => ("task", id, None),
            },
        },
        Waiter::Thread(id) => {
            let thread = snapshot.threads.iter().find(|thread| thread.id == id);
            ("thread", id, thread.map(|thread| thread.name.as_str()))
        }
    };
    match name.filter(|name| !name.is_empty()) {
        Some(name) => format!("{kind} {id} \"{name}\""),
        None => format!("{kind} {id}"),
    }
}

/// Returns the name of the target of a wait, as reports have it.
#[must_use]
pub fn of_target(snapshot: &Snapshot, wait: &Wait) -> String {
    let object = wait.object.as_ref().map(of_object);
    match (object, wait.task) {
        (Some(name), _) => format!("{} {name}", wait.kind),
        (None, Some(task)) if wait.kind == "block_on" => of_waiter(snapshot, Waiter::Task(task)),
        (None, Some(task)) => format!(
            "{} of {}",
            wait.kind,
            of_waiter(snapshot, Waiter::Task(task))
        ),
        (None, None) => match &wait.source {
            Some(source) => format!("{} ({source})", wait.kind),
            None => wait.kind.clone(),
        },
    }
}

fn of_object(object: &Object) -> String {
    match &object.name {
        Some(name) => format!("\"{name}\""),
        None => format!("{:#x}", object.id),
    }
}
