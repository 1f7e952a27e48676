//! Names of threads and tasks.

use super::lives::Lives;
use super::recording::Recording;
use crate::snapshot::Waiter;

/// Returns the name of a thread or task, with the line at which it was spawned.
pub(super) fn who(recording: &Recording, lives: &Lives, waiter: Waiter) -> String {
    match waiter {
        Waiter::Task(id) => {
            let life = lives.lives.get(&waiter);
            let spawn = life.and_then(|life| life.spawn);
            let what = match spawn {
                Some(spawn) if spawn.is_job => "job",
                _ if id >= 1 << 52 => "block_on",
                _ => "task",
            };
            let id = id & ((1 << 52) - 1);
            match spawn.and_then(|spawn| recording.location(spawn.location)) {
                Some(at) => format!("{what} {id} ({at})"),
                None => format!("{what} {id}"),
            }
        }
        Waiter::Thread(number) => {
            let mut threads = recording.threads.iter();
            let thread = threads.find(|thread| thread.number == number);
            match thread.filter(|thread| !thread.name.is_empty()) {
                Some(thread) => format!("thread {number} \"{}\"", thread.name),
                None => format!("thread {number}"),
            }
        }
        Waiter::Process(pid) => format!("process {pid}"),
    }
}
