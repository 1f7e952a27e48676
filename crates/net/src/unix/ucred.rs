//! The credentials of the other end of a Unix socket.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::{gid_t, pid_t, uid_t};

/// The credentials of the process at the other end of a Unix socket.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct UCred {
    pid: Option<pid_t>,
    uid: uid_t,
    gid: gid_t,
}

impl UCred {
    /// Returns the effective user ID.
    #[must_use]
    pub fn uid(&self) -> uid_t {
        self.uid
    }

    /// Returns the effective group ID.
    #[must_use]
    pub fn gid(&self) -> gid_t {
        self.gid
    }

    /// Returns the process ID, or `None` where the system does not report it.
    #[must_use]
    pub fn pid(&self) -> Option<pid_t> {
        self.pid
    }
}

/// Reads an option of a socket into `T`, which must be the type that the system writes
/// there.
#[cfg(not(any(target_os = "dragonfly", target_os = "freebsd")))]
fn option<T>(stream: BorrowedFd<'_>, level: i32, name: i32) -> io::Result<T> {
    let mut value = std::mem::MaybeUninit::<T>::zeroed();
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointers are valid, and `len` holds the size of the value.
    let result = unsafe {
        let value = value.as_mut_ptr().cast();
        libc::getsockopt(stream.as_raw_fd(), level, name, value, &mut len)
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    if len as usize != size_of::<T>() {
        return Err(io::Error::other(
            "the system has told credentials of an unknown form",
        ));
    }
    // SAFETY: the system has filled it.
    Ok(unsafe { value.assume_init() })
}

#[cfg(any(target_os = "linux", target_os = "android", target_os = "openbsd"))]
pub(super) fn of_peer(stream: BorrowedFd<'_>) -> io::Result<UCred> {
    #[cfg(target_os = "openbsd")]
    use libc::sockpeercred as ucred;
    #[cfg(not(target_os = "openbsd"))]
    use libc::ucred;

    let cred: ucred = option(stream, libc::SOL_SOCKET, libc::SO_PEERCRED)?;
    Ok(UCred {
        pid: Some(cred.pid),
        uid: cred.uid,
        gid: cred.gid,
    })
}

#[cfg(target_os = "netbsd")]
pub(super) fn of_peer(stream: BorrowedFd<'_>) -> io::Result<UCred> {
    let cred: libc::unpcbid = option(stream, 0, libc::LOCAL_PEEREID)?;
    Ok(UCred {
        pid: Some(cred.unp_pid),
        uid: cred.unp_euid,
        gid: cred.unp_egid,
    })
}

/// Returns the user and the group, which all BSDs report.
#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_os = "openbsd",
    target_os = "netbsd"
)))]
fn of_peer_without_pid(stream: BorrowedFd<'_>) -> io::Result<UCred> {
    let (mut uid, mut gid) = (0, 0);
    // SAFETY: the pointers are valid.
    match unsafe { libc::getpeereid(stream.as_raw_fd(), &mut uid, &mut gid) } {
        0 => Ok(UCred {
            pid: None,
            uid,
            gid,
        }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(target_vendor = "apple")]
pub(super) fn of_peer(stream: BorrowedFd<'_>) -> io::Result<UCred> {
    let pid: libc::pid_t = option(stream, libc::SOL_LOCAL, libc::LOCAL_PEEREPID)?;
    let cred = of_peer_without_pid(stream)?;
    Ok(UCred {
        pid: Some(pid),
        ..cred
    })
}

#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_os = "openbsd",
    target_os = "netbsd",
    target_vendor = "apple"
)))]
pub(super) fn of_peer(stream: BorrowedFd<'_>) -> io::Result<UCred> {
    of_peer_without_pid(stream)
}
