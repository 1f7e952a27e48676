//! The Unix socket of a process, in the user's runtime directory.

use std::ffi::OsStr;
use std::fs;
use std::io;
#[cfg(feature = "records")]
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
#[cfg(feature = "records")]
use std::os::unix::{fs::PermissionsExt, net::UnixListener};
use std::path::PathBuf;

use crate::protocol::LIMIT;

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

/// Returns the processes that have a socket and live, with their names.
pub(crate) fn list() -> io::Result<Vec<(u32, String)>> {
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
    Ok(found)
}

/// The socket of a process.
fn path(pid: u32, name: &str) -> io::Result<PathBuf> {
    Ok(directory()?.join(format!("{pid}-{name}.sock")))
}

/// Connects to a process, which answers within [`LIMIT`] or not at all.
pub(crate) fn connect(pid: u32, name: &str) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(path(pid, name)?)?;
    stream.set_read_timeout(Some(LIMIT))?;
    Ok(stream)
}

/// This process's socket.
#[cfg(feature = "records")]
pub(crate) struct Listener(UnixListener);

#[cfg(feature = "records")]
impl Listener {
    pub(crate) fn open(name: &str) -> io::Result<Self> {
        let path = path(std::process::id(), name)?;
        // A process with this number may have left one.
        _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        Ok(Self(listener))
    }

    /// Answers the clients of this user, one after the other.
    pub(crate) fn serve(self, answer: fn(&mut UnixStream) -> io::Result<()>) {
        for stream in self.0.incoming() {
            let accepted = stream.and_then(|stream| accept(&stream).map(|()| stream));
            // A client that goes away, or is another user's, is no concern of the program's.
            _ = accepted.and_then(|mut stream| answer(&mut stream));
        }
    }
}

#[cfg(feature = "records")]
fn accept(stream: &UnixStream) -> io::Result<()> {
    // SAFETY: the call has no preconditions.
    if peer(stream)? != unsafe { libc::geteuid() } {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))
}

/// The user of the process at the other end.
#[cfg(all(feature = "records", any(target_os = "linux", target_os = "android")))]
fn peer(stream: &UnixStream) -> io::Result<libc::uid_t> {
    let mut found = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let mut size = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the descriptor is open, and the pointers are to a value of `size` bytes and its size.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut found).cast(),
            &raw mut size,
        )
    };
    if result != 0 || size as usize != size_of::<libc::ucred>() {
        return Err(io::Error::last_os_error());
    }
    Ok(found.uid)
}

/// The user of the process at the other end.
#[cfg(all(
    feature = "records",
    not(any(target_os = "linux", target_os = "android"))
))]
fn peer(stream: &UnixStream) -> io::Result<libc::uid_t> {
    let (mut user, mut group) = (0, 0);
    // SAFETY: the descriptor is open, and the pointers are to values that the call may write.
    if unsafe { libc::getpeereid(stream.as_raw_fd(), &raw mut user, &raw mut group) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(user)
}
