//! Linux, Android, macOS and FreeBSD: a segment is a mapped file.
//!
//! Each system has a file for the parts that differ (`platform`: `MAP_FLAGS`, `reserve`,
//! `populate`, `directory_of`, `directories_of`, `coarse_time` and `process`). The locks,
//! the wake-ups of a participant, and the descriptor that a runtime waits for have two
//! files each, of which a system uses one.

#[cfg(any(
    target_os = "macos",
    target_os = "freebsd",
    feature = "lock-files",
    feature = "fifo-doorbells"
))]
mod folder;
mod forks;
#[cfg_attr(
    any(target_os = "freebsd", feature = "lock-files"),
    path = "lock_files.rs"
)]
#[cfg_attr(
    not(any(target_os = "freebsd", feature = "lock-files")),
    path = "record_locks.rs"
)]
mod locks;
#[cfg_attr(any(target_os = "linux", target_os = "android"), path = "linux.rs")]
#[cfg_attr(target_os = "macos", path = "macos.rs")]
#[cfg_attr(target_os = "freebsd", path = "freebsd.rs")]
mod platform;
#[cfg_attr(any(target_os = "linux", target_os = "android"), path = "epoll.rs")]
#[cfg_attr(any(target_os = "macos", target_os = "freebsd"), path = "kqueue.rs")]
mod poll_set;
#[cfg_attr(
    any(target_os = "macos", target_os = "freebsd", feature = "fifo-doorbells"),
    path = "wakeups_fifo.rs"
)]
#[cfg_attr(
    not(any(target_os = "macos", target_os = "freebsd", feature = "fifo-doorbells")),
    path = "wakeups_socket.rs"
)]
mod wakeups;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use self::forks::OwnFile;
use self::locks::Locks;
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use self::platform::is_sealed;
pub(crate) use self::platform::{coarse_time, process};
pub(crate) use self::poll_set::PollSet;
pub(crate) use self::wakeups::{Wakeups, remove_wakeups, wake};
use super::{Access, Process};
use crate::api::error::Error;

/// Returns an error if segments cannot be shared on this system.
pub(crate) fn supported() -> Result<(), Error> {
    if blitz_io_futex::system::supports_shared() {
        Ok(())
    } else {
        Err(Error::Unsupported)
    }
}

/// The file of a segment, opened for one participant.
#[derive(Debug)]
pub(crate) struct SegmentFile {
    file: OwnFile,
    locks: Locks,
}

impl SegmentFile {
    /// `path` is `None` for a file without a name.
    fn new(open: impl FnMut() -> io::Result<File>, path: Option<&Path>) -> io::Result<Self> {
        Ok(Self {
            file: OwnFile::open(open)?,
            locks: Locks::new(path),
        })
    }

    /// Opens the file at `path`. With `create`, makes it if it does not exist.
    pub(crate) fn open(path: &Path, create: Option<u32>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        options.custom_flags(libc::O_CLOEXEC | libc::O_NOFOLLOW);
        let open = || {
            let file = match create {
                Some(mode) => open_or_make(path, &options, mode)?,
                None => options.open(path)?,
            };
            if file.metadata()?.is_file() {
                return Ok(file);
            }
            Err(io::Error::new(
                ErrorKind::InvalidInput,
                "not a regular file",
            ))
        };
        Self::new(open, Some(path))
    }

    /// Returns the length of the file in bytes.
    pub(crate) fn size(&self) -> io::Result<u64> {
        Ok(self.file.get().metadata()?.len())
    }

    /// Returns which users may use the file.
    pub(crate) fn access(&self) -> io::Result<Access> {
        let found = self.file.get().metadata()?;
        Ok(Access {
            user: found.uid(),
            mode: found.mode() & 0o777,
            links: found.nlink(),
        })
    }

    /// Sets the permission bits, also those that the process's mask took away from the mode
    /// of [`open`](Self::open).
    pub(crate) fn set_mode(&self, mode: u32) -> io::Result<()> {
        let permissions = fs::Permissions::from_mode(mode);
        self.file.get().set_permissions(permissions)
    }

    /// Fills the file with `size` zero bytes and reserves memory for each of them, so that
    /// no later access can fail.
    pub(crate) fn allocate(&self, size: usize) -> io::Result<()> {
        let length =
            libc::off_t::try_from(size).map_err(|_| io::Error::from(ErrorKind::FileTooLarge))?;
        if is_too_long(size)? {
            // The kernel would end the process (`SIGXFSZ`).
            return Err(ErrorKind::FileTooLarge.into());
        }
        platform::reserve(self.file.get(), length)
    }

