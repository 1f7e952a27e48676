//! A participant is woken by a byte in a named pipe, `N.doorbell` in the folder of the
//! participants' files (`folder.rs`): macOS and FreeBSD, which have no abstract socket
//! addresses. A socket with a path would do as well, but the path must fit into 104 bytes,
//! and the folder of a user's segments takes half of them.
//!
//! * A pipe is *made* by the owner of the participant's lock, which first removes what a
//!   dead participant has left under the same name.
//! * It is *removed* by the participant that makes the record empty, which is its owner, or
//!   another one after its death; at the latest with the folder.
//! * All open it for reading and writing, which never blocks for want of a writer or a
//!   reader. Closing the pipe discards unread bytes, and raises no signal.
//!
//! The users that can use the segment can write into the pipe; this only makes its owner
//! look at the ring. They could also put another kind of file in its place, but a byte is
//! written into pipes only.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use super::SegmentFile;
use super::folder::Folder;

/// The ending of the pipes' names.
const ENDING: &str = "doorbell";

/// The end from which a participant takes its wake-ups.
#[derive(Debug)]
pub(crate) struct Wakeups(File);

impl Wakeups {
    /// The caller has the lock of `participant`.
    pub(crate) fn new(
        segment: &SegmentFile,
        path: Option<&Path>,
        participant: usize,
    ) -> io::Result<Self> {
        let folder = Folder::of(path.ok_or(ErrorKind::Unsupported)?);
        let mode = folder.make(segment.file.get())?;
        let path = folder.file(participant, ENDING);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let name = CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: a C string.
        if unsafe { libc::mkfifo(name.as_ptr(), mode as libc::mode_t) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let file = open(&path)?;
        // Sets the bits that the process's mask took away.
        file.set_permissions(Permissions::from_mode(mode))?;
        Ok(Self(file))
    }

    /// Returns the number by which [`wake`] finds the pipe; here the participant is enough.
    pub(crate) fn number(&self) -> u64 {
        0
    }

    /// Takes out all wake-ups.
    pub(crate) fn empty(&self) {
        let mut bytes = [0; 64];
        while matches!((&self.0).read(&mut bytes), Ok(count) if count == bytes.len()) {}
    }
}

impl AsFd for Wakeups {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Makes the pipe of `participant` readable.
pub(crate) fn wake(segment: Option<&Path>, participant: usize, _: u64) {
    let Some(segment) = segment else { return };
    // A missing pipe means that its owner has left.
    if let Ok(pipe) = open(&Folder::of(segment).file(participant, ENDING)) {
        // If it is full, it is readable.
        _ = (&pipe).write(&[0]);
    }
}

/// Removes the pipe of `participant`. The caller has its lock.
pub(crate) fn remove_wakeups(segment: Option<&Path>, participant: usize) {
    if let Some(segment) = segment {
        // If it fails, it is left to the next participant with this number.
        _ = fs::remove_file(Folder::of(segment).file(participant, ENDING));
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    options.custom_flags(libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(path)?;
    if file.metadata()?.file_type().is_fifo() {
        Ok(file)
    } else {
        Err(ErrorKind::InvalidInput.into())
    }
}
