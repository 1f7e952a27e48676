//! The kernel's timer: timerfd.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// A timer that is never read: an edge-triggered poll reports each expiry.
pub struct Kernel(OwnedFd);

impl Kernel {
    /// Creates a timer that is not set.
    pub fn new() -> io::Result<Self> {
        let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
        // SAFETY: the call takes no pointers.
        let descriptor = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it has just been opened, and has no other owner.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    /// Makes the timer expire once, after a time that is not zero.
    #[allow(deprecated)] // With musl, libc announces a wider `time_t`.
    pub fn set(&self, time: Duration) -> bool {
        // SAFETY: all zeros are a valid value of this plain structure.
        let mut setting: libc::itimerspec = unsafe { std::mem::zeroed() };
        setting.it_value.tv_sec = time.as_secs().try_into().unwrap_or(libc::time_t::MAX);
        setting.it_value.tv_nsec = time.subsec_nanos() as _;
        let descriptor = self.0.as_raw_fd();
        // SAFETY: the descriptor is open, the structure is initialized, and the old setting
        // is not requested.
        unsafe { libc::timerfd_settime(descriptor, 0, &setting, std::ptr::null_mut()) == 0 }
    }
}

impl AsRawFd for Kernel {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
