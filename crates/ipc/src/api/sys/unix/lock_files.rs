//! Locks on whole files (`flock`), for a system whose kernel has no locks on single bytes
//! that belong to an open file description: FreeBSD. Locks that belong to a process would
//! not do: the kernel drops them whenever the process closes any descriptor of the file.
//!
//! Byte 0 of a segment is the lock on its file. Each other byte is the lock on a separate
//! file (`folder.rs`), made when it is first locked. Its owner keeps the file open, and the
//! kernel drops the lock with the last descriptor of that description, like the locks of
//! `record_locks.rs`.
//!
//! A participant that *takes* a lock takes it exclusively, and one that *asks* about it
//! takes it shared. So those that ask do not see each other. A participant that takes a
//! lock while another one asks fails, as if there was an owner, and tries again: see
//! `Endpoint::join` and the looks.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::folder::Folder;
use super::forks::OwnFile;

/// The lock on the segment's own file.
const WHOLE: usize = 0;
/// The ending of the lock files' names.
const ENDING: &str = "lock";

/// The locks that belong to one opening of a segment.
#[derive(Debug)]
pub(super) struct Locks {
    /// `None` for a segment without a name.
    folder: Option<Folder>,
    held: Mutex<Vec<(usize, OwnFile)>>,
}

impl Locks {
    pub(super) fn new(segment: Option<&Path>) -> Self {
        Self {
            folder: segment.map(Folder::of),
            held: Mutex::new(Vec::new()),
        }
    }

    fn held(&self) -> MutexGuard<'_, Vec<(usize, OwnFile)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn try_lock(&self, file: &File, byte: usize) -> io::Result<bool> {
        if byte == WHOLE {
            return lock(file, libc::LOCK_EX);
        }
        let own = OwnFile::open(|| self.open_or_make(file, byte))?;
        let locked = lock(own.get(), libc::LOCK_EX)?;
        if locked {
            self.held().push((byte, own));
        }
        Ok(locked)
    }

    pub(super) fn unlock(&self, file: &File, byte: usize) {
        if byte == WHOLE {
            return give_back(file);
        }
        self.held().retain(|(held, own)| {
            if *held == byte {
                give_back(own.get());
            }
            *held != byte
        });
    }

    /// Returns `true` if another participant has one of the locks. Only for locks of participants.
    pub(super) fn is_locked(&self, _: &File, first: usize, count: usize) -> io::Result<bool> {
        let folder = self.folder()?;
        for byte in first..first + count {
            if self.held().iter().any(|(held, _)| *held == byte) {
                continue;
            }
            match OwnFile::open(|| open(&folder.file(byte, ENDING))) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                other => {
                    let asking = other?;
                    if !lock(asking.get(), libc::LOCK_SH)? {
                        return Ok(true);
                    }
                    give_back(asking.get());
                }
            }
        }
        Ok(false)
    }

    fn folder(&self) -> io::Result<&Folder> {
        let folder = self.folder.as_ref();
        folder.ok_or_else(|| ErrorKind::Unsupported.into())
    }

    fn open_or_make(&self, segment: &File, byte: usize) -> io::Result<File> {
        let folder = self.folder()?;
        let path = folder.file(byte, ENDING);
        match open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            other => return other,
        }
        let mode = folder.make(segment)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(mode);
        options.custom_flags(libc::O_CLOEXEC | libc::O_NOFOLLOW);
        match options.open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => open(&path),
            Err(error) => Err(error),
            Ok(file) => {
                file.set_permissions(Permissions::from_mode(mode))?;
                Ok(file)
            }
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    options.custom_flags(libc::O_CLOEXEC | libc::O_NOFOLLOW);
    options.open(path)
}

fn lock(file: &File, kind: libc::c_int) -> io::Result<bool> {
    loop {
        // SAFETY: the descriptor is open.
        if unsafe { libc::flock(file.as_raw_fd(), kind | libc::LOCK_NB) } == 0 {
            return Ok(true);
        }
        match io::Error::last_os_error() {
            error if error.kind() == ErrorKind::Interrupted => {}
            error if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            error => return Err(error),
        }
    }
}

/// Closing the file would not do: a process that is just being started may have it, too.
fn give_back(file: &File) {
    // SAFETY: the descriptor is open.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_UN) };
}
