//! The socket of this process, which exists as long as the process does.
//!
//! * At the end of the process, a function of `atexit` removes its file. That of a process that was killed
//!   is removed by the next [`list`](crate::list), which finds that the process has ended.
//! * A forked child inherits the descriptor, and would take its parent's questions without answering them.
//!   So the child closes it (`pthread_atfork`). A child that wants to answer calls
//!   [`serve`](crate::serve) itself. A fork in another thread, between the two calls that make the socket and
//!   note its number, is not noticed.

use std::ffi::{CString, c_int};
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, Ordering};

use crate::socket::own_path;

const NONE: c_int = -1;

/// The listening descriptor, which a forked child closes.
static DESCRIPTOR: AtomicI32 = AtomicI32::new(NONE);
/// The file, and the process that has made it. Never freed: `exit` may run beside other threads.
static OWN_FILE: AtomicPtr<OwnFile> = AtomicPtr::new(ptr::null_mut());

struct OwnFile {
    pid: u32,
    path: CString,
}

/// Creates this process's socket.
pub(crate) fn open(name: &str) -> io::Result<UnixListener> {
    let path = own_path(name)?;
    // A process with this number may have left one.
    _ = fs::remove_file(&path);
    let listener = UnixListener::bind(&path)?;
    DESCRIPTOR.store(listener.as_raw_fd(), Ordering::Relaxed);
    own(&path)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Notes which file to remove at the end.
fn own(path: &Path) -> io::Result<()> {
    static ARE_REGISTERED: AtomicBool = AtomicBool::new(false);
    let file = Box::new(OwnFile {
        pid: std::process::id(),
        path: CString::new(path.as_os_str().as_bytes())?,
    });
    OWN_FILE.store(Box::into_raw(file), Ordering::Release);
    if !ARE_REGISTERED.swap(true, Ordering::Relaxed) {
        // SAFETY: both functions call only what is allowed at the end of a process and in a child. A
        // forked child inherits both registrations, and the flag.
        unsafe {
            libc::atexit(at_exit);
            libc::pthread_atfork(None, None, Some(in_child));
        }
    }
    Ok(())
}

extern "C" fn at_exit() {
    // SAFETY: the file is never freed.
    let file = unsafe { OWN_FILE.load(Ordering::Acquire).as_ref() };
    // A child that ends has the file of its parent.
    if let Some(file) = file.filter(|file| file.pid == std::process::id()) {
        // SAFETY: the path ends with a 0.
        unsafe { libc::unlink(file.path.as_ptr()) };
    }
}

extern "C" fn in_child() {
    let descriptor = DESCRIPTOR.swap(NONE, Ordering::Relaxed);
    if descriptor != NONE {
        // SAFETY: the parent's listener has it, which nothing uses in the child.
        unsafe { libc::close(descriptor) };
    }
}
