//! `File`: the handle of an open file of a simulated host.

use std::fs::{Metadata, Permissions};
use std::io::{self, SeekFrom};
use std::path::Path;
use std::time::SystemTime;

use blitz_io_observe::decisions;

use super::disks::{Description, Disks, operate, with};
use super::errors::{Failure, Result};
use super::notes;
use super::stand_in;
use super::tree::{Id, Kind, Tree};

/// How a file is opened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    pub(crate) read: bool,
    pub(crate) write: bool,
    pub(crate) append: bool,
    pub(crate) truncate: bool,
    pub(crate) create: bool,
    pub(crate) create_new: bool,
    /// The permissions of a new file, as in Unix.
    pub(crate) mode: Option<u32>,
}

impl Flags {
    /// Returns an error for flags that contradict each other, as the standard library does.
    fn check(&self) -> Result<()> {
        let creates = self.create || self.create_new;
        let is_valid = match (self.write, self.append) {
            (false, false) => self.read && !self.truncate && !creates,
            (true, false) => true,
            (_, true) => !self.truncate || self.create_new,
        };
        is_valid.then_some(()).ok_or(Failure::Invalid)
    }

    fn writes(&self) -> bool {
        self.write || self.append
    }
}

/// An open file of a simulated host. It is closed when its last handle is dropped, or its host stops.
///
/// It may be sent to another thread, where it finds no disk: each operation fails there.
#[derive(Debug)]
pub(crate) struct File(u64);

/// Opens a file of the current code's host.
pub(crate) fn open(path: &Path, flags: &Flags) -> io::Result<File> {
    let file = open_quietly(path, flags);
    notes::on_path(file, "opens", "open", path)
}

/// Opens a file for an operation that has a note of its own.
pub(super) fn open_quietly(path: &Path, flags: &Flags) -> io::Result<File> {
    let host = decisions::host();
    operate(|disks| {
        flags.check()?;
        let node = find_or_create(disks, host, path, flags)?;
        let number = disks.add(Description {
            host,
            node,
            position: 0,
            reads: flags.read,
            writes: flags.writes(),
            appends: flags.append,
            handles: 1,
            path: path.to_owned(),
        });
        disks.sweep(host);
        Ok(File(number))
    })
}

fn find_or_create(disks: &mut Disks, host: u32, path: &Path, flags: &Flags) -> Result<Id> {
    let exists = disks.tree(host).look_up(path, !flags.create_new).is_ok();
    if exists && flags.create_new {
        return Err(Failure::Exists);
    }
    let creates = flags.create || flags.create_new;
    if !exists && creates && disks.settings(host).is_full() {
        return Err(Failure::Full);
    }
    let now = disks.now();
    let tree = disks.tree(host);
    let new = creates.then(|| stand_in::permissions_of(flags.mode));
    let node = tree.open(path, new, now)?;
    if flags.writes() && tree.kind(node)? == Kind::Folder {
        return Err(Failure::IsADirectory);
    }
    if flags.truncate && !tree.file(node)?.bytes.is_empty() {
        tree.set_len(node, 0, now)?;
    }
    Ok(node)
}

/// Copies bytes at a position, and returns their number.
fn copy(tree: &Tree, node: Id, at: u64, to: &mut [u8]) -> Result<usize> {
    let bytes = &tree.file(node)?.bytes;
    let start = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
    let count = to.len().min(bytes.len() - start);
    to[..count].copy_from_slice(&bytes[start..start + count]);
    Ok(count)
}

/// Writes bytes at a position, and returns the number of those that found room.
fn write(disks: &mut Disks, host: u32, node: Id, at: u64, mut bytes: &[u8]) -> Result<usize> {
    let settings = disks.settings(host);
    if settings.fails() {
        return Err(Failure::Device);
    }
    if settings.is_full() {
        let has_room = bytes.len() >= 2
            && decisions::meaning(
                || decisions::random(2) == Some(1),
                |_| "the disk has room for the first half of a write".to_owned(),
            );
        if !has_room {
            return Err(Failure::Full);
        }
        bytes = &bytes[..bytes.len() / 2];
    }
    let now = disks.now();
    if !bytes.is_empty() {
        disks.tree(host).write(node, at, bytes, now)?;
    }
    Ok(bytes.len())
}

