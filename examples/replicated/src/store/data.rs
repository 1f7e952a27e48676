//! The data that a server keeps.

use super::command::{Command, State};

/// An entry of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    pub term: u64,
    pub command: Command,
}

/// The state after the first `index` entries, which the log does not have any more.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Snapshot {
    pub index: u64,
    /// The term of the last of these entries.
    pub term: u64,
    pub state: State,
}

/// The data that a server needs after a restart.
#[derive(Clone, Debug, Default)]
pub struct Saved {
    pub term: u64,
    pub vote: Option<u64>,
    pub snapshot: Snapshot,
    /// The entries after the snapshot.
    pub log: Vec<Entry>,
}

impl Saved {
    /// Returns the index of the last entry. The first one has index 1.
    pub fn last_index(&self) -> u64 {
        self.snapshot.index + self.log.len() as u64
    }

    /// Returns the entry with this index, if the log has it.
    pub fn entry(&self, index: u64) -> Option<&Entry> {
        let at = index.checked_sub(self.snapshot.index + 1)?;
        self.log.get(at as usize)
    }

    /// Returns the term of the entry with this index.
    pub fn term_at(&self, index: u64) -> Option<u64> {
        if index == self.snapshot.index {
            return Some(self.snapshot.term);
        }
        self.entry(index).map(|entry| entry.term)
    }

    /// Removes the entries from this index on.
    pub fn truncate(&mut self, index: u64) {
        let len = index.saturating_sub(self.snapshot.index + 1);
        self.log.truncate(len as usize);
    }
}
