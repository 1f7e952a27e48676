//! The system's files.

use std::fs::DirBuilder;
pub(crate) use std::fs::{
    DirEntry, File, OpenOptions, ReadDir, canonicalize, copy, create_dir, create_dir_all, exists,
    hard_link, metadata, read_dir, read_link, remove_dir, remove_dir_all, remove_file, rename,
    set_permissions, symlink_metadata, write,
};
use std::io;
#[cfg(unix)]
pub(crate) use std::os::unix::fs::symlink;
#[cfg(windows)]
pub(crate) use std::os::windows::fs::{symlink_dir, symlink_file};
use std::path::PathBuf;

use super::super::FileTimes;

#[cfg(not(target_os = "linux"))]
pub(crate) use std::fs::read;

/// Returns the file for one of the system.
#[inline]
pub(crate) fn of_system(file: File) -> File {
    file
}

/// Returns the file as one of the system: always.
#[inline]
pub(crate) fn as_system(file: &File) -> Option<&File> {
    Some(file)
}

/// Returns the file as one of the system: always.
#[inline]
pub(crate) fn into_system(file: File) -> Result<File, File> {
    Ok(file)
}

/// Returns the options for those of the system.
#[inline]
pub(crate) fn options_of(options: OpenOptions) -> OpenOptions {
    options
}

/// Reads a whole file of a simulated host: there is none.
#[cfg(target_os = "linux")]
#[inline]
pub(crate) fn read_simulated(_path: &std::path::Path) -> Option<io::Result<Vec<u8>>> {
    None
}

/// Creates a folder.
#[inline]
pub(crate) fn build_dir(
    builder: &DirBuilder,
    _is_recursive: bool,
    path: PathBuf,
) -> io::Result<()> {
    builder.create(path)
}

#[inline]
pub(crate) fn set_times(file: &File, times: &FileTimes) -> io::Result<()> {
    file.set_times(times.to_std())
}

#[cfg(unix)]
#[inline]
pub(crate) fn inode(entry: &DirEntry) -> u64 {
    std::os::unix::fs::DirEntryExt::ino(entry)
}

/// Reads at a position of a simulated file: it is none.
///
/// # Safety
///
/// `len` bytes may be written there.
#[cfg(unix)]
#[inline]
pub(crate) unsafe fn read_at(
    _file: &File,
    _to: *mut u8,
    _len: usize,
    _offset: u64,
) -> Option<io::Result<usize>> {
    None
}

/// Writes at a position of a simulated file: it is none.
///
/// # Safety
///
/// `len` bytes there are initialised.
#[cfg(unix)]
#[inline]
pub(crate) unsafe fn write_at(
    _file: &File,
    _from: *const u8,
    _len: usize,
    _offset: u64,
) -> Option<io::Result<usize>> {
    None
}
