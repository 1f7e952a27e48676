//! Linux and Android.
//!
//! **Locks.** Open-file-description locks (`F_OFD_SETLK`) on single bytes of the segment's
//! file. The kernel drops them with the last descriptor of their description, so no later
//! than when the last thread of a killed process is gone. Each participant has opened the
//! file anew, so participants of one process exclude each other, too.
//!
//! **Fork.** A child that was forked inherits descriptors, and would keep its parent's locks
//! alive. So each fork closes them in the child (`pthread_atfork`) and counts a generation
//! up; participants of another generation than the process refuse to work.

use std::ffi::{CString, OsStr};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use super::Process;
use crate::error::Error;

/// Whether segments can be shared here.
pub(crate) fn supported() -> Result<(), Error> {
    match blitz_futex::system::supports_shared() {
        true => Ok(()),
        false => Err(Error::Unsupported),
    }
}

/// The file of a segment, opened for one participant.
#[derive(Debug)]
pub(crate) struct SegmentFile {
    /// `None` only while it is dropped.
    file: Option<File>,
    generation: u32,
    registered: Option<usize>,
}

impl SegmentFile {
    fn new(file: File) -> Self {
        watch_forks();
        let registered = register(file.as_raw_fd());
        Self {
            file: Some(file),
            generation: fork_generation(),
            registered,
        }
    }

    fn file(&self) -> &File {
        self.file.as_ref().expect("present until it is dropped")
    }

    /// Opens the file at `path`; `create` makes it if it does not exist.
    pub(crate) fn open(path: &Path, create: Option<u32>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        options.custom_flags(libc::O_CLOEXEC | libc::O_NOFOLLOW);
        if let Some(mode) = create {
            options.create(true).mode(mode);
        }
        let file = options.open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                "not a regular file",
            ));
        }
        Ok(Self::new(file))
    }

    /// A file without a name, whose size nobody can change once it is [`seal`](Self::seal)ed.
    pub(crate) fn anonymous() -> io::Result<Self> {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // SAFETY: the name is a C string.
        let fd = unsafe { libc::memfd_create(c"blitz-ipc".as_ptr(), flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it has just been made and is nobody else's.
        Ok(Self::new(unsafe { File::from_raw_fd(fd) }))
    }

    /// Forbids changes of the size. Files that have a name cannot be sealed.
    pub(crate) fn seal(&self) -> io::Result<()> {
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: the descriptor is open.
        match unsafe { libc::fcntl(self.file().as_raw_fd(), libc::F_ADD_SEALS, seals) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Whether its size is sealed.
    pub(crate) fn is_sealed(&self) -> bool {
        // SAFETY: the descriptor is open.
        let seals = unsafe { libc::fcntl(self.file().as_raw_fd(), libc::F_GET_SEALS) };
        let both = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;
        seals >= 0 && seals & both == both
    }

    /// The same file, opened once more, so that locks are apart.
    pub(crate) fn reopen(fd: BorrowedFd<'_>) -> io::Result<Self> {
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_CLOEXEC)
            .open(path)?;
        Ok(Self::new(file))
    }

    /// The descriptor, for a copy of it.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.file().as_fd()
    }

    /// Bytes of the file.
    pub(crate) fn size(&self) -> io::Result<u64> {
        Ok(self.file().metadata()?.len())
    }

    /// Makes the file `size` bytes of zeros, with memory for each of them: a later access
    /// can not fail.
    pub(crate) fn allocate(&self, size: usize, mode: Option<u32>) -> io::Result<()> {
        let length =
            libc::off_t::try_from(size).map_err(|_| io::Error::from(ErrorKind::FileTooLarge))?;
        if let Some(mode) = mode {
            // What the process's mask took away from the mode of `open`.
            self.file()
                .set_permissions(fs::Permissions::from_mode(mode))?;
        }
        // SAFETY: the descriptor is open.
        match unsafe { libc::posix_fallocate(self.file().as_raw_fd(), 0, length) } {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Whether there is memory for all of it.
    pub(crate) fn is_allocated(&self) -> io::Result<bool> {
        let found = self.file().metadata()?;
        Ok(found.blocks().saturating_mul(512) >= found.len())
    }

    /// Whether `path` names this very file.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        match (self.file().metadata(), fs::symlink_metadata(path)) {
            (Ok(own), Ok(there)) => own.dev() == there.dev() && own.ino() == there.ino(),
            _ => false,
        }
    }

    /// Takes the lock of `byte`, unless another participant has it.
    pub(crate) fn try_lock(&self, byte: usize) -> io::Result<bool> {
        let lock = range(libc::F_WRLCK, byte, 1);
        match self.control(libc::F_OFD_SETLK, lock) {
            Ok(_) => Ok(true),
            Err(error) => match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EACCES) => Ok(false),
                _ => Err(error),
            },
        }
    }

    /// Gives the lock of `byte` back.
    pub(crate) fn unlock(&self, byte: usize) {
        _ = self.control(libc::F_OFD_SETLK, range(libc::F_UNLCK, byte, 1));
    }

    /// Whether another participant has a lock on any of `count` bytes from `first`.
    pub(crate) fn is_locked(&self, first: usize, count: usize) -> io::Result<bool> {
        let found = self.control(libc::F_OFD_GETLK, range(libc::F_WRLCK, first, count))?;
        Ok(i32::from(found.l_type) != libc::F_UNLCK)
    }

    fn control(&self, command: libc::c_int, mut lock: libc::flock) -> io::Result<libc::flock> {
        loop {
            // SAFETY: the descriptor is open and `lock` is a `flock`.
            match unsafe { libc::fcntl(self.file().as_raw_fd(), command, &mut lock) } {
                0 => return Ok(lock),
                _ => match io::Error::last_os_error() {
                    error if error.kind() == ErrorKind::Interrupted => {}
                    error => return Err(error),
                },
            }
        }
    }

    /// Maps the first `size` bytes, which must be there.
    pub(crate) fn map(&self, size: usize) -> io::Result<Mapping> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let fd = self.file().as_raw_fd();
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                protection,
                libc::MAP_SHARED,
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

