//! Files of single participants, on systems that need them: in the folder
//! `NAME.participants` beside the segment, made when the first is needed. In it, `N.lock`
//! is the file of participant N's lock (`lock_files.rs`), and `N.doorbell` the pipe of its
//! doorbell (`wakeups_fifo.rs`).
//!
//! The folder is *removed* with the segment, before it and under the membership lock. At
//! that time no participant is alive that could use a file in it, and a process that may
//! join later has none of them open. If a remover is killed, it leaves the segment, and the
//! next participant removes it.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
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

    /// Makes the folder if it is missing. Returns the mode for files in it: the users that
    /// can use the segment can use them.
    pub(super) fn make(&self, segment: &File) -> io::Result<u32> {
        let segment = segment.metadata()?;
        let mode = segment.permissions().mode() & 0o666;
        // Users that may read may also search.
        let searched = mode | (mode & 0o444) >> 2;
        match DirBuilder::new().mode(searched).create(&self.0) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            // Where others may add files, one of them may have made it.
            Err(_) => {
                let found = fs::symlink_metadata(&self.0)?;
                if !found.is_dir() || found.uid() != segment.uid() {
                    return Err(ErrorKind::PermissionDenied.into());
                }
            }
            // Sets the bits that the process's mask took away.
            Ok(()) => fs::set_permissions(&self.0, fs::Permissions::from_mode(searched))?,
        }
        Ok(mode)
    }
}

/// Removes the folder of `segment` and everything in it. No participant uses it.
pub(super) fn remove(segment: &Path) {
    // If it fails, it is left to the next participant.
    _ = fs::remove_dir_all(Folder::of(segment).0);
}
