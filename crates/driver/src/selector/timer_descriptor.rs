//! The kernel's timer: timerfd.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// A timer that is read by nobody: an edge-triggered poll reports each expiry.
pub struct Kernel(OwnedFd);

impl Kernel {
    /// A timer that is not set.
    pub fn new() -> io::Result<Self> {
        let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
        // SAFETY: the call takes no pointers.
        let descriptor = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it has just been opened, and is nobody else's.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    /// Sets it to expire once, after a time that is not zero.
    pub fn set(&self, time: Duration) -> bool {
        // SAFETY: zeros are a value of this plain structure.
        let mut setting: libc::itimerspec = unsafe { std::mem::zeroed() };
        setting.it_value.tv_sec = time.as_secs().try_into().unwrap_or(libc::time_t::MAX);
        setting.it_value.tv_nsec = time.subsec_nanos() as _;
        let descriptor = self.0.as_raw_fd();
        // SAFETY: the descriptor is open, the structure is initialized, and the old setting is
        // not asked for.
        unsafe { libc::timerfd_settime(descriptor, 0, &setting, std::ptr::null_mut()) == 0 }
    }
}

impl AsRawFd for Kernel {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
