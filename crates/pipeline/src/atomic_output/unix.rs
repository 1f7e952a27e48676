//! Descriptors and the identity of files on Unix.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, fchown};
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

/// Gives a new, empty file the permissions of the file that it will replace, if there is one. It also sets the
/// owner and the group, as far as this process may do that.
///
/// If it keeps another group, that group gets only the permissions that every user had.
pub(super) fn protect_as(file: &File, replaced: &Path) -> io::Result<()> {
    let replaced = match fs::metadata(replaced) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    let access = |known: &Metadata| (known.uid(), known.gid(), known.mode() & 0o777);
    // Some file systems have the same permissions for all files, and refuse to set others.
    if access(&file.metadata()?) == access(&replaced) {
        return Ok(());
    }
    // No other user may open it until its owner is known.
    file.set_permissions(Permissions::from_mode(0o600))?;
    // Only a privileged process may give a file away. The group alone may be one of its own.
    _ = fchown(file, Some(replaced.uid()), None);
    _ = fchown(file, None, Some(replaced.gid()));
    let mut mode = replaced.mode() & 0o777;
    if file.metadata()?.gid() != replaced.gid() {
        let of_others = mode & 0o007;
        mode = mode & 0o707 | of_others << 3;
    }
    file.set_permissions(Permissions::from_mode(mode))
}
