//! Which files a process joins. A process that may write to a segment can change every
//! message, and ends all participants if it makes the file shorter (`SIGBUS`). So a
//! participant refuses a file
//!
//! * that belongs to another user, unless the program has named that user,
//! * that more users may write to than the program has said with the mode, and
//! * that has a second name, which another user may have given it.
//!
//! The opened file is checked, and not its name, so no other user can replace it in between.
//! A symbolic link is not followed.

use std::path::Path;

use crate::api::error::Error;
use crate::api::sys::{self, SegmentFile};

/// The files that a process accepts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trust {
    /// The permissions that the segment has if this process makes it.
    pub(crate) mode: u32,
    /// Another user whose segment may be joined.
    pub(crate) owner: Option<u32>,
}

/// The users that may write to a file, apart from its owner.
const OTHERS_WRITE: u32 = 0o022;

impl Trust {
    pub(crate) fn check(self, file: &SegmentFile, path: &Path) -> Result<(), Error> {
        let found = file
            .access()
            .map_err(|error| Error::from_io("look at", path, error))?;
        let (user, mode) = (found.user, found.mode);
        let reason = if user != sys::user() && Some(user) != self.owner {
            format!("it belongs to user {user}; if you trust that user, say so (`allow_owner`)")
        } else if mode & OTHERS_WRITE & !self.mode != 0 {
            format!(
                "other users may write to it: its mode is {mode:o}; if you trust them, ask for \
                 that mode"
            )
        } else if found.links > 1 {
            "it has a second name, which another user may have given it".to_owned()
        } else {
            return Ok(());
        };
        Err(Error::Untrusted {
            path: path.to_owned(),
            reason,
        })
    }
}

/// Returns the error if `path` is a symbolic link, which the system has refused to open.
pub(crate) fn is_link(path: &Path) -> Option<Error> {
    path.is_symlink().then(|| Error::Untrusted {
        path: path.to_owned(),
        reason: "it is a symbolic link, which is not followed: it could lead to a file that \
                 other users change; use the directory of the file itself, or remove the link"
            .to_owned(),
    })
}
