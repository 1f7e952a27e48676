//! Descriptors and the identity of files on Unix.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Device, number, and whether it is a character device.
pub(super) type Id = (u64, u64, bool);

fn id_of(known: &Metadata) -> Id {
    (known.dev(), known.ino(), known.file_type().is_char_device())
}

pub(super) fn id(path: &Path) -> io::Result<Id> {
    Ok(id_of(&fs::metadata(path)?))
}

pub(super) fn id_of_descriptor(number: i32) -> io::Result<Id> {
    Ok(id_of(&duplicate(number)?.metadata()?))
}

pub(super) fn is_device(&(_, _, is_device): &Id) -> bool {
    is_device
}

/// Returns the open descriptor that a name such as `/dev/fd/3` stands for.
pub(super) fn descriptor(directory: &Path, name: &OsStr) -> Option<i32> {
    let number = name.to_str()?.parse().ok().filter(|number| *number >= 0)?;
    let directory = fs::canonicalize(directory).ok()?;
    // On Linux the first is usually a link to the second.
    let is = |open| fs::canonicalize(open).is_ok_and(|open| open == directory);
    (is("/dev/fd") || is("/proc/self/fd")).then_some(number)
}

/// Returns another descriptor of the same open file, which has the same position.
pub(super) fn duplicate(number: i32) -> io::Result<File> {
    if number < 0 {
        return Err(ErrorKind::InvalidInput.into());
    }
    // SAFETY: `number` is not -1. It is used for one system call only, which fails if it is
    // no open descriptor, and which neither reads nor writes.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    borrowed.try_clone_to_owned().map(File::from)
}
