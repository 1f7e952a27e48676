//! `read_dir`: the entries of a directory.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{FileType, Metadata};
use std::future::{Future, poll_fn};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use blitz_io_observe::About;
use blitz_io_runtime::task::JoinHandle;

use super::files;
use crate::blocking::{called, on_path, run, spawn};

/// The number of entries that one job of the pool reads. The cost of a job is divided by
/// it, and that many entries wait in memory.
const CHUNK: usize = 32;

/// Returns the entries of a directory, one by one, in any order, without `.` and `..`.
///
/// # Errors
///
/// Returns the errors of [`std::fs::read_dir`].
///
/// ```
/// # #[blitz_io::main]
/// # async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path();
/// blitz_io::fs::write(path.join("file"), "").await?;
/// let mut entries = blitz_io::fs::read_dir(path).await?;
/// while let Some(entry) = entries.next_entry().await? {
///     assert_eq!(entry.file_name(), "file");
/// }
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn read_dir(path: impl AsRef<Path>) -> impl Future<Output = io::Result<ReadDir>> {
    let chunk = on_path("read_dir", path, |path| {
        let folder = files::read_dir(path)?;
        let mut chunk = Chunk {
            entries: VecDeque::with_capacity(CHUNK),
            folder,
            has_more: true,
        };
        chunk.fill();
        Ok(chunk)
    });
    called(async move { chunk.await.map(|chunk| ReadDir(State::Idle(chunk))) })
}

/// The entries of a directory: see [`read_dir`].
#[derive(Debug)]
#[must_use = "streams do nothing unless polled"]
pub struct ReadDir(State);

#[derive(Debug)]
enum State {
    Idle(Chunk),
    Busy(JoinHandle<Chunk>),
    /// A runtime has ended while it had the directory.
    Lost,
}

#[derive(Debug)]
struct Chunk {
    entries: VecDeque<io::Result<DirEntry>>,
    folder: files::ReadDir,
    has_more: bool,
}

impl Chunk {
    /// Reads some entries. It blocks.
    fn fill(&mut self) {
        while self.has_more && self.entries.len() < CHUNK {
            let Some(entry) = self.folder.next() else {
                self.has_more = false;
                return;
            };
            let is_error = entry.is_err();
            self.entries.push_back(entry.map(DirEntry::new));
            if is_error {
                return;
            }
        }
    }
}

impl ReadDir {
    /// Returns the next entry, or `None` after the last one.
    ///
    /// # Errors
    ///
    /// Returns the system's errors. The entries after one that failed may still be read.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: no entry is lost.
    #[track_caller]
    pub fn next_entry(&mut self) -> impl Future<Output = io::Result<Option<DirEntry>>> {
        // A block, as Tokio's future is not `Unpin`.
        called(async move { poll_fn(|cx| self.poll_next_entry(cx)).await })
    }

    /// Attempts to return the next entry; returns `None` after the last one.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`next_entry`](ReadDir::next_entry).
    pub fn poll_next_entry(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<DirEntry>>> {
        loop {
            match &mut self.0 {
                State::Idle(chunk) => {
                    if let Some(entry) = chunk.entries.pop_front() {
                        return Poll::Ready(entry.map(Some));
                    }
                    if !chunk.has_more {
                        return Poll::Ready(Ok(None));
                    }
                }
                State::Busy(job) => {
                    let chunk = ready!(Pin::new(job).poll(cx));
                    self.0 = State::Lost;
                    self.0 = State::Idle(chunk?);
                    continue;
                }
                State::Lost => return Poll::Ready(Err(crate::blocking::lost())),
            }
            if let State::Idle(mut chunk) = std::mem::replace(&mut self.0, State::Lost) {
                self.0 = State::Busy(spawn(About::operation("read_dir"), move || {
                    chunk.fill();
                    chunk
                }));
            }
        }
    }
}

/// An entry of a directory.
#[derive(Debug)]
pub struct DirEntry {
    /// The type, where the system reports it with the name.
    file_type: Option<FileType>,
    std: Arc<files::DirEntry>,
}

impl DirEntry {
    /// Blocks where the system does not report the type with the name.
    fn new(std: files::DirEntry) -> Self {
        Self {
            file_type: std.file_type().ok(),
            std: Arc::new(std),
        }
    }

    /// Returns the path: that of the directory, and the name.
    pub fn path(&self) -> PathBuf {
        self.std.path()
    }

    /// Returns the name, without the path.
    pub fn file_name(&self) -> OsString {
        self.std.file_name()
    }

    /// Returns the metadata of the entry. Does not follow links.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`std::fs::DirEntry::metadata`].
    pub async fn metadata(&self) -> io::Result<Metadata> {
        let std = self.std.clone();
        let about = About::of(|| About::path("metadata", &std.path()));
        run(about, move || std.metadata()).await
    }

    /// Returns whether the entry is a file, a directory or something else. Does not follow
    /// links.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`std::fs::DirEntry::file_type`].
    pub async fn file_type(&self) -> io::Result<FileType> {
        if let Some(file_type) = self.file_type {
            return Ok(file_type);
        }
        let std = self.std.clone();
        let about = About::of(|| About::path("file_type", &std.path()));
        run(about, move || std.file_type()).await
    }

    /// Returns the inode number of the entry.
    #[cfg(unix)]
    pub fn ino(&self) -> u64 {
        files::inode(&self.std)
    }
}
