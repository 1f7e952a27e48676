//! The disk of a server.

use std::cell::RefCell;
use std::time::Duration;

use blitz_io::time::sleep;

use super::command::{Command, State};

/// The time that a sync takes.
const SYNC: Duration = Duration::from_millis(3);

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

/// The disk of a server. Only synced data survives a crash.
#[derive(Default)]
pub struct Disk {
    synced: RefCell<Saved>,
    written: RefCell<Option<Saved>>,
}

impl Disk {
    /// Returns the synced data, after a restart. Data that was only written is lost.
    pub fn open(&self) -> Saved {
        self.written.take();
        self.synced.borrow().clone()
    }

    pub fn write(&self, saved: &Saved) {
        self.written.replace(Some(saved.clone()));
    }

    /// Waits until all that was written survives a crash.
    pub async fn sync(&self) {
        sleep(SYNC).await;
        if let Some(written) = self.written.take() {
            self.synced.replace(written);
        }
    }
}
