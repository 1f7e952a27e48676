//! The Unix socket of a process, in the user's runtime directory.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::protocol::LIMIT;

/// Returns the folder of the sockets, which only this user can enter, and creates it if need be.
///
/// # Errors
///
/// Fails if the directory cannot be created, or belongs to another user, or others may enter it.
pub fn directory() -> io::Result<PathBuf> {
    // SAFETY: the call has no preconditions.
    let user = unsafe { libc::geteuid() };
    let path = match runtime_directory() {
        Some(path) => path.join("blitz-io"),
        None => std::env::temp_dir().join(format!("blitz-io-{user}")),
    };
    match fs::DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if !is_folder_of(&path, user) {
        let message = format!("{} is not a folder of this user alone", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    Ok(path)
}

/// Returns the value of `XDG_RUNTIME_DIR`.
fn runtime_directory() -> Option<PathBuf> {
    let path = std::env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty());
    path.map(PathBuf::from)
}

/// The folder in which systemd makes that of each user.
const OF_SYSTEMD: &str = "/run/user";

/// Returns `true` if only this user can enter the folder.
fn is_folder_of(path: &Path, user: libc::uid_t) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|found| found.is_dir() && found.uid() == user && found.mode() & 0o077 == 0)
}

/// Returns the folders with the sockets that this user may ask: its own, and for root those of each user, unless it has
/// set `XDG_RUNTIME_DIR` to another folder than the system's.
fn directories() -> io::Result<Vec<PathBuf>> {
    let own = directory()?;
    let mut found = Vec::new();
    let is_usual = runtime_directory().is_none_or(|path| path.starts_with(OF_SYSTEMD));
    // SAFETY: the call has no preconditions.
    if is_usual && unsafe { libc::geteuid() } == 0 {
        let entries = |path: PathBuf| fs::read_dir(path).into_iter().flatten().flatten();
        let of_systemd = entries(OF_SYSTEMD.into()).map(|entry| {
            let user = entry.file_name();
            (user, entry.path().join("blitz-io"))
        });
        let of_temporary = entries(std::env::temp_dir()).filter_map(|entry| {
            let name = entry.file_name();
            let user = name.to_str()?.strip_prefix("blitz-io-")?;
            Some((user.into(), entry.path()))
        });
        for (user, path) in of_systemd.chain(of_temporary) {
            let user = user.to_str().and_then(|user| user.parse().ok());
            if path != own && user.is_some_and(|user| is_folder_of(&path, user)) {
                found.push(path);
            }
        }
    }
    found.insert(0, own);
    Ok(found)
}

/// Returns the processes that have a socket and live, with their names. Removes the sockets of those that
/// have ended.
pub(crate) fn list() -> io::Result<Vec<(u32, String)>> {
    let mut found = Vec::new();
    let folders = directories()?;
    // An error counts only in this user's folder: others may vanish.
    let own = fs::read_dir(&folders[0])?.collect::<io::Result<Vec<_>>>()?;
    let others = folders[1..].iter().flat_map(fs::read_dir).flatten();
    for entry in own.into_iter().chain(others.flatten()) {
        let socket = entry.path();
        let name = socket.file_stem().and_then(OsStr::to_str);
        let Some((pid, name)) = name.and_then(|name| name.split_once('-')) else {
            continue;
        };
        if let Ok(pid) = pid.parse::<u32>() {
            match connect_to(&socket) {
                Ok(_) => found.push((pid, name.to_owned())),
                // It lives, but does not accept: it may be stopped.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    found.push((pid, name.to_owned()));
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    remove_if_dead(pid, &socket);
                }
                Err(_) => {}
            }
        }
    }
    Ok(found)
}

/// Removes a socket that has refused a connection, unless its process exists: some systems refuse also if
/// too many clients wait, and a process makes its socket before it listens.
fn remove_if_dead(pid: u32, socket: &Path) {
    let Ok(pid) = libc::pid_t::try_from(pid) else {
        return;
    };
    // SAFETY: signal 0 is not sent.
    let exists = unsafe { libc::kill(pid, 0) } == 0
        || io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH);
    if !exists {
        // Another process may have removed it.
        _ = fs::remove_file(socket);
    }
}

/// Returns the socket of this process.
#[cfg(feature = "records")]
pub(crate) fn own_path(name: &str) -> io::Result<PathBuf> {
    Ok(path_in(&directory()?, std::process::id(), name))
}

/// Returns the socket of a process. Of a long name, it has the beginning: the system limits its path.
fn path_in(directory: &Path, pid: u32, name: &str) -> PathBuf {
    let rest = format!("/{pid}-.sock").len() + 1;
    let most = MOST_BYTES.saturating_sub(directory.as_os_str().len() + rest);
    let mut end = name.len().min(most);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    directory.join(format!("{pid}-{}.sock", &name[..end]))
}

/// The size of a socket's path, with the 0 at its end.
const MOST_BYTES: usize = {
    // SAFETY: all zeros is a valid address.
    let address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_path.len()
};

/// Connects to a process, whose answer begins within [`LIMIT`] or does not come at all.
pub(crate) fn connect(pid: u32, name: &str) -> io::Result<UnixStream> {
    let folders = directories()?;
    let mut paths = folders.iter().map(|folder| path_in(folder, pid, name));
    // That of this user comes first, and its error counts if there is none.
    let path = paths
        .clone()
        .find(|path| path.exists())
        .or_else(|| paths.next());
    let stream = connect_to(&path.unwrap_or_default())?;
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))?;
    Ok(stream)
}

/// Limits the time of each read from now on. The time is not zero.
pub(crate) fn wait_at_most(stream: &UnixStream, time: Duration) {
    // Some systems refuse it if the other end is closed already, where no read waits.
    _ = stream.set_read_timeout(Some(time));
}

/// Connects without waiting: a process that is stopped has a queue of clients, which may be full. The
/// stream is non-blocking.
fn connect_to(socket: &Path) -> io::Result<UnixStream> {
    // SAFETY: all zeros is a valid address.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let bytes = socket.as_os_str().as_bytes();
    if bytes.len() >= address.sun_path.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in address.sun_path.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    // SAFETY: the call takes numbers only.
    let descriptor = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM, 0) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is a socket, and nothing else has it.
    let stream = unsafe { UnixStream::from_raw_fd(descriptor) };
    // SAFETY: the descriptor is open. A program that this one starts does not inherit it.
    unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    stream.set_nonblocking(true)?;
    let size = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the pointer is to an address of this size.
    if unsafe { libc::connect(stream.as_raw_fd(), (&raw const address).cast(), size) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_process_with_a_long_name_has_a_socket() {
        for name in ["n".repeat(300), "ö".repeat(100)] {
            let path = path_in(&std::env::temp_dir(), std::process::id(), &name);
            let listener = UnixListener::bind(&path).unwrap();
            let connected = connect_to(&path);
            fs::remove_file(&path).unwrap();
            connected.unwrap();
            drop(listener);
        }
    }
}
