//! The disk of a node: its vote, its log, and its last snapshot. The disk is no part of a host, so it survives crashes.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::RangeBounds;
use std::sync::{Arc, Mutex, MutexGuard};

use openraft::storage::{LogFlushed, LogState, RaftLogStorage};
use openraft::{
    BasicNode, Entry, LogId, OptionalSend, RaftLogReader, SnapshotMeta, StorageError, Vote,
};

use crate::Types;

/// A snapshot: what it has, and its bytes.
pub type Kept = (SnapshotMeta<u64, BasicNode>, Vec<u8>);

#[derive(Default)]
struct State {
    vote: Option<Vote<u64>>,
    log: BTreeMap<u64, Entry<Types>>,
    purged: Option<LogId<u64>>,
    snapshot: Option<Kept>,
}

/// The disk of a node. Clones are the same one.
#[derive(Clone, Default)]
pub struct Disk(Arc<Mutex<State>>);

impl Disk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Returns the last snapshot.
    pub fn snapshot(&self) -> Option<Kept> {
        self.state().snapshot.clone()
    }

    /// Replaces the snapshot.
    pub fn keep(&self, snapshot: Kept) {
        self.state().snapshot = Some(snapshot);
    }

    /// Returns `true` if there is a snapshot.
    pub fn has_snapshot(&self) -> bool {
        self.state().snapshot.is_some()
    }
}

impl RaftLogReader<Types> for Disk {
    async fn try_get_log_entries<RB: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> Result<Vec<Entry<Types>>, StorageError<u64>> {
        let state = self.state();
        let entries = state.log.range(range).map(|(_, entry)| entry.clone());
        Ok(entries.collect())
    }
}

impl RaftLogStorage<Types> for Disk {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> Result<LogState<Types>, StorageError<u64>> {
        let state = self.state();
        let last = state.log.last_key_value().map(|(_, entry)| entry.log_id);
        Ok(LogState {
            last_purged_log_id: state.purged,
            last_log_id: last.or(state.purged),
        })
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote<u64>) -> Result<(), StorageError<u64>> {
        self.state().vote = Some(*vote);
        Ok(())
    }

    async fn read_vote(&mut self) -> Result<Option<Vote<u64>>, StorageError<u64>> {
        Ok(self.state().vote)
    }

    async fn append<I>(
        &mut self,
        entries: I,
        callback: LogFlushed<Types>,
    ) -> Result<(), StorageError<u64>>
    where
        I: IntoIterator<Item = Entry<Types>> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let entries = entries.into_iter().map(|entry| (entry.log_id.index, entry));
        self.state().log.extend(entries);
        callback.log_io_completed(Ok(()));
        Ok(())
    }

    async fn truncate(&mut self, log_id: LogId<u64>) -> Result<(), StorageError<u64>> {
        drop(self.state().log.split_off(&log_id.index));
        Ok(())
    }

    async fn purge(&mut self, log_id: LogId<u64>) -> Result<(), StorageError<u64>> {
        let mut state = self.state();
        state.log = state.log.split_off(&(log_id.index + 1));
        state.purged = Some(log_id);
        Ok(())
    }
}
