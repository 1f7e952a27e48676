//! The identity of files on systems other than Unix, where standard output is the only
//! descriptor with a name.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The path with all links followed.
pub(super) type Id = PathBuf;

pub(super) fn id(path: &Path) -> io::Result<Id> {
    fs::canonicalize(path)
}

pub(super) fn id_of_descriptor(_number: i32) -> io::Result<Id> {
    Err(ErrorKind::Unsupported.into())
}

pub(super) fn is_device(_id: &Id) -> bool {
    false
}

pub(super) fn descriptor(_directory: &Path, _name: &OsStr) -> Option<i32> {
    None
}

/// Does nothing: permissions are those of the directory.
pub(super) fn protect_as(_file: &File, _replaced: &Path) -> io::Result<()> {
    Ok(())
}

/// Returns standard output.
#[cfg(windows)]
pub(super) fn duplicate(_number: i32) -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    let handle = io::stdout().as_handle().try_clone_to_owned();
    handle.map(File::from)
}

/// Returns standard output.
#[cfg(not(windows))]
pub(super) fn duplicate(_number: i32) -> io::Result<File> {
    Err(ErrorKind::Unsupported.into())
}
