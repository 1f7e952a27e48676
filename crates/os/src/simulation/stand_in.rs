//! Metadata of simulated files, as values of the standard library's types.
//!
//! Only the system can make such a value. So the system gets a temporary file, folder or link with the same length,
//! permissions and time of modification, and describes it. It is removed at once. Numbers that the simulation does not
//! have, such as those of the inode and of the owner, are those of the stand-in.

use std::fs::{self, File, FileTimes, FileType, Metadata, Permissions};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use super::tree::{Kind, Status};

/// Returns the permissions for this mode of a new file. `None`: the usual ones.
#[cfg(unix)]
pub(super) fn permissions_of(mode: Option<u32>) -> Option<Permissions> {
    /// The usual umask.
    const MASK: u32 = 0o022;
    use std::os::unix::fs::PermissionsExt;
    mode.map(|mode| Permissions::from_mode(mode & !MASK & 0o7777))
}

/// Returns the permissions for this mode of a new file. `None`: the usual ones.
#[cfg(not(unix))]
pub(super) fn permissions_of(_: Option<u32>) -> Option<Permissions> {
    None
}

/// Returns the permissions of a file or folder for which none were set.
fn usual(kind: Kind) -> Option<Permissions> {
    permissions_of(Some(if kind == Kind::Folder { 0o777 } else { 0o666 }))
}

/// Returns the path of a stand-in, which no other one has.
fn new_path() -> PathBuf {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    let name = format!("blitz-io-{}-{number}", process::id());
    std::env::temp_dir().join(name)
}

/// Returns the metadata of a simulated file.
pub(super) fn metadata(status: &Status) -> io::Result<Metadata> {
    let path = new_path();
    match status.kind {
        Kind::File => {
            let file = File::create_new(&path)?;
            let described = describe_file(&file, status);
            drop(file);
            fs::remove_file(&path)?;
            described
        }
        Kind::Folder => {
            fs::create_dir(&path)?;
            let described = describe_folder(&path, status);
            fs::remove_dir(&path)?;
            described
        }
        Kind::Link => describe_link(&path, status),
    }
}

fn times(modified: SystemTime) -> FileTimes {
    let times = FileTimes::new().set_modified(modified);
    times.set_accessed(modified)
}

fn describe_file(file: &File, status: &Status) -> io::Result<Metadata> {
    file.set_len(status.len)?;
    file.set_times(times(status.modified))?;
    let permissions = status.permissions.clone();
    if let Some(permissions) = permissions.or_else(|| usual(status.kind)) {
        file.set_permissions(permissions)?;
    }
    file.metadata()
}

#[cfg(unix)]
fn describe_folder(path: &Path, status: &Status) -> io::Result<Metadata> {
    let folder = File::open(path)?;
    folder.set_times(times(status.modified))?;
    let permissions = status.permissions.clone();
    if let Some(permissions) = permissions.or_else(|| usual(status.kind)) {
        folder.set_permissions(permissions)?;
    }
    folder.metadata()
}

/// A folder cannot be opened as a file.
#[cfg(not(unix))]
fn describe_folder(path: &Path, _: &Status) -> io::Result<Metadata> {
    fs::metadata(path)
}

#[cfg(unix)]
fn describe_link(path: &Path, status: &Status) -> io::Result<Metadata> {
    std::os::unix::fs::symlink(&status.target, path)?;
    let described = fs::symlink_metadata(path);
    fs::remove_file(path)?;
    described
}

/// There are no simulated links.
#[cfg(not(unix))]
fn describe_link(_: &Path, _: &Status) -> io::Result<Metadata> {
    Err(super::errors::Failure::Unsupported.into())
}

/// Returns the type of simulated files of this kind.
pub(super) fn file_type(kind: Kind) -> io::Result<FileType> {
    static TYPES: [OnceLock<FileType>; 3] = [const { OnceLock::new() }; 3];
    let cell = &TYPES[kind as usize];
    if let Some(known) = cell.get() {
        return Ok(*known);
    }
    let status = Status {
        kind,
        len: 0,
        target: PathBuf::from("."),
        permissions: None,
        modified: SystemTime::UNIX_EPOCH,
    };
    let file_type = metadata(&status)?.file_type();
    Ok(*cell.get_or_init(|| file_type))
}
