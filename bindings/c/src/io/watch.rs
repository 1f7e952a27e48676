//! A descriptor that is registered once for all its waits.

use std::ffi::c_int;
use std::io;
use std::os::fd::RawFd;
use std::sync::OnceLock;

use blitz_io::io::Interest;
use blitz_io::io::unix::AsyncFd;

use super::fd::{self, Watched};
use crate::args::{arg, check, put};
use crate::error::{BLITZ_ETIMEDOUT, Outcome, entry, entry_or, in_process, of_io};
use crate::fork::{self, OfProcess, Process};
use crate::handle::handle;
use crate::wait::{Limit, is_fiber};

/// A descriptor that its owner waits for more than once. Any thread or fiber may use it, several at
/// once.
pub struct blitz_fd_watch {
    fd: RawFd,
    /// The first wait in a fiber registers the descriptor, with the runtime of that fiber.
    watched: OnceLock<AsyncFd<Watched>>,
    process: Process,
}

impl OfProcess for blitz_fd_watch {
    fn process(&self) -> Process {
        self.process
    }
}

impl blitz_fd_watch {
    fn registered(&self) -> Outcome<&AsyncFd<Watched>> {
        if let Some(watched) = self.watched.get() {
            return Ok(watched);
        }
        let both = Interest::READABLE | Interest::WRITABLE;
        let new = fd::watch(self.fd, both).map_err(|error| of_io(&error))?;
        // If another fiber has registered the descriptor first, the second registration ends here.
        Ok(self.watched.get_or_init(|| new))
    }
}

/// Makes a watch for a descriptor. Its waits cost less than those of `blitz_fd_wait`, which registers
/// the descriptor each time. The caller keeps the descriptor open, and frees the watch with
/// `blitz_fd_watch_free` before it closes the descriptor.
///
/// Returns `BLITZ_OK`, `BLITZ_EINVAL` for NULL, or `-EBADF` for a negative descriptor. Does not wait.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_fd_watch_new(fd: c_int, watch: *mut *mut blitz_fd_watch) -> c_int {
    entry(|| {
        check(watch)?;
        if fd < 0 {
            return Err(of_io(&io::Error::from_raw_os_error(libc::EBADF)));
        }
        let new = blitz_fd_watch {
            fd,
            watched: OnceLock::new(),
            process: Process::current(),
        };
        put(watch, handle(new))
    })
}

/// Waits until a descriptor can be ready for one of `events` (`BLITZ_FD_READ`, `BLITZ_FD_WRITE`, or
/// both), until `deadline_ns` at most (nanoseconds of `blitz_now_ns`, or `BLITZ_NEVER`). Suspends the
/// calling fiber, or blocks the calling thread. Call it after an operation on the descriptor has
/// reported `EAGAIN`, then repeat the operation: it may report `EAGAIN` again.
///
/// Returns `BLITZ_OK`; `BLITZ_ETIMEDOUT`; `BLITZ_ECANCELED` in a fiber that is cancelled;
/// `BLITZ_EINVAL` for NULL, or no or unknown events; `BLITZ_EFORKED`; or an error of the system:
/// `-EPERM` for a regular file.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_fd_watch_wait(
    watch: *mut blitz_fd_watch,
    events: u32,
    deadline_ns: u64,
) -> c_int {
    entry(|| {
        let watch = arg(watch)?;
        in_process(watch.process)?;
        let interest = fd::interest(events)?;
        let limit = Limit::at(deadline_ns);
        if !is_fiber() {
            let found = fd::wait_in_thread(watch.fd, events, limit)?;
            return if found == 0 {
                Err(BLITZ_ETIMEDOUT)
            } else {
                Ok(())
            };
        }
        let watched = watch.registered()?;
        // The registration keeps its readiness until a check, made after it came, finds nothing. So a
        // fiber that is woken takes nothing from the others that wait.
        let check = |_: &Watched| match fd::poll(watch.fd, events, 0) {
            Ok(0) => Err(io::ErrorKind::WouldBlock.into()),
            result => Ok(result.map(drop)),
        };
        if let Ok(result) = watched.try_io(interest, check) {
            return result;
        }
        let ready = async { watched.ready(interest).await.map(drop) };
        match super::on(ready, limit) {
            Err(BLITZ_ETIMEDOUT) if fd::poll(watch.fd, events, 0)? != 0 => Ok(()),
            result => result,
        }
    })
}

/// Frees a watch. NULL is fine. No other call may use it, now or later. Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_fd_watch_free(watch: *mut blitz_fd_watch) {
    entry_or((), || fork::free(watch));
}
