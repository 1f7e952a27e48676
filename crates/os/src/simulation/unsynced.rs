//! Changes of files that are not synced, and those that a crash leaves.
//!
//! Two simulators use this file: that of programs (`crates/sim`) and that of tasks (`crates/os`). The first one
//! compiles it into an object without dependencies, so each has a copy. A test of `crates/sim` compares them.
//!
//! # States
//!
//! A write is *unsynced* until a sync of its file. A change of a folder (a new name, a removed one, a rename)
//! is in the *journal* until a sync of that folder. All else is *durable*.
//!
//! # A crash
//!
//! 1. The folders are as after a prefix of the journal: file systems order these changes. A choice says how
//!    many of the last ones are lost ([`kept`]).
//! 2. Each file with unsynced writes has all of them, or none, or the first ones, or the first ones and a part
//!    of the next (*torn*, at a sector), or all but one: the system writes pages back in any order
//!    ([`survivors`]).
//!
//! Both are independent. So a file that was written, not synced, and renamed over another one may be empty
//! after the crash, and a file that was synced is gone if its folder was not.
//!
//! Choice 0 loses nothing.

/// Bytes that a disk writes as a whole.
const SECTOR: usize = 512;

/// A change of a file's bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    Write { at: usize, bytes: Vec<u8> },
    Length(usize),
}

/// A change of entries: folder, name, new entry. They happen together.
pub struct Operation<N>(pub Vec<(u64, N, Option<u64>)>);

/// Applies changes in their order.
pub fn apply<'a>(bytes: &mut Vec<u8>, changes: impl IntoIterator<Item = &'a Change>) {
    for change in changes {
        match change {
            Change::Length(length) => bytes.resize(*length, 0),
            Change::Write { at, bytes: new } => {
                let end = at + new.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[*at..end].copy_from_slice(new);
            }
        }
    }
}

/// Returns the number of operations at the start of the journal that a sync of a folder makes durable: all up
/// to the last one that concerns it.
pub fn due<N>(journal: &[Operation<N>], folder: u64) -> usize {
    let concerns = |operation: &Operation<N>| operation.0.iter().any(|(id, ..)| *id == folder);
    let last = journal.iter().rposition(concerns);
    last.map_or(0, |at| at + 1)
}

/// Returns the number of operations at the start of the journal that a crash leaves.
pub fn kept<N>(journal: &[Operation<N>], mut choose: impl FnMut(usize) -> usize) -> usize {
    journal.len() - choose(journal.len() + 1)
}

/// Returns the part of a write that reached the disk before its end: whole sectors.
fn torn(change: &Change, choose: &mut impl FnMut(usize) -> usize) -> Option<Change> {
    let Change::Write { at, bytes } = change else {
        return None;
    };
    let first = SECTOR - at % SECTOR;
    if first >= bytes.len() {
        return None;
    }
    let inner = (bytes.len() - first).div_ceil(SECTOR);
    let end = first + SECTOR * choose(inner);
    Some(Change::Write {
        at: *at,
        bytes: bytes[..end].to_vec(),
    })
}

/// Returns those of a file's unsynced changes that a crash leaves. `choose` returns a number below its argument.
pub fn survivors(changes: Vec<Change>, mut choose: impl FnMut(usize) -> usize) -> Vec<Change> {
    if changes.is_empty() {
        return changes;
    }
    let last = changes.len() - 1;
    match choose(5) {
        0 => changes,
        1 => vec![],
        2 => changes[..choose(changes.len())].to_vec(),
        3 => {
            let at = last - choose(changes.len());
            let part = torn(&changes[at], &mut choose);
            changes[..at].iter().cloned().chain(part).collect()
        }
        _ => {
            let mut kept = changes;
            let at = choose(kept.len());
            kept.remove(at);
            kept
        }
    }
}
