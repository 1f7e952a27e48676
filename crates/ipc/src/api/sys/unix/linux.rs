//! The parts for Linux and Android.

use std::ffi::{CString, OsStr};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::time::Duration;

use blitz_io_core::nanos_of;

use super::{Process, SegmentFile, uninterrupted};

pub(super) const MAP_FLAGS: libc::c_int = libc::MAP_SHARED;

/// Makes the file `length` bytes long, with memory for all of it.
///
/// It is one call, and not one for each part: the kernel refuses at once what can never
/// fit, and would otherwise use up all memory first.
pub(super) fn reserve(file: &File, length: libc::off_t) -> io::Result<()> {
    uninterrupted(|| {
        // SAFETY: the descriptor is open.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) } {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    })
}

/// Maps all pages. Linux before 5.14 maps them at the first access.
pub(super) fn populate(base: NonNull<u8>, size: usize) {
    // SAFETY: the mapping exists; its contents do not change.
    unsafe { libc::madvise(base.as_ptr().cast(), size, libc::MADV_POPULATE_WRITE) };
}

/// Returns where the segments of `user` are.
pub(super) fn directory_of(user: libc::uid_t) -> PathBuf {
    let base = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    match base.filter(|base| base.is_absolute() && is_tmpfs(base)) {
        Some(base) => base.join("blitz-io"),
        None => without_runtime_directory(user),
    }
}

/// Returns where they usually are, with and without `XDG_RUNTIME_DIR`.
pub(super) fn directories_of(user: libc::uid_t) -> Vec<PathBuf> {
    let usual = PathBuf::from(format!("/run/user/{user}/blitz-io"));
    vec![usual, without_runtime_directory(user)]
}

fn without_runtime_directory(user: libc::uid_t) -> PathBuf {
    PathBuf::from(format!("/dev/shm/blitz-io-{user}"))
}

fn is_tmpfs(path: &Path) -> bool {
    let Ok(path) = CString::new(OsStr::as_bytes(path.as_os_str())) else {
        return false;
    };
    // SAFETY: all zeros is a valid `statfs`.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: a C string, and a place for the result.
    let result = unsafe { libc::statfs(path.as_ptr(), &mut found) };
    // The two have one type with glibc, and two with musl.
    result == 0 && found.f_type as u64 == libc::TMPFS_MAGIC as u64
}

/// Returns the time since a fixed moment, exact to a few milliseconds, from a clock that
/// costs next to nothing.
pub(crate) fn coarse_time() -> Duration {
    Duration::from_nanos(nanos_of(libc::CLOCK_MONOTONIC_COARSE))
}

/// Returns the process that has this number, if there is one.
pub(crate) fn process(pid: u32) -> Option<Process> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything; the 20th field after it is the start.
    let (_, rest) = text.rsplit_once(')')?;
    let started = rest.split_ascii_whitespace().nth(19)?.parse().ok()?;
    Some(Process { pid, started })
}

/// Segments without a name.
impl SegmentFile {
    /// Makes a file without a name, whose size cannot be changed once it is
    /// [`seal`](Self::seal)ed.
    pub(crate) fn anonymous() -> io::Result<Self> {
        let make = || {
            let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
            // SAFETY: the name is a C string.
            let fd = unsafe { libc::memfd_create(c"blitz-io-ipc".as_ptr(), flags) };
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: it has just been made, and this is its only owner.
            Ok(unsafe { File::from_raw_fd(fd) })
        };
        Self::new(make, None)
    }

    /// Forbids changes of the size. Files that have a name cannot be sealed.
    pub(crate) fn seal(&self) -> io::Result<()> {
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: the descriptor is open.
        match unsafe { libc::fcntl(self.file.get().as_raw_fd(), libc::F_ADD_SEALS, seals) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Opens the same file again, so that its locks are separate. The caller has seen that
    /// its size [`is_sealed`]: it is a file of memory, which may be opened.
    pub(crate) fn reopen(fd: BorrowedFd<'_>) -> io::Result<Self> {
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        options.custom_flags(libc::O_CLOEXEC);
        Self::new(|| options.open(&path), None)
    }

    /// Returns the descriptor, to make a copy of it.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.get().as_fd()
    }
}

/// Returns `true` if the size of the file is sealed.
pub(crate) fn is_sealed(fd: BorrowedFd<'_>) -> bool {
    // SAFETY: the descriptor is open.
    let seals = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) };
    let both = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;
    seals >= 0 && seals & both == both
}
