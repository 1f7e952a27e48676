//! Locks on single bytes of a segment's file that belong to an open file description
//! (`F_OFD_SETLK`): Linux and macOS.
//!
//! The kernel drops them with the last descriptor of their description, so at the latest
//! when the last thread of a killed process has ended. Each participant opens the file
//! itself, so participants of one process exclude each other, too.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::path::Path;

/// The locks of one open file description. All of their state is in the kernel.
#[derive(Debug)]
pub(super) struct Locks;

impl Locks {
    pub(super) fn new(_: Option<&Path>) -> Self {
        Self
    }

    pub(super) fn try_lock(&self, file: &File, byte: usize) -> io::Result<bool> {
        match control(file, libc::F_OFD_SETLK, range(libc::F_WRLCK as _, byte, 1)) {
            Ok(_) => Ok(true),
            Err(error) => match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EACCES) => Ok(false),
                _ => Err(error),
            },
        }
    }

    pub(super) fn unlock(&self, file: &File, byte: usize) {
        _ = control(file, libc::F_OFD_SETLK, range(libc::F_UNLCK as _, byte, 1));
    }

    pub(super) fn is_locked(&self, file: &File, first: usize, count: usize) -> io::Result<bool> {
        let wanted = range(libc::F_WRLCK as _, first, count);
        let found = control(file, libc::F_OFD_GETLK, wanted)?;
        Ok(found.l_type != libc::F_UNLCK as libc::c_short)
    }
}

fn control(file: &File, command: libc::c_int, mut lock: libc::flock) -> io::Result<libc::flock> {
    loop {
        // SAFETY: the descriptor is open and `lock` is a `flock`.
        match unsafe { libc::fcntl(file.as_raw_fd(), command, &mut lock) } {
            0 => return Ok(lock),
            _ => match io::Error::last_os_error() {
                error if error.kind() == ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
    }
}

fn range(kind: libc::c_short, first: usize, count: usize) -> libc::flock {
    // SAFETY: all zeros is a valid `flock`; `l_pid` must be zero.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = first as libc::off_t;
    lock.l_len = count as libc::off_t;
    lock
}
