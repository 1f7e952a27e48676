//! Reads that need no waiting, because the system has the data in memory: done at once, on
//! the calling thread. Linux reports for each read whether it would have to wait
//! (`RWF_NOWAIT`).

use std::fs::File;
use std::future::poll_fn;
use std::os::fd::AsRawFd;
use std::task::{Poll, ready};

use blitz_sync::internals::coop;

/// The most bytes that are copied at once on a worker, which has other tasks: this takes
/// some tens of microseconds. Larger reads go another way.
pub(super) const MOST: usize = 128 * 1024;

/// Reads at a position of a file, or at its own. Returns `None` if that is not possible
/// without waiting, or fails: then the caller has to read another way, which finds out why.
///
/// # Safety
///
/// `len` bytes may be written there.
pub(super) unsafe fn read(
    file: &File,
    to: *mut u8,
    len: usize,
    offset: Option<u64>,
) -> Option<usize> {
    if len > MOST {
        return None;
    }
    let place = match offset {
        Some(offset) => i64::try_from(offset).ok()?,
        None => -1,
    };
    let parts = libc::iovec {
        iov_base: to.cast(),
        iov_len: len,
    };
    // SAFETY: the caller guarantees it. The system call takes the position in two halves,
    // of which 64-bit systems ignore the second.
    let count = unsafe {
        libc::syscall(
            libc::SYS_preadv2,
            file.as_raw_fd(),
            &raw const parts,
            1 as libc::c_ulong,
            place as libc::c_long,
            (place >> 32) as libc::c_long,
            libc::RWF_NOWAIT,
        )
    };
    usize::try_from(count).ok()
}

/// Returns whether the system can return the metadata of a file without waiting. A file
/// that can be read without waiting is on a local file system, which has the metadata of an
/// open file in memory.
pub(super) fn knows(file: &File) -> bool {
    let mut byte = 0;
    // SAFETY: there is room for a byte. Behind every end there is nothing to read.
    unsafe { read(file, &mut byte, 1, Some(i64::MAX as u64 - 1)) == Some(0) }
}

/// Tries something that does not wait, as an operation of a task: after many of them, other
/// tasks get their turn.
pub(super) async fn proceed<T>(mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    poll_fn(|cx| {
        let coop = ready!(coop::poll_proceed(cx));
        let done = attempt();
        if done.is_some() {
            coop.made_progress();
        }
        Poll::Ready(done)
    })
    .await
}
