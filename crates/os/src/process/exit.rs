//! Waiting until a child has exited.
//!
//! On Linux a pidfd becomes readable when the child exits, and stays so. Where there is
//! none, a listener for `SIGCHLD` is woken whenever any child exits. In both cases the
//! order is: store the waker first, then ask the system whether the child has exited. A
//! child that exits after that question wakes the task.

use std::io;
use std::process::{Child, ExitStatus};
use std::task::{Context, Poll, ready};

use crate::signal::unix::{Signal, SignalKind, signal};

#[derive(Debug)]
pub(super) enum Exit {
    #[cfg(target_os = "linux")]
    Pidfd(blitz_io_driver::AsyncFd<std::os::fd::OwnedFd>),
    Signal(Signal),
}

impl Exit {
    /// Registers with the driver of the current runtime.
    #[track_caller]
    pub(super) fn of(child: &Child) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(pidfd) = pidfd::open(child.id()) {
            let interest = blitz_io_aio::Interest::READABLE;
            // SAFETY: the descriptor is open as long as its owner lives.
            let pidfd =
                unsafe { blitz_io_driver::AsyncFd::register_with_interest(pidfd, interest) };
            return Ok(Self::Pidfd(pidfd?));
        }
        _ = child;
        signal(SignalKind::child()).map(Self::Signal)
    }

    /// Waits until `child` has exited.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        child: &mut Child,
    ) -> Poll<io::Result<ExitStatus>> {
        loop {
            let change = self.poll_change(cx, child)?;
            if let Some(status) = child.try_wait()? {
                return Poll::Ready(Ok(status));
            }
            ready!(change);
        }
    }

    /// Stores the waker, or returns when the state of the child may have changed.
    fn poll_change(&mut self, cx: &mut Context<'_>, child: &Child) -> Poll<io::Result<()>> {
        let change = match self {
            #[cfg(target_os = "linux")]
            Self::Pidfd(pidfd) => pidfd.poll_read_ready(cx).map(|ready| {
                // If the wake-up was spurious, the next one is awaited.
                ready.map(|mut guard| guard.clear_ready()).ok()
            }),
            Self::Signal(signal) => signal.poll_recv(cx),
        };
        if ready!(change).is_none() {
            // The runtime in which the child was started has ended.
            *self = Self::of(child)?;
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(target_os = "linux")]
mod pidfd {
    use std::os::fd::{FromRawFd, OwnedFd, RawFd};

    /// Opens a descriptor for a child. Returns `None` if the system has none, or forbids
    /// it.
    pub(super) fn open(pid: u32) -> Option<OwnedFd> {
        // SAFETY: the call takes numbers, and returns a descriptor.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, libc::PIDFD_NONBLOCK) };
        // SAFETY: the descriptor is open, and has no other owner.
        (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::process::Command;

    use blitz_io_runtime::runtime::Builder;

    use super::*;

    /// Tests the wait of systems without pidfds.
    #[test]
    fn a_signal_tells_that_a_child_has_exited() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for code in 0..20 {
                let mut exit = Exit::Signal(signal(SignalKind::child()).unwrap());
                let script = format!("exit {code}");
                let mut child = Command::new("sh").args(["-c", &script]).spawn().unwrap();
                let status = poll_fn(|cx| exit.poll(cx, &mut child)).await.unwrap();
                assert_eq!(status.code(), Some(code));
            }
        });
    }
}