impl Drop for SegmentFile {
    fn drop(&mut self) {
        let file = self.file.take();
        if self.generation != fork_generation() {
            // The fork closed it; the number may be somebody else's by now.
            if let Some(file) = file {
                _ = std::os::fd::IntoRawFd::into_raw_fd(file);
            }
            return;
        }
        if let Some(index) = self.registered {
            INHERITED[index].store(-1, Ordering::Release);
        }
    }
}

fn range(kind: libc::c_int, first: usize, count: usize) -> libc::flock {
    // SAFETY: all zeros is a `flock`; `l_pid` must be zero.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = first as libc::off_t;
    lock.l_len = count as libc::off_t;
    lock
}

/// A mapped file.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    size: usize,
}

// SAFETY: an address and a size; what is there is shared anyway.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Maps all pages now, so that no access is interrupted by the kernel later. Systems
    /// that are older than Linux 5.14 map them at the first access.
    pub(crate) fn populate(&self) {
        // SAFETY: the mapping is there; its contents do not change.
        unsafe {
            libc::madvise(
                self.base.as_ptr().cast(),
                self.size,
                libc::MADV_POPULATE_WRITE,
            )
        };
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it is this value's mapping, and what borrowed it is gone.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.size) };
    }
}

/// Descriptors that a forked child closes. A fork may find any lock taken by a thread that
/// does not exist in the child, so this is a table of atomics.
static INHERITED: [AtomicI32; 1024] = [const { AtomicI32::new(-1) }; 1024];
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// How many forks lie between this process and the one that loaded this library.
#[inline]
pub(crate) fn fork_generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

fn register(fd: i32) -> Option<usize> {
    INHERITED.iter().position(|slot| {
        slot.compare_exchange(-1, fd, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    })
}

fn watch_forks() {
    static ONCE: Once = Once::new();

    extern "C" fn in_child() {
        GENERATION.fetch_add(1, Ordering::Relaxed);
        for slot in &INHERITED {
            let fd = slot.swap(-1, Ordering::AcqRel);
            if fd >= 0 {
                // SAFETY: it was inherited, and the values that own it do not use it in
                // this process any more.
                unsafe { libc::close(fd) };
            }
        }
    }

    ONCE.call_once(|| {
        // SAFETY: the handler does nothing but atomics and `close`, both of which a child
        // of a threaded process may do.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

/// Where this user's segments are, unless a builder says otherwise. Made if missing.
pub(crate) fn user_directory() -> Result<PathBuf, Error> {
    // SAFETY: it cannot fail.
    let user = unsafe { libc::geteuid() };
    let base = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let path = match base.filter(|base| base.is_absolute() && is_tmpfs(base)) {
        Some(base) => base.join("blitz-io"),
        None => PathBuf::from(format!("/dev/shm/blitz-io-{user}")),
    };
    match DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(Error::from_io("create the directory", &path, error))
        }
        _ => check_directory(&path).map(|()| path),
    }
}

fn is_tmpfs(path: &Path) -> bool {
    let Ok(path) = CString::new(OsStr::as_bytes(path.as_os_str())) else {
        return false;
    };
    // SAFETY: all zeros is a `statfs`.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: a C string, and a place for the result.
    let result = unsafe { libc::statfs(path.as_ptr(), &mut found) };
    result == 0 && found.f_type == libc::TMPFS_MAGIC
}

/// Refuses a directory in which somebody else could swap files.
pub(crate) fn check_directory(path: &Path) -> Result<(), Error> {
    let found = fs::symlink_metadata(path)
        .map_err(|error| Error::from_io("look at the directory", path, error))?;
    // SAFETY: it cannot fail.
    let user = unsafe { libc::geteuid() };
    let reason = if !found.is_dir() {
        "it is not a directory"
    } else if found.uid() != user && found.uid() != 0 {
        "it belongs to another user"
    } else if found.mode() & 0o002 != 0 && found.mode() & 0o1000 == 0 {
        "everybody may replace files in it; remove that permission"
    } else {
        return Ok(());
    };
    Err(Error::Directory {
        path: path.to_owned(),
        reason,
    })
}

/// The process that has this number, if there is one.
pub(crate) fn process(pid: u32) -> Option<Process> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything; the 20th field after it is the start.
    let (_, rest) = text.rsplit_once(')')?;
    let started = rest.split_ascii_whitespace().nth(19)?.parse().ok()?;
    Some(Process { pid, started })
}
