//! Answers [`ask`](crate::ask) in a thread of its own, which takes no lock that a thread may hold
//! while it waits. So it answers while every worker is blocked.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Once;
use std::thread;

use crate::client::{Answer, LIMIT, path};
use crate::reader::judged;

/// Opens this process's socket and answers on it until the process ends. Further calls do nothing.
///
/// # Errors
///
/// If the socket or its thread cannot be made.
pub fn serve() -> io::Result<()> {
    static ONCE: Once = Once::new();
    let mut result = Ok(());
    ONCE.call_once(|| result = start());
    result
}

/// Does what [`serve`] does if the environment has `BLITZ_INSPECT=1`. An error is printed. A
/// runtime calls this when it is built; a program without one calls it itself.
pub fn serve_if_asked() {
    if std::env::var_os("BLITZ_INSPECT").is_some_and(|value| value == "1") {
        if let Err(error) = serve() {
            eprintln!("blitz-io: cannot open the socket for `blitz why`: {error}");
        }
    }
}

fn start() -> io::Result<()> {
    blitz_io_core::inspect::keep_time();
    let program = std::env::current_exe().unwrap_or_default();
    let name = program
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let path = path(std::process::id(), &name)?;
    // A process with this number may have left one.
    _ = fs::remove_file(&path);
    let listener = UnixListener::bind(&path)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
    thread::Builder::new()
        .name("blitz-inspect".into())
        .spawn(move || {
            for stream in listener.incoming() {
                // A client that goes away, or is another user's, is no concern of the program's.
                _ = stream.and_then(answer);
            }
        })?;
    Ok(())
}

fn answer(mut stream: UnixStream) -> io::Result<()> {
    // SAFETY: the call has no preconditions.
    if peer(&stream)? != unsafe { libc::geteuid() } {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))?;
    // `list` only connects.
    if stream.read(&mut [0])? == 0 {
        return Ok(());
    }
    let (snapshot, findings) = judged();
    let text = serde_json::to_vec(&Answer { snapshot, findings })?;
    stream.write_all(&text)
}

/// The user of the process at the other end.
#[cfg(any(target_os = "linux", target_os = "android"))]
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
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn peer(stream: &UnixStream) -> io::Result<libc::uid_t> {
    let (mut user, mut group) = (0, 0);
    // SAFETY: the descriptor is open, and the pointers are to values that the call may write.
    if unsafe { libc::getpeereid(stream.as_raw_fd(), &raw mut user, &raw mut group) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(user)
}
