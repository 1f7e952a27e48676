//! A descriptor for two events: another descriptor is readable, or a timer has expired. On
//! Linux it is an epoll set.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// The epoll set and its timer.
#[derive(Debug)]
pub(crate) struct PollSet {
    epoll: OwnedFd,
    timer: OwnedFd,
}

impl PollSet {
    /// `other` stays open for as long as this is used.
    pub(crate) fn new(other: BorrowedFd<'_>) -> io::Result<Self> {
        // SAFETY: creates a descriptor.
        let timer = owned(unsafe {
            let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
            libc::timerfd_create(libc::CLOCK_MONOTONIC, flags)
        })?;
        // SAFETY: creates a descriptor.
        let epoll = owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: 0,
        };
        for fd in [other.as_raw_fd(), timer.as_raw_fd()] {
            // SAFETY: both descriptors are open.
            let added =
                unsafe { libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &mut event) };
            if added != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Self { epoll, timer })
    }

    /// The set is readable as long as one of its descriptors is.
    pub(crate) fn clear(&self) {}

    /// Starts the timer. If the old one has made the set readable, it is not readable for
    /// that any more.
    pub(crate) fn start_timer(&self, after: Duration) -> io::Result<()> {
        let none = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let value = libc::itimerspec {
            it_interval: none,
            it_value: libc::timespec {
                tv_sec: after.as_secs() as _,
                tv_nsec: after.subsec_nanos() as _,
            },
        };
        let fd = self.timer.as_raw_fd();
        // SAFETY: a timer and a time.
        match unsafe { libc::timerfd_settime(fd, 0, &value, std::ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl AsFd for PollSet {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

fn owned(fd: RawFd) -> io::Result<OwnedFd> {
    match fd {
        0.. => {
            // SAFETY: it has just been made, and this is its only owner.
            Ok(unsafe { OwnedFd::from_raw_fd(fd) })
        }
        _ => Err(io::Error::last_os_error()),
    }
}
