//! The parts for macOS.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::{Process, uninterrupted};

pub(super) const MAP_FLAGS: libc::c_int = libc::MAP_SHARED;

/// Makes the file `length` bytes long, with room for all of it.
pub(super) fn reserve(file: &File, length: libc::off_t) -> io::Result<()> {
    let mut store = libc::fstore_t {
        fst_flags: libc::F_ALLOCATEALL,
        fst_posmode: libc::F_PEOFPOSMODE,
        fst_offset: 0,
        fst_length: length,
        fst_bytesalloc: 0,
    };
    uninterrupted(|| {
        // SAFETY: the descriptor is open and `store` is a `fstore_t`.
        match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_PREALLOCATE, &mut store) } {
            -1 => Err(io::Error::last_os_error()),
            _ => file.set_len(length as u64),
        }
    })
}

/// There is no call for this: pages are mapped at the first access.
pub(super) fn populate(_: NonNull<u8>, _: usize) {}

/// Returns where the segments of `user` are: in the user's own directory, which the system
/// does not clean while it runs.
pub(super) fn directory_of(user: libc::uid_t) -> PathBuf {
    let mut path = vec![0_u8; libc::PATH_MAX as usize];
    // SAFETY: the length is that of `path`.
    let len = unsafe {
        libc::confstr(
            libc::_CS_DARWIN_USER_CACHE_DIR,
            path.as_mut_ptr().cast(),
            path.len(),
        )
    };
    if len == 0 || len > path.len() {
        return PathBuf::from(format!("/tmp/blitz-io-{user}"));
    }
    // Remove the zero at the end.
    path.truncate(len - 1);
    PathBuf::from(std::ffi::OsString::from_vec(path)).join("blitz-io")
}

/// There is one directory, whatever the environment.
pub(super) fn directories_of(_: libc::uid_t) -> Vec<PathBuf> {
    Vec::new()
}

/// Returns the time since a fixed moment.
pub(crate) fn coarse_time() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// Returns the process that has this number, if there is one.
pub(crate) fn process(pid: u32) -> Option<Process> {
    let number = i32::try_from(pid).ok()?;
    // SAFETY: all zeros is a valid `proc_bsdinfo`.
    let mut found: libc::proc_bsdinfo = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::proc_bsdinfo>() as libc::c_int;
    let place = std::ptr::from_mut(&mut found).cast();
    // SAFETY: `size` is the size of `found`.
    let filled = unsafe { libc::proc_pidinfo(number, libc::PROC_PIDTBSDINFO, 0, place, size) };
    (filled == size).then_some(Process {
        pid,
        started: found.pbi_start_tvsec * 1_000_000 + found.pbi_start_tvusec,
    })
}
