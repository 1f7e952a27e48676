//! The state machine of a node: a few registers in memory.

use std::collections::BTreeMap;
use std::io::Cursor;

use openraft::storage::{RaftStateMachine, Snapshot};
use openraft::{
    AnyError, BasicNode, Entry, EntryPayload, LogId, OptionalSend, RaftSnapshotBuilder,
    SnapshotMeta, StorageError, StorageIOError, StoredMembership,
};

use crate::disk::{Disk, Kept};
use crate::{Command, Types};

/// The registers after the entries up to `applied`.
#[derive(Clone)]
pub struct Machine {
    disk: Disk,
    applied: Option<LogId<u64>>,
    membership: StoredMembership<u64, BasicNode>,
    values: BTreeMap<u8, u32>,
}

impl Machine {
    /// Creates the machine of a node that starts: with its last snapshot.
    pub fn new(disk: Disk) -> Self {
        let mut machine = Self {
            applied: None,
            membership: StoredMembership::default(),
            values: BTreeMap::new(),
            disk: disk.clone(),
        };
        if let Some((meta, bytes)) = disk.snapshot() {
            machine.set(&meta, serde_json::from_slice(&bytes).unwrap());
        }
        machine
    }

    fn set(&mut self, meta: &SnapshotMeta<u64, BasicNode>, values: BTreeMap<u8, u32>) {
        self.applied = meta.last_log_id;
        self.membership = meta.last_membership.clone();
        self.values = values;
    }

    fn execute(&mut self, command: Command) -> Option<u32> {
        match command {
            Command::Read(key) => self.values.get(&key).copied(),
            Command::Write(key, value) => self.values.insert(key, value),
        }
    }
}

fn snapshot((meta, bytes): Kept) -> Snapshot<Types> {
    let snapshot = Box::new(Cursor::new(bytes));
    Snapshot { meta, snapshot }
}

fn unreadable(error: serde_json::Error) -> StorageError<u64> {
    StorageIOError::read_snapshot(None, AnyError::new(&error)).into()
}

impl RaftSnapshotBuilder<Types> for Machine {
    async fn build_snapshot(&mut self) -> Result<Snapshot<Types>, StorageError<u64>> {
        let meta = SnapshotMeta {
            last_log_id: self.applied,
            last_membership: self.membership.clone(),
            snapshot_id: format!("{:?}", self.applied),
        };
        let kept = (meta, serde_json::to_vec(&self.values).map_err(unreadable)?);
        self.disk.keep(kept.clone());
        Ok(snapshot(kept))
    }
}

impl RaftStateMachine<Types> for Machine {
    type SnapshotBuilder = Self;

    async fn applied_state(
        &mut self,
    ) -> Result<(Option<LogId<u64>>, StoredMembership<u64, BasicNode>), StorageError<u64>> {
        Ok((self.applied, self.membership.clone()))
    }

    async fn apply<I>(&mut self, entries: I) -> Result<Vec<Option<u32>>, StorageError<u64>>
    where
        I: IntoIterator<Item = Entry<Types>> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let mut results = Vec::new();
        for entry in entries {
            self.applied = Some(entry.log_id);
            results.push(match entry.payload {
                EntryPayload::Blank => None,
                EntryPayload::Normal(command) => self.execute(command),
                EntryPayload::Membership(membership) => {
                    self.membership = StoredMembership::new(Some(entry.log_id), membership);
                    None
                }
            });
        }
        Ok(results)
    }

    async fn get_snapshot_builder(&mut self) -> Self {
        self.clone()
    }

    async fn begin_receiving_snapshot(
        &mut self,
    ) -> Result<Box<Cursor<Vec<u8>>>, StorageError<u64>> {
        Ok(Box::default())
    }

    async fn install_snapshot(
        &mut self,
        meta: &SnapshotMeta<u64, BasicNode>,
        snapshot: Box<Cursor<Vec<u8>>>,
    ) -> Result<(), StorageError<u64>> {
        let bytes = snapshot.into_inner();
        self.set(meta, serde_json::from_slice(&bytes).map_err(unreadable)?);
        self.disk.keep((meta.clone(), bytes));
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot<Types>>, StorageError<u64>> {
        Ok(self.disk.snapshot().map(snapshot))
    }
}
