//! `Children`: the children that the futures of scopes poll. In a recording, their events are those of the outermost task or
//! thread that awaits their scopes: it is polled, woken and run for them. Only the words of a simulation (`words.rs`) tell
//! them apart.

use std::collections::HashMap;

use blitz_io_observe::Kind;

use super::recording::{Row, waiter};
use crate::snapshot::{Waiter, id_of_child};

/// The code of the event with a child and its owner.
const CHILD: u8 = 28;
/// The code of the event with a child, and the task or thread that spawns it: its owner, as long as no poll says otherwise.
pub(super) const CHILD_SPAWN: u8 = 31;
/// Scopes within scopes are followed so far.
const DEPTH: usize = 64;

/// The owners of children.
#[derive(Clone, Debug, Default)]
pub(super) struct Children {
    owners: HashMap<Waiter, Waiter>,
    /// The place of the waits for tasks among the kinds of the recording.
    join: Option<usize>,
}

impl Children {
    /// Reads the events of a recording.
    pub(super) fn new(rows: &[Row], kinds: &[String]) -> Self {
        let of = |code| rows.iter().filter(move |row| row.0 == code);
        let both = of(CHILD_SPAWN).chain(of(CHILD));
        Self {
            owners: both.map(|row| (waiter(row.4), waiter(row.5))).collect(),
            join: kinds.iter().position(|kind| kind == Kind::Join.name()),
        }
    }

    /// Returns the number that a wait is for: none for the end of a child, which is a part of the task that waits.
    pub(super) fn target(&self, kind: u8, number: u64) -> u64 {
        let is_join = Some(usize::from(kind)) == self.join;
        match id_of_child(number) {
            Some(_) if is_join => 0,
            _ => number,
        }
    }

    /// Returns the waiter and the owners around it: only itself if it is no child.
    pub(super) fn around(&self, waiter: Waiter) -> impl Iterator<Item = Waiter> {
        let owner = |waiter: &Waiter| self.owners.get(waiter).copied();
        std::iter::successors(Some(waiter), owner).take(DEPTH)
    }

    /// Returns the outermost owner, or the waiter itself if it is no child.
    pub(super) fn outermost(&self, waiter: Waiter) -> Waiter {
        self.around(waiter).last().unwrap_or(waiter)
    }

    /// Returns all children, in no order.
    pub(super) fn all(&self) -> impl Iterator<Item = Waiter> {
        self.owners.keys().copied()
    }
}
