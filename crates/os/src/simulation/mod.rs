//! The files of simulated hosts, in memory.
//!
//! `blitz_io::sim` makes disks for each run. They belong to the thread of the run. The public functions here are those for
//! disks; programs use the files through the types and functions of [`fs`](crate::fs), of which `fs/files` is the part that
//! differs.
//!
//! | file | contents |
//! |---|---|
//! | `unsynced.rs` | the rules: what is durable, and what a crash leaves of the rest |
//! | `tree.rs` | files, folders and links of a host |
//! | `disk.rs` | how fast a disk is, and how it fails |
//! | `disks.rs` | the disks of the thread's simulation, and their open files |
//! | `file.rs` | the handle of an open file |
//! | `paths.rs` | the functions with paths |
//! | `notes.rs` | operations on files and losses in a crash, for reports |
//! | `stand_in.rs` | metadata in the standard library's types |
//!
//! # Operations
//!
//! An operation that would run on a thread of the pool is a task of the host (`spawn`). It takes the disk's time and then
//! happens at once. So it happens even if its future was dropped, as on the pool, and it does not if its host stops before.
//!
//! # A crash
//!
//! Durable bytes and names change in a sync, which applies all changes in their order, and in a crash. So the rules of
//! `unsynced.rs` are the only ones by which data survives. A program that is killed loses nothing: its system lives.

mod disk;
mod disks;
mod errors;
mod file;
mod notes;
mod paths;
mod stand_in;
mod tree;
mod unsynced;

use std::io;
use std::path::Path;

use blitz_io_observe::Beginner;
use blitz_io_runtime::task::{self, JoinHandle};
use blitz_io_runtime::time::sleep;

pub use disk::{Disk, Trouble};
pub(crate) use disks::is_on;
pub use disks::{Entered, enter, set_all_disks, set_disk, set_trouble, stop};
pub(crate) use file::{File, Flags, open};
#[cfg(windows)]
pub(crate) use paths::no_symlink;
#[cfg(unix)]
pub(crate) use paths::symlink;
pub(crate) use paths::{
    DirEntry, canonicalize, copy, create_dir, create_dir_all, exists, hard_link, metadata, read,
    read_dir, read_link, remove_dir, remove_dir_all, remove_file, rename, set_permissions, write,
};

/// Returns `true` if a location is in the code of files, which spawns operations on them and makes open files.
#[must_use]
pub fn is_own(location: &str) -> bool {
    let own = file!();
    let sources = own.rfind("simulation").map_or("", |at| &own[..at]);
    let rest = location.strip_prefix(sources).unwrap_or_default();
    let folder = rest.split(['/', '\\']).next();
    matches!(folder, Some("fs" | "simulation"))
}

/// Runs an operation on a disk as a task of the current code's host, whose notes are about the current task.
pub(crate) fn spawn<T: Send + 'static>(
    is_sync: bool,
    operation: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let beginner = Beginner::current();
    task::spawn(async move {
        let time = disks::draw_time(is_sync);
        if !time.is_zero() {
            sleep(time).await;
        }
        let _acts = beginner.acts();
        operation()
    })
}

/// Reads a whole file of a host.
///
/// # Errors
///
/// If the host has no such file.
pub fn read_file(host: u32, path: &Path) -> io::Result<Vec<u8>> {
    disks::operate(|disks| {
        let tree = disks.tree(host);
        let node = tree.look_up(path, true)?;
        Ok(tree.file(node)?.bytes.clone())
    })
}

/// Writes a whole file of a host, and makes all files of the host durable.
///
/// # Errors
///
/// If it cannot be created.
pub fn write_file(host: u32, path: &Path, bytes: &[u8]) -> io::Result<()> {
    disks::operate(|disks| {
        let now = disks.now();
        let tree = disks.tree(host);
        if let Some(folder) = path.parent() {
            tree.create_folders(folder, now)?;
        }
        let node = tree.open(path, Some(None), now)?;
        tree.set_len(node, 0, now)?;
        tree.write(node, 0, bytes, now)?;
        tree.sync_all();
        Ok(())
    })
}