impl File {
    fn description<'a>(&self, disks: &'a mut Disks) -> Result<&'a mut Description> {
        disks.open.get_mut(&self.0).ok_or(Failure::NotOpen)
    }

    /// Uses the file, and the disk on which it is.
    fn operate<R>(
        &self,
        operation: impl FnOnce(&mut Disks, u32, Id) -> Result<R>,
    ) -> io::Result<R> {
        operate(|disks| {
            let open = self.description(disks)?;
            let (host, node) = (open.host, open.node);
            operation(disks, host, node)
        })
    }

    fn readable(&self, disks: &mut Disks) -> Result<u64> {
        let open = self.description(disks)?;
        let (host, position) = (open.host, open.position);
        if !open.reads {
            return Err(Failure::NotOpen);
        }
        if disks.settings(host).fails() {
            return Err(Failure::Device);
        }
        Ok(position)
    }

    /// Returns the position of the next write: the end of a file that is opened for appending.
    fn writable(&self, disks: &mut Disks, at: Option<u64>) -> Result<u64> {
        let open = self.description(disks)?;
        let (host, node) = (open.host, open.node);
        let (position, appends) = (at.unwrap_or(open.position), open.appends);
        if !open.writes {
            return Err(Failure::NotOpen);
        }
        if !appends {
            return Ok(position);
        }
        Ok(disks.tree(host).file(node)?.bytes.len() as u64)
    }

    /// Notes an operation on the file: a sentence without its subject and without the path.
    fn note<T>(&self, result: &io::Result<T>, note: impl FnOnce(&io::Result<T>, &Path)) {
        if notes::explains() {
            let path = with(|disks| Some(self.description(disks).ok()?.path.clone())).flatten();
            note(result, &path.unwrap_or_default());
        }
    }

    /// Reads at the file's own position.
    pub(crate) fn read(&self, to: &mut [u8]) -> io::Result<usize> {
        let result = self.read_quietly(to);
        self.note(&result, notes::read);
        result
    }

    /// Reads for an operation that has a note of its own.
    pub(super) fn read_quietly(&self, to: &mut [u8]) -> io::Result<usize> {
        self.operate(|disks, host, node| {
            let position = self.readable(disks)?;
            let count = copy(disks.tree(host), node, position, to)?;
            self.description(disks)?.position += count as u64;
            Ok(count)
        })
    }

    /// Reads at a position.
    #[cfg(unix)]
    pub(crate) fn read_at(&self, to: &mut [u8], at: u64) -> io::Result<usize> {
        let result = self.operate(|disks, host, node| {
            self.readable(disks)?;
            copy(disks.tree(host), node, at, to)
        });
        self.note(&result, notes::read);
        result
    }

    /// Writes at the file's own position.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.write_quietly(bytes);
        self.note(&result, notes::written);
        result
    }

    /// Writes for an operation that has a note of its own.
    pub(super) fn write_quietly(&self, bytes: &[u8]) -> io::Result<usize> {
        self.operate(|disks, host, node| {
            let at = self.writable(disks, None)?;
            let count = write(disks, host, node, at, bytes)?;
            self.description(disks)?.position = at + count as u64;
            Ok(count)
        })
    }

    /// Writes at a position.
    #[cfg(unix)]
    pub(crate) fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize> {
        let result = self.operate(|disks, host, node| {
            let at = self.writable(disks, Some(at))?;
            write(disks, host, node, at, bytes)
        });
        self.note(&result, notes::written);
        result
    }

    /// Moves the file's own position.
    pub(crate) fn seek(&self, to: SeekFrom) -> io::Result<u64> {
        self.operate(|disks, host, node| {
            let position = match to {
                SeekFrom::Start(position) => Some(position),
                SeekFrom::Current(by) => self.description(disks)?.position.checked_add_signed(by),
                SeekFrom::End(by) => {
                    let end = disks.tree(host).file(node)?.bytes.len() as u64;
                    end.checked_add_signed(by)
                }
            };
            let position = position.filter(|at| i64::try_from(*at).is_ok());
            let position = position.ok_or(Failure::Invalid)?;
            self.description(disks)?.position = position;
            Ok(position)
        })
    }

    /// Truncates the file, or extends it with zeros.
    pub(crate) fn set_len(&self, len: u64) -> io::Result<()> {
        let result = self.operate(|disks, host, node| {
            if !self.description(disks)?.writes {
                return Err(Failure::Invalid);
            }
            let now = disks.now();
            disks.tree(host).set_len(node, len, now)
        });
        self.note(&result, |result, path| notes::resized(result, path, len));
        result
    }

    /// Makes the file, or the names in a folder, durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        let result = self.operate(|disks, host, node| {
            if disks.settings(host).fails() {
                disks.tree(host).sync_failed(node)?;
                return Err(Failure::Device);
            }
            disks.tree(host).sync(node)
        });
        self.note(&result, notes::synced);
        result
    }

    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        let status = self.operate(|disks, host, node| disks.tree(host).status(node))?;
        stand_in::metadata(&status)
    }

    pub(crate) fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        self.operate(|disks, host, node| disks.tree(host).set_permissions(node, permissions))
    }

    pub(crate) fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        self.operate(|disks, host, node| disks.tree(host).set_modified(node, time))
    }

    /// Returns another handle of the same open file.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        operate(|disks| {
            self.description(disks)?.handles += 1;
            Ok(Self(self.0))
        })
    }
}

impl Drop for File {
    fn drop(&mut self) {
        with(|disks| {
            let Some(open) = disks.open.get_mut(&self.0) else {
                return;
            };
            open.handles -= 1;
            if open.handles == 0 {
                let host = open.host;
                disks.open.remove(&self.0);
                disks.sweep(host);
            }
        });
    }
}
