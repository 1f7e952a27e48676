//! The messages that an importing gateway has delivered, so that it resumes after them when it was
//! killed.
//!
//! There is one file of 64 bytes for each name and remote host, on a file system in memory. When the
//! process dies, the system keeps the bytes that it had written.
//!
//! **Delivering a message, step by step.** (1) Claim a place of the local ring: its position is
//! known now. Write the message there, which no receiver sees yet. (2) Write the record: that
//! position, and the remote position before and after this message. (3) Publish the message.
//!
//! A gateway that was killed before (2) has left the record of the previous message. After (2), the
//! ring shows whether (3) has happened: if so the record's `after` holds, else `before`. A place
//! that was used again shows nothing: local senders of a channel have sent a whole ring since then,
//! and the message counts as delivered. In a route this cannot happen, as its only sender is the
//! gateway.
//!
//! **Several hosts send to one channel.** Each has a record, and the messages of one use the places of the
//! others again. The one whose record is open may be cut off when the gateway is back, so its own import
//! would look at the ring too late. So the first import of a name [settles](settle) all records of that name
//! before any import of it delivers.
//!
//! **Many at once.** In a route, the places that the gateway claims follow each other. So one record
//! stands for `count` messages with consecutive remote positions, and the ring shows how many of
//! them were published: the first place without a message ends them.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use blitz_io::ipc::{MessageState, Sender};

use crate::sequence::Known;
use crate::wire::fnv;

/// The content of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Entry {
    /// The number of the local segment.
    pub segment: u64,
    /// The number of the remote segment.
    pub epoch: u64,
    /// The next remote position if the message at `ring` was not published.
    pub before: u64,
    /// The next remote position if that message was published, and the one behind it was not.
    pub after: u64,
    /// The position of the first message in the local segment.
    pub ring: u64,
    /// The number of messages.
    pub count: u64,
}

const LEN: usize = 64;
const SUM: usize = LEN - 8;

/// An open record.
pub struct Record(File);

impl Record {
    /// Opens the file, and makes it if there is none.
    ///
    /// # Errors
    ///
    /// Returns the system's error.
    pub fn open(path: &Path) -> io::Result<Self> {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map(Self)
    }

    /// Replaces the content.
    ///
    /// # Errors
    ///
    /// Returns the system's error.
    pub fn store(&self, entry: &Entry) -> io::Result<()> {
        let mut bytes = [0; LEN];
        let words = [
            entry.segment,
            entry.epoch,
            entry.before,
            entry.after,
            entry.ring,
            entry.count,
        ];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        let sum = fnv(&bytes[..SUM]);
        bytes[SUM..].copy_from_slice(&sum.to_le_bytes());
        self.0.write_all_at(&bytes, 0)
    }

    /// Reads the content. Returns `None` if the file has no valid record.
    pub fn load(&self) -> Option<Entry> {
        let mut bytes = [0; LEN];
        self.0.read_exact_at(&mut bytes, 0).ok()?;
        let word = |index: usize| {
            u64::from_le_bytes(bytes[index * 8..][..8].try_into().unwrap_or_default())
        };
        (word(7) == fnv(&bytes[..SUM])).then(|| Entry {
            segment: word(0),
            epoch: word(1),
            before: word(2),
            after: word(3),
            ring: word(4),
            count: word(5),
        })
    }

    /// Returns the next message to deliver, if the local segment is still the one of the record.
    pub async fn recover(&self, sender: &Sender) -> Option<Known> {
        let entry = self
            .load()
            .filter(|entry| entry.segment == sender.segment_id())?;
        let mut position = entry.before;
        for number in 0..entry.count {
            match settled(sender, entry.ring + number).await {
                MessageState::Absent | MessageState::Ahead => break,
                _ => position = entry.after + number,
            }
        }
        Some(Known {
            epoch: entry.epoch,
            position,
        })
    }

    /// Writes down what the ring shows, so that the record holds when the ring shows it no more.
    async fn settle(&self, sender: &Sender) -> io::Result<()> {
        let Some(Known { epoch, position }) = self.recover(sender).await else {
            return Ok(());
        };
        self.store(&Entry {
            segment: sender.segment_id(),
            epoch,
            before: position,
            after: position,
            ring: 0,
            count: 0,
        })
    }
}

/// The end of the name of a record's file, behind the host.
pub const ENDING: &str = ".record";

/// Settles the records of all hosts: these are the files whose names begin with `of_name`.
///
/// # Errors
///
/// Returns the system's error. Some records may be settled then.
pub async fn settle(directory: &Path, of_name: &str, sender: &Sender) -> io::Result<()> {
    for file in std::fs::read_dir(directory)? {
        let file = file?;
        let name = file.file_name();
        let is_record = |name: &str| name.starts_with(of_name) && name.ends_with(ENDING);
        if name.to_str().is_some_and(is_record) {
            Record::open(&file.path())?.settle(sender).await?;
        }
    }
    Ok(())
}

/// Returns the state of a message that no sender is about to send.
async fn settled(sender: &Sender, ring: u64) -> MessageState {
    loop {
        match sender.message_state(ring) {
            // The dead gateway's claim, which another participant is about to undo.
            MessageState::Claimed => blitz_io::time::sleep(Duration::from_millis(10)).await,
            state => return state,
        }
    }
}
