//! The waits that the task of a connection always has, beside those of the handler that runs in it.
//!
//! A server such as axum's polls the socket of a connection, to learn that the client goes away, and the channel that ends the
//! service. A hang in a handler has these lines for each connection, and they say nothing about it. So the list of all waits
//! leaves them out where the task has a wait with a line of the program, or keeps its thread.

use blitz_io_observe::collections::HashSet;
use blitz_io_observe::{Mode, SOCKET};

use crate::long_poll::in_long_poll;
use crate::origin::{Origin, origin};
use crate::snapshot::{Snapshot, Wait, Waiter};

/// Returns the waits of a snapshot that a list shows, and the number of the others.
pub(crate) fn without_own_of_connections(snapshot: &Snapshot) -> (Vec<&Wait>, usize) {
    let of_program = snapshot
        .waits
        .iter()
        .filter(|wait| wait.blocks_thread || is_of_program(wait));
    let blocking = in_long_poll(snapshot).map(|task| Waiter::Task(task.id));
    let handlers: HashSet<Waiter> = of_program.map(|wait| wait.waiter).chain(blocking).collect();
    let is_own = |wait: &&Wait| handlers.contains(&wait.waiter) && is_of_connection(wait);
    let (own, shown): (Vec<&Wait>, Vec<&Wait>) = snapshot.waits.iter().partition(is_own);
    (shown, own.len())
}

/// Returns `true` if a wait has a line of the program.
pub(crate) fn is_of_program(wait: &Wait) -> bool {
    !wait.location.is_empty() && origin("", &wait.location) == Origin::Program
}

/// Returns `true` if a library polls a socket, which leaves no line, or waits in its own code until a channel is closed.
fn is_of_connection(wait: &Wait) -> bool {
    let has_ended = || origin("", &wait.location) == Origin::Package;
    match wait.semantics.mode {
        Mode::Closed => has_ended(),
        _ => wait.kind == SOCKET && wait.location.is_empty(),
    }
}
