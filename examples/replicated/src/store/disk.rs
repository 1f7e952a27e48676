//! The disk of a server: a file of its host.

use std::io::{self, SeekFrom};

use blitz_io::fs::{self, File};
use blitz_io::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};

use super::Bug;
use super::data::Saved;
use super::message::{saved_from_bytes, saved_to_bytes};

/// The file with the records.
const LOG: &str = "/log";
/// The file that replaces it.
const NEW: &str = "/log.new";
/// The length in bytes from which on a new file replaces the old one.
const LONG: u64 = 2048;
/// The number of bytes before each record: its length, and its checksum.
const HEAD: usize = 16;

/// The disk of a server: a file of records, of which the last whole one counts.
pub struct Disk {
    file: File,
    len: u64,
    /// Something was written that is not synced.
    is_pending: bool,
    bug: Option<Bug>,
}

impl Disk {
    /// Opens the disk after a restart, and returns the last data that it has.
    pub async fn open(bug: Option<Bug>) -> io::Result<(Self, Saved)> {
        let mut options = File::options();
        options.read(true).write(true).create(true);
        let mut file = options.open(LOG).await?;
        sync_folder().await?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).await?;
        let (saved, len) = last(&bytes);
        // A record that a crash has torn would hide those after it.
        file.set_len(len).await?;
        file.sync_data().await?;
        file.seek(SeekFrom::Start(len)).await?;
        let disk = Self {
            file,
            len,
            is_pending: false,
            bug,
        };
        Ok((disk, saved))
    }

    /// Writes the data. It survives a crash after a [`sync`](Self::sync).
    pub async fn write(&mut self, saved: &Saved) -> io::Result<()> {
        let record = record(saved);
        if self.len + record.len() as u64 > LONG {
            return self.replace(&record).await;
        }
        self.is_pending = true;
        self.file.write_all(&record).await?;
        self.file.flush().await?;
        self.len += record.len() as u64;
        Ok(())
    }

    /// Waits until all that was written survives a crash.
    pub async fn sync(&mut self) -> io::Result<()> {
        if self.is_pending {
            self.file.sync_data().await?;
            self.is_pending = false;
        }
        Ok(())
    }

    /// Begins a new file, which is synced. At each moment, a crash leaves the old one or the new one.
    async fn replace(&mut self, record: &[u8]) -> io::Result<()> {
        let mut file = File::create(NEW).await?;
        file.write_all(record).await?;
        file.flush().await?;
        if self.bug != Some(Bug::UnsyncedReplacement) {
            file.sync_data().await?;
        }
        fs::rename(NEW, LOG).await?;
        sync_folder().await?;
        (self.file, self.len) = (file, record.len() as u64);
        self.is_pending = false;
        Ok(())
    }
}

/// Waits until the names of the files survive a crash.
async fn sync_folder() -> io::Result<()> {
    File::open("/").await?.sync_all().await
}

fn record(saved: &Saved) -> Vec<u8> {
    let bytes = saved_to_bytes(saved);
    let mut record = Vec::with_capacity(HEAD + bytes.len());
    record.extend((bytes.len() as u64).to_le_bytes());
    record.extend(checksum(&bytes).to_le_bytes());
    record.extend(bytes);
    record
}

/// Returns the data of the last whole record, and where that ends.
fn last(bytes: &[u8]) -> (Saved, u64) {
    let (mut saved, mut end) = (Saved::default(), 0);
    while let Some((next, len)) = first(&bytes[end..]) {
        saved = next;
        end += len;
    }
    (saved, end as u64)
}

/// Returns the data of the first record, and its length, if it is whole.
fn first(bytes: &[u8]) -> Option<(Saved, usize)> {
    let (len, rest) = bytes.split_first_chunk()?;
    let (sum, rest) = rest.split_first_chunk()?;
    let len = usize::try_from(u64::from_le_bytes(*len)).ok()?;
    let bytes = rest.get(..len)?;
    if checksum(bytes) != u64::from_le_bytes(*sum) {
        return None;
    }
    Some((saved_from_bytes(bytes)?, HEAD + len))
}

/// FNV-1a.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}
