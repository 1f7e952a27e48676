//! `Children`: the children that the futures of scopes poll. In a recording, their events are those of the outermost task or
//! thread that awaits their scopes: it is polled, woken and run for them.

use std::collections::HashMap;

use super::recording::{Row, waiter};
use crate::snapshot::Waiter;

/// The code of the event with a child and its owner.
const CHILD: u8 = 28;
/// Scopes within scopes are followed so far.
const DEPTH: usize = 64;

/// The owners of children.
#[derive(Default)]
pub(super) struct Children(HashMap<Waiter, Waiter>);

impl Children {
    /// Reads the events of a recording.
    pub(super) fn new(rows: &[Row]) -> Self {
        let polls = rows.iter().filter(|row| row.0 == CHILD);
        Self(polls.map(|row| (waiter(row.4), waiter(row.5))).collect())
    }

    /// Returns the outermost owner, or the waiter itself if it is no child.
    pub(super) fn outermost(&self, waiter: Waiter) -> Waiter {
        let owner = |waiter: &Waiter| self.0.get(waiter).copied();
        let all = std::iter::successors(Some(waiter), owner).take(DEPTH);
        all.last().unwrap_or(waiter)
    }
}
