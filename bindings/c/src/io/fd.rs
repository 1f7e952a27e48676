//! Waits for a descriptor of another library.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Instant;

use blitz_io::io::Interest;
use blitz_io::io::unix::AsyncFd;

use crate::args::put_if_wanted;
use crate::error::{BLITZ_ETIMEDOUT, Outcome, entry, invalid, of_io};
use crate::wait::{Limit, is_fiber};

/// Reading does not wait: there are bytes, a connection, or the end of the stream.
pub const BLITZ_FD_READ: u32 = 1;
/// Writing does not wait.
pub const BLITZ_FD_WRITE: u32 = 2;
/// There is an error, which the next operation reports. Only a result.
pub const BLITZ_FD_ERROR: u32 = 4;
/// The other side has hung up. Only a result.
pub const BLITZ_FD_HANGUP: u32 = 8;

/// Waits until a descriptor is ready for one of `events` (`BLITZ_FD_READ`, `BLITZ_FD_WRITE`, or
/// both), or has an error, until `deadline_ns` at most (nanoseconds of `blitz_now_ns`, or
/// `BLITZ_NEVER`). Suspends the calling fiber, or blocks the calling thread. So a library that has
/// non-blocking functions, such as those of libpq, libcurl and hiredis, can wait in a fiber. The
/// caller keeps the descriptor and must not close it during the call. Regular files are always ready.
///
/// `ready` gets the events, also `BLITZ_FD_ERROR` and `BLITZ_FD_HANGUP`; it may be NULL. Returns
/// `BLITZ_OK`; `BLITZ_ETIMEDOUT`; `BLITZ_ECANCELED` in a fiber that is cancelled; `BLITZ_EINVAL`
/// for no or unknown events; or an error of the system, as `-EBADF`.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_fd_wait(
    fd: c_int,
    events: u32,
    deadline_ns: u64,
    ready: *mut u32,
) -> c_int {
    entry(|| {
        interest(events)?;
        // poll(2) ignores a negative descriptor, and would wait for ever.
        if fd < 0 {
            return Err(of_io(&io::Error::from_raw_os_error(libc::EBADF)));
        }
        let mut found = poll(fd, events, 0)?;
        if found == 0 && deadline_ns > 0 {
            found = wait(fd, events, Limit::at(deadline_ns))?;
        }
        if found == 0 {
            return Err(BLITZ_ETIMEDOUT);
        }
        put_if_wanted(ready, found);
        Ok(())
    })
}

/// `BLITZ_EINVAL` for no or unknown events.
pub(super) fn interest(events: u32) -> Outcome<Interest> {
    const BOTH: u32 = BLITZ_FD_READ | BLITZ_FD_WRITE;
    match events {
        BLITZ_FD_READ => Ok(Interest::READABLE),
        BLITZ_FD_WRITE => Ok(Interest::WRITABLE),
        BOTH => Ok(Interest::READABLE | Interest::WRITABLE),
        _ => Err(invalid("no such events")),
    }
}

/// Calls poll(2), which blocks the thread for at most this many milliseconds.
pub(super) fn poll(fd: RawFd, events: u32, milliseconds: c_int) -> Outcome<u32> {
    let mut entry = libc::pollfd {
        fd,
        events: 0,
        revents: 0,
    };
    if events & BLITZ_FD_READ != 0 {
        entry.events |= libc::POLLIN;
    }
    if events & BLITZ_FD_WRITE != 0 {
        entry.events |= libc::POLLOUT;
    }
    // SAFETY: the list has one entry, which lives during the call.
    if unsafe { libc::poll(&mut entry, 1, milliseconds) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() == io::ErrorKind::Interrupted {
            return Ok(0);
        }
        return Err(of_io(&error));
    }
    if entry.revents & libc::POLLNVAL != 0 {
        return Err(of_io(&io::Error::from_raw_os_error(libc::EBADF)));
    }
    let map = [
        (libc::POLLIN, BLITZ_FD_READ),
        (libc::POLLOUT, BLITZ_FD_WRITE),
        (libc::POLLERR, BLITZ_FD_ERROR),
        (libc::POLLHUP, BLITZ_FD_HANGUP),
    ];
    let found = map.iter().filter(|(flag, _)| entry.revents & flag != 0);
    Ok(found.fold(0, |found, (_, event)| found | event))
}

fn wait(fd: RawFd, events: u32, limit: Limit) -> Outcome<u32> {
    if is_fiber() {
        wait_in_fiber(fd, events, limit)
    } else {
        wait_in_thread(fd, events, limit)
    }
}

/// Returns no events at the deadline.
pub(super) fn wait_in_thread(fd: RawFd, events: u32, limit: Limit) -> Outcome<u32> {
    loop {
        let milliseconds = match limit.deadline() {
            None => -1,
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                // Rounded up, so that it does not return before the deadline.
                left.as_nanos().div_ceil(1_000_000).min(c_int::MAX as u128) as c_int
            }
        };
        let found = poll(fd, events, milliseconds)?;
        if found != 0 || milliseconds == 0 {
            return Ok(found);
        }
    }
}

/// A descriptor of the caller, or a duplicate of it that is closed afterwards.
pub(super) enum Watched {
    Caller(RawFd),
    Duplicate(OwnedFd),
}

impl AsRawFd for Watched {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Self::Caller(fd) => *fd,
            Self::Duplicate(fd) => fd.as_raw_fd(),
        }
    }
}

pub(super) fn watch(fd: RawFd, interest: Interest) -> io::Result<AsyncFd<Watched>> {
    // SAFETY: the caller keeps the descriptor open during the call, as the header asks.
    let watched = unsafe { AsyncFd::register_with_interest(Watched::Caller(fd), interest) };
    match watched.map_err(|error| error.into_parts().1) {
        Err(error) if error.raw_os_error() == Some(libc::EEXIST) => {
            // Another fiber waits for the same descriptor, which can be watched once.
            // SAFETY: the caller keeps the descriptor open during the call.
            let duplicate = unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned()?;
            // SAFETY: the `AsyncFd` owns the duplicate.
            unsafe { AsyncFd::register_with_interest(Watched::Duplicate(duplicate), interest) }
                .map_err(|error| error.into_parts().1)
        }
        watched => watched,
    }
}

fn wait_in_fiber(fd: RawFd, events: u32, limit: Limit) -> Outcome<u32> {
    let interest = interest(events)?;
    let watched = watch(fd, interest).map_err(|error| of_io(&error))?;
    loop {
        // The readiness is edge-triggered. This loop clears it before it polls again, so a change
        // after the poll makes the descriptor ready again.
        let found = poll(fd, events, 0)?;
        if found != 0 {
            return Ok(found);
        }
        let ready = async {
            watched.ready(interest).await?.clear_ready();
            Ok(())
        };
        match super::on(ready, limit) {
            Ok(()) => {}
            Err(BLITZ_ETIMEDOUT) => return poll(fd, events, 0),
            Err(error) => return Err(error),
        }
    }
}
