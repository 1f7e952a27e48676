//! Names of threads and tasks.

use blitz_io_observe::is_future;

use super::lives::Lives;
use super::processes::{is_root, local};
use super::recording::Recording;
use crate::names::short_future;
use crate::snapshot::Waiter;

/// Returns the name of a thread or task, with the line at which it was spawned, and its process if there are several.
pub(super) fn who(recording: &Recording, lives: &Lives, waiter: Waiter) -> String {
    let name = name(recording, lives, waiter);
    if recording.pids.len() > 1 {
        format!("{name} in process {}", recording.process_of(waiter))
    } else {
        name
    }
}

fn name(recording: &Recording, lives: &Lives, waiter: Waiter) -> String {
    match waiter {
        Waiter::Task(id) if is_future(local(id)) => short_future(id),
        Waiter::Task(id) => {
            let life = lives.lives.get(&waiter);
            let spawn = life.and_then(|life| life.spawn);
            let what = match spawn {
                Some(spawn) if spawn.is_job => "job",
                _ if is_root(id) => "block_on",
                _ => "task",
            };
            let id = id & ((1 << 52) - 1);
            match spawn.and_then(|spawn| recording.location(spawn.location)) {
                // As `blitz why` names it.
                Some(at) if what == "block_on" => format!("block_on at {at}"),
                Some(at) => format!("{what} {id} ({at})"),
                None => format!("{what} {id}"),
            }
        }
        Waiter::Thread(number) => {
            let mut threads = recording.threads.iter();
            let thread = threads.find(|thread| thread.number == number);
            let known = thread.filter(|thread| !thread.name.is_empty());
            let number = local(number);
            match known {
                Some(thread) => format!("thread {number} \"{}\"", thread.name),
                None => format!("thread {number}"),
            }
        }
        Waiter::Process(pid) => format!("process {pid}"),
    }
}
