//! Asks a process for its waits, through its socket in the user's runtime directory.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::findings::Finding;
use crate::snapshot::Snapshot;

/// How long each side waits for the other one.
pub(crate) const LIMIT: Duration = Duration::from_secs(5);

/// The answer of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// Its waits.
    pub snapshot: Snapshot,
    /// Their judgement.
    pub findings: Vec<Finding>,
}

/// Returns the folder of the sockets, which only this user can enter, and creates it if need be.
///
/// # Errors
///
/// If it cannot be created, or belongs to another user, or others may enter it.
pub fn directory() -> io::Result<PathBuf> {
    // SAFETY: the call has no preconditions.
    let user = unsafe { libc::geteuid() };
    let path = match std::env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty()) {
        Some(path) => PathBuf::from(path).join("blitz-io"),
        None => std::env::temp_dir().join(format!("blitz-io-{user}")),
    };
    match fs::DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = fs::symlink_metadata(&path)?;
    if !found.is_dir() || found.uid() != user || found.mode() & 0o077 != 0 {
        let message = format!("{} is not a folder of this user alone", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    Ok(path)
}

/// Returns the processes that have a socket and live, with their names, in ascending order.
///
/// # Errors
///
/// If the folder cannot be read.
pub fn list() -> io::Result<Vec<(u32, String)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory()?)? {
        let socket = entry?.path();
        let name = socket.file_stem().and_then(OsStr::to_str);
        let Some((pid, name)) = name.and_then(|name| name.split_once('-')) else {
            continue;
        };
        if let Ok(pid) = pid.parse::<u32>() {
            if UnixStream::connect(&socket).is_ok() {
                found.push((pid, name.to_owned()));
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The socket of a process.
pub(crate) fn path(pid: u32, name: &str) -> io::Result<PathBuf> {
    Ok(directory()?.join(format!("{pid}-{name}.sock")))
}

/// Asks a process, which [`list`] has named.
///
/// # Errors
///
/// If the process cannot be reached, belongs to another user, or does not answer in five seconds.
pub fn ask(pid: u32, name: &str) -> io::Result<Answer> {
    let mut stream = UnixStream::connect(path(pid, name)?)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.write_all(b"?")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text)?)
}
