//! Files without a name, which Linux has.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Creates a file without a name that can get one in this directory later. Returns `None` if
/// the file system or the system cannot do that.
pub(super) fn create(directory: &Path) -> Option<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_TMPFILE)
        .open(directory)
        .ok()?;
    // Without `/proc` it could not get a name.
    fs::metadata(entry(&file)).ok().map(|_| file)
}

/// Gives a file without a name this one, which must not exist.
pub(super) fn link(file: &File, name: &Path) -> io::Result<()> {
    let from = CString::new(entry(file))?;
    let to = CString::new(name.as_os_str().as_bytes())?;
    // SAFETY: both strings end with a zero, and live until the call returns.
    let linked = unsafe {
        libc::linkat(
            libc::AT_FDCWD,
            from.as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            libc::AT_SYMLINK_FOLLOW,
        )
    };
    match linked {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn entry(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}
