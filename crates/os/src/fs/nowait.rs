//! Reads that need no waiting, because the system has the data in memory: done at once, on
//! the calling thread. Linux reports for each read whether it would have to wait
//! (`RWF_NOWAIT`).

use std::fs::File;
use std::future::poll_fn;
use std::io::Seek;
use std::os::fd::AsRawFd;
use std::task::{Poll, ready};

use blitz_io_core::coop;

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
    // SAFETY: the caller guarantees it.
    let count = unsafe { preadv2(file, to, len, place) }?;
    // Linux 5.9 and 5.10 return 0 before the end of a file, too: see BUGS in preadv2(2).
    (count > 0 || len == 0 || is_at_end(file, offset)).then_some(count)
}

/// Returns whether a file is known to end at this position, or at its own, or before.
///
/// A file that can be read without waiting is on a local file system, which has the metadata
/// of an open file in memory.
fn is_at_end(mut file: &File, offset: Option<u64>) -> bool {
    let place = match offset {
        Some(offset) => Ok(offset),
        None => file.stream_position(),
    };
    let (Ok(place), Ok(known)) = (place, file.metadata()) else {
        return false;
    };
    // Devices report no length.
    known.is_file() && place >= known.len()
}

/// Returns whether the system can return the metadata of a file without waiting.
pub(super) fn knows(file: &File) -> bool {
    let mut byte = 0;
    // SAFETY: there is room for a byte. Behind every end there is nothing to read.
    unsafe { preadv2(file, &mut byte, 1, i64::MAX - 1) == Some(0) }
}

/// Makes the system call. Returns `None` if it fails. The place -1 is the file's own
/// position.
///
/// # Safety
///
/// `len` bytes may be written there.
unsafe fn preadv2(file: &File, to: *mut u8, len: usize, place: i64) -> Option<usize> {
    #[cfg(test)]
    if let Some(answer) = tests::ANSWER.get() {
        return Some(answer);
    }
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::Read;
    use std::os::fd::OwnedFd;

    use blitz_io_aio::{AsyncReadExt, AsyncSeekExt};
    use blitz_io_runtime::runtime::Builder;

    use super::*;

    thread_local! {
        /// The simulated result of every read of this thread; `None` asks the system.
        pub(super) static ANSWER: Cell<Option<usize>> = const { Cell::new(None) };
    }

    /// The system says that a file ends where it does not, as Linux 5.9 and 5.10 did.
    #[test]
    fn a_file_does_not_end_before_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let bytes: Vec<u8> = (0..100_000_u32).map(|at| at as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut file = crate::fs::File::open(&path).await.unwrap();
            ANSWER.set(Some(0));
            let mut read = vec![0; 1000];
            assert_eq!(file.read(&mut read).await.unwrap(), read.len());
            assert!(read == bytes[..1000]);
            file.read_to_end(&mut read).await.unwrap();
            assert!(read == bytes);
            let (result, read) = file.read_at(vec![0; 1000], 99_500).await;
            assert_eq!(result.unwrap(), 500);
            assert!(read[..500] == bytes[99_500..]);
            file.rewind().await.unwrap();
            assert_eq!(file.read(&mut [0; 7]).await.unwrap(), 7);
            assert_eq!(file.metadata().await.unwrap().len(), 100_000);
        });
    }

    /// At the end of a file, the answer needs no other thread.
    #[test]
    fn the_end_of_a_file_is_known() {
        let mut file = tempfile::tempfile().unwrap();
        file.set_len(100).unwrap();
        ANSWER.set(Some(0));
        let at = |file: &File, offset| {
            let mut byte = 0;
            // SAFETY: there is room for a byte.
            unsafe { read(file, &mut byte, 1, offset) }
        };
        assert_eq!(at(&file, Some(99)), None);
        assert_eq!(at(&file, Some(100)), Some(0));
        assert_eq!(at(&file, Some(101)), Some(0));
        assert_eq!(at(&file, None), None);
        file.read_exact(&mut [0; 100]).unwrap();
        assert_eq!(at(&file, None), Some(0));
        let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert_eq!(at(&OwnedFd::from(socket).into(), None), None);
    }
}