    /// Reads bytes from `offset`, all of which must exist.
    pub(crate) fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.get().read_exact_at(bytes, offset)
    }

    /// Returns `true` if there is memory for the whole file.
    pub(crate) fn is_allocated(&self) -> io::Result<bool> {
        let found = self.file.get().metadata()?;
        Ok(found.blocks().saturating_mul(512) >= found.len())
    }

    /// Returns `true` if `path` names this very file.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        match (self.file.get().metadata(), fs::symlink_metadata(path)) {
            (Ok(own), Ok(there)) => own.dev() == there.dev() && own.ino() == there.ino(),
            _ => false,
        }
    }

    /// Takes the lock on `byte`, unless another participant has it.
    pub(crate) fn try_lock(&self, byte: usize) -> io::Result<bool> {
        self.locks.try_lock(self.file.get(), byte)
    }

    /// Gives the lock on `byte` back.
    pub(crate) fn unlock(&self, byte: usize) {
        self.locks.unlock(self.file.get(), byte);
    }

    /// Returns `true` if another participant has a lock on any of `count` bytes from `first`.
    pub(crate) fn is_locked(&self, first: usize, count: usize) -> io::Result<bool> {
        self.locks.is_locked(self.file.get(), first, count)
    }

    /// Maps the first `size` bytes, which must exist. This file must not have locks: see
    /// `forks.rs`.
    pub(crate) fn map(&self, size: usize) -> io::Result<Mapping> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let fd = self.file.get().as_raw_fd();
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                protection,
                platform::MAP_FLAGS,
                fd,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Mapping { base, size })
    }
}

/// Opens the file at `path` with `options`, and makes it if it does not exist.
///
/// A file that exists is opened without `O_CREAT`: with it, Linux may refuse a file of
/// another user in a sticky directory (`fs.protected_regular`).
fn open_or_make(path: &Path, options: &OpenOptions, mode: u32) -> io::Result<File> {
    let mut making = options.clone();
    making.create_new(true).mode(mode);
    // Each further turn means that another process has made the file and removed it.
    loop {
        match options.open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            other => return other,
        }
        match making.open(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            other => return other,
        }
    }
}

/// A mapped file.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    size: usize,
}

// SAFETY: the value is an address and a size; any thread may unmap it.
unsafe impl Send for Mapping {}
// SAFETY: through a `&Mapping`, threads only read the address and the size, and ask the
// kernel to map the pages.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Maps all pages now, where the system can, so that the kernel does not interrupt a
    /// later access.
    pub(crate) fn populate(&self) {
        platform::populate(self.base, self.size);
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and no borrow of it remains.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.size) };
    }
}

/// Removes the segment at `path`. The caller has the membership lock.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    #[cfg(any(
        target_os = "macos",
        target_os = "freebsd",
        feature = "lock-files",
        feature = "fifo-doorbells"
    ))]
    folder::remove(path);
    fs::remove_file(path)
}

/// Returns `true` if this process may not make a file of this size.
fn is_too_long(size: usize) -> io::Result<bool> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: a place for the result.
    match unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } {
        0 if limit.rlim_cur == libc::RLIM_INFINITY => Ok(false),
        0 => Ok(size as libc::rlim_t > limit.rlim_cur),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Calls `call` again as long as a signal interrupts it.
fn uninterrupted<R>(mut call: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Returns the user on whose behalf this process runs.
pub(crate) fn user() -> u32 {
    // SAFETY: it cannot fail.
    unsafe { libc::geteuid() }
}

/// Returns other directories where processes of this user may look for segments, if their
/// environment differs from that of this process, which uses `own`.
pub(crate) fn other_directories(own: &Path) -> Vec<PathBuf> {
    let mut others = platform::directories_of(user());
    others.retain(|path| path != own && check_directory(path).is_ok());
    others
}

/// Returns the directory of this user's segments, unless a builder sets another. Makes it
/// if it is missing.
pub(crate) fn user_directory() -> Result<PathBuf, Error> {
    let path = platform::directory_of(user());
    match DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(Error::from_io("create the directory", &path, error))
        }
        _ => check_directory(&path).map(|()| path),
    }
}

/// Refuses a directory in which another user could replace a file of this user. Where the
/// directory is sticky, others can add files, which `Trust` refuses.
pub(crate) fn check_directory(path: &Path) -> Result<(), Error> {
    let found = fs::symlink_metadata(path)
        .map_err(|error| Error::from_io("look at the directory", path, error))?;
    let reason = if !found.is_dir() {
        "it is not a directory"
    } else if found.uid() != user() && found.uid() != 0 {
        "it belongs to another user"
    } else if found.mode() & 0o022 != 0 && found.mode() & 0o1000 == 0 {
        "other users may replace files in it; remove that permission, or set the sticky bit"
    } else {
        return Ok(());
    };
    Err(Error::Directory {
        path: path.to_owned(),
        reason,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_call_is_repeated() {
        let mut results = [
            Err(ErrorKind::Interrupted),
            Err(ErrorKind::Interrupted),
            Ok(7),
        ]
        .into_iter();
        let result = uninterrupted(|| results.next().unwrap().map_err(io::Error::from));
        assert_eq!(result.unwrap(), 7);
        assert!(uninterrupted(|| Err::<(), _>(ErrorKind::StorageFull.into())).is_err());
    }
}
