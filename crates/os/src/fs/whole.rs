//! Reads of whole files.
//!
//! A thread of the pool opens the file and reads it, but leaves the bytes of a small file to the
//! task, if the system has them in memory. Then the thread that allocates the buffer is the one
//! that uses and frees it. With glibc, buffers that the pool allocates and workers free make the
//! pool's heaps shrink and grow again, with a page fault for every 4 KiB.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::files::{self, File};
use super::nowait;
use crate::blocking::{on_file, on_path, run};

/// Reads a whole file. Reports of waits call the operation `what`.
pub(super) async fn read(what: &'static str, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    match on_path(what, path, open).await? {
        Opened::Small(file, len) => read_small(what, file, len).await,
        Opened::Read(bytes) => Ok(bytes),
    }
}

/// Reads a file whose length is about `len`.
async fn read_small(what: &'static str, mut file: File, len: usize) -> io::Result<Vec<u8>> {
    // The last byte is room for the read that finds the end.
    let mut bytes = Vec::with_capacity(len + 1);
    while let Some(count) = nowait::proceed(|| read_now(&file, &mut bytes)).await {
        if count == 0 {
            return Ok(bytes);
        }
    }
    run(on_file(what, &file), move || {
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    })
    .await
}

enum Opened {
    /// A file that may be read without waiting, and its length.
    Small(File, usize),
    /// The contents of any other.
    Read(Vec<u8>),
}

fn open(path: PathBuf) -> io::Result<Opened> {
    if let Some(read) = files::read_simulated(&path) {
        return read.map(Opened::Read);
    }
    let mut file = File::open(path)?;
    // Files of /proc say that they have no bytes, and cannot be read without waiting.
    let known = files::as_system(&file).and_then(|file| file.metadata().ok());
    let known = known.filter(|known| known.is_file());
    let len = known.map_or(0, |known| known.len() as usize);
    if (1..nowait::MOST).contains(&len) {
        return Ok(Opened::Small(file, len));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Opened::Read(bytes))
}

/// Reads what fits into the buffer as it is, from the file's own position. Returns `None` if that
/// is not possible without waiting, or if the file has more bytes than the buffer has room for.
fn read_now(file: &File, bytes: &mut Vec<u8>) -> Option<usize> {
    let file = files::as_system(file)?;
    let room = bytes.spare_capacity_mut();
    if room.is_empty() {
        return None;
    }
    // SAFETY: it is the buffer's room.
    let count = unsafe { nowait::read(file, room.as_mut_ptr().cast(), room.len(), None) }?;
    // SAFETY: the system has written the bytes.
    unsafe { bytes.set_len(bytes.len() + count) };
    Some(count)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use blitz_io_runtime::runtime::Builder;

    use super::{File, nowait, read, read_small};

    fn contents(len: usize) -> Vec<u8> {
        (0..len).map(|at| (at % 251) as u8).collect()
    }

    #[test]
    fn files_of_any_length_are_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let runtime = Builder::new_current_thread().build().unwrap();
        let most = nowait::MOST;
        for len in [0, 1, 4096, most - 1, most, most + 1, 3_000_000] {
            std::fs::write(&path, contents(len)).unwrap();
            let bytes = runtime.block_on(read("read", &path)).unwrap();
            assert!(bytes == contents(len), "{len}");
        }
        let status = runtime.block_on(read("read", Path::new("/proc/self/status")));
        assert!(status.unwrap().starts_with(b"Name:"));
        let folder = runtime.block_on(read("read", folder.path()));
        assert_eq!(folder.unwrap_err().raw_os_error(), Some(libc::EISDIR));
    }

    /// The file has become longer, or shorter, since its length was looked up.
    #[test]
    fn files_that_change_are_read_to_their_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, contents(10_000)).unwrap();
        let runtime = Builder::new_current_thread().build().unwrap();
        for known in [1, 9_998, 9_999, 10_000, 10_001, 20_000] {
            let file = File::open(&path).unwrap();
            let bytes = runtime.block_on(read_small("read", file, known));
            assert!(bytes.unwrap() == contents(10_000), "{known}");
        }
    }
}
