//! The entries of a directory as a stream.

use std::io;

use super::wrapper::wrapper;
use crate::fs::{DirEntry, ReadDir};

wrapper! {
    /// A stream of the entries of a directory, from [`fs::read_dir`](crate::fs::read_dir).
    ///
    /// # Examples
    ///
    /// With `StreamExt` of the crate `futures-util`:
    ///
    /// ```
    /// use blitz_io::fs;
    /// use blitz_io::stream::wrappers::ReadDirStream; // was: tokio_stream::wrappers
    /// use futures_util::TryStreamExt;
    ///
    /// # blitz_io::runtime::Runtime::new()?.block_on(async {
    /// let entries = ReadDirStream::new(fs::read_dir("src").await?);
    /// let names: Vec<_> = entries.map_ok(|entry| entry.file_name()).try_collect().await?;
    /// assert!(names.iter().any(|name| name == "lib.rs"));
    /// # Ok::<(), std::io::Error>(())
    /// # })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ReadDirStream, ReadDir, read_dir,
    fn(read_dir, context) -> io::Result<DirEntry> {
        read_dir.poll_next_entry(context).map(Result::transpose)
    }
}
