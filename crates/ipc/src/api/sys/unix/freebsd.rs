//! The parts for FreeBSD.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::time::Duration;

use blitz_io_core::nanos_of;

use super::{Process, uninterrupted};

/// `MAP_NOSYNC`: the kernel need not write dirty pages to the disk.
pub(super) const MAP_FLAGS: libc::c_int = libc::MAP_SHARED | libc::MAP_NOSYNC;

/// Makes the file `length` bytes long, with room for all of it.
pub(super) fn reserve(file: &File, length: libc::off_t) -> io::Result<()> {
    uninterrupted(|| {
        // SAFETY: the descriptor is open.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) } {
            0 => Ok(()),
            // ZFS does not reserve room. Writing zeros is all that can be done there.
            libc::EINVAL | libc::EOPNOTSUPP => write_zeros(file, length as u64),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    })
}

fn write_zeros(file: &File, length: u64) -> io::Result<()> {
    let zeros = [0; 1 << 16];
    let mut at = 0;
    while at < length {
        let part = zeros.len().min((length - at) as usize);
        file.write_all_at(&zeros[..part], at)?;
        at += part as u64;
    }
    Ok(())
}

/// There is no call for this: pages are mapped at the first access.
pub(super) fn populate(_: NonNull<u8>, _: usize) {}

/// Returns where the segments of `user` are.
pub(super) fn directory_of(user: libc::uid_t) -> PathBuf {
    PathBuf::from(format!("/tmp/blitz-io-{user}"))
}

/// There is one directory, whatever the environment.
pub(super) fn directories_of(_: libc::uid_t) -> Vec<PathBuf> {
    Vec::new()
}

/// Returns the time since a fixed moment, exact to a few milliseconds, from a clock that
/// costs next to nothing.
pub(crate) fn coarse_time() -> Duration {
    Duration::from_nanos(nanos_of(libc::CLOCK_MONOTONIC_FAST))
}

/// Returns the process that has this number, if there is one.
pub(crate) fn process(pid: u32) -> Option<Process> {
    let number = libc::c_int::try_from(pid).ok()?;
    let name = [libc::CTL_KERN, libc::KERN_PROC, libc::KERN_PROC_PID, number];
    // SAFETY: all zeros is a valid `kinfo_proc`.
    let mut found: libc::kinfo_proc = unsafe { std::mem::zeroed() };
    let mut size = size_of::<libc::kinfo_proc>();
    // SAFETY: `size` is the size of `found`.
    let result = unsafe {
        libc::sysctl(
            name.as_ptr(),
            name.len() as libc::c_uint,
            std::ptr::from_mut(&mut found).cast(),
            &mut size,
            std::ptr::null(),
            0,
        )
    };
    let started = found.ki_start;
    (result == 0 && size == size_of::<libc::kinfo_proc>()).then_some(Process {
        pid,
        started: started.tv_sec as u64 * 1_000_000 + started.tv_usec as u64,
    })
}
