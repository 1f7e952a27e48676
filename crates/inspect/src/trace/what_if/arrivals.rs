//! Requests that arrive when they did, whatever is changed.
//!
//! A client often sends its next request after an answer. On one connection, the task of the connection waits for the
//! socket after the answer. In a replay this wait takes as long as it did, so the next request follows the answer. If each
//! request has a connection, a task that accepts them waits for all of them. The recording does not say which answer a new
//! connection follows, so in a replay it comes when it did.

use std::collections::HashMap;

use super::super::cause::Category;
use super::super::lives::{Did, Lives, Spawn};
use super::super::recording::{Ender, Recording};
use crate::snapshot::Waiter;

/// Returns the number of requests that are the only ones of their task, if it began when a socket became ready.
pub(super) fn count(recording: &Recording, lives: &Lives) -> usize {
    let mut counts: HashMap<Waiter, usize> = HashMap::new();
    for request in &lives.requests {
        *counts.entry(request.waiter).or_default() += 1;
    }
    let is_arrival = |&(waiter, count): &(Waiter, usize)| {
        let spawn = lives.lives.get(&waiter).and_then(|life| life.spawn);
        count == 1 && spawn.is_some_and(|spawn| follows_a_socket(recording, lives, &spawn))
    };
    counts.into_iter().filter(is_arrival).count()
}

/// Returns `true` if the last thing for which the parent waited before the spawn is a socket.
fn follows_a_socket(recording: &Recording, lives: &Lives, spawn: &Spawn) -> bool {
    let Some(parent) = lives.lives.get(&spawn.parent) else {
        return false;
    };
    let before = parent.segments.partition_point(|one| one.to <= spawn.at);
    let mut waits = parent.segments[..before].iter().rev();
    let last = waits.find_map(|segment| match segment.did {
        Did::Wait(wait, ender) => Some((wait, ender)),
        _ => None,
    });
    match last {
        Some((Some(wait), _)) => Category::of_kind(recording.kind(wait.kind).0) == Category::Socket,
        Some((None, ender)) => matches!(ender, Ender::System),
        None => false,
    }
}
