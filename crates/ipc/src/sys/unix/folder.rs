//! Files of single participants, on systems that need some: in the folder `NAME.participants`
//! beside the segment, made when the first is needed. The file of the participant's lock is
//! `N.lock` there (`lock_files.rs`), and the pipe of its doorbell `N.doorbell`
//! (`wakeups_fifo.rs`).
//!
//! The folder is *removed* with the segment, before it and under the membership lock. Nobody
//! who could take part later has a file of it open then, and nobody lives who could ask for a
//! reason. A remover that is killed has left the segment; the next removes it.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The folder of one segment.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn of(segment: &Path) -> Self {
        Self(segment.with_extension("participants"))
    }

    pub(super) fn file(&self, number: usize, ending: &str) -> PathBuf {
        self.0.join(format!("{number}.{ending}"))
    }

    /// Makes the folder if it is missing. Returns the mode for files in it: they can be used
    /// by those that can use the segment.
    pub(super) fn make(&self, segment: &File) -> io::Result<u32> {
        let mode = segment.metadata()?.permissions().mode() & 0o666;
        // Searched by those that may read.
        let searched = mode | (mode & 0o444) >> 2;
        match DirBuilder::new().mode(searched).create(&self.0) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            Err(_) => {}
            // What the process's mask took away.
            Ok(()) => fs::set_permissions(&self.0, fs::Permissions::from_mode(searched))?,
        }
        Ok(mode)
    }
}

/// Removes the folder of `segment` and all that is in it, which nobody uses.
pub(super) fn remove(segment: &Path) {
    // If it fails, it is left to the next.
    _ = fs::remove_dir_all(Folder::of(segment).0);
}
