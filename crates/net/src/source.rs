//! Readiness of a registered socket or pipe, and the check of a socket that the program gives.

use std::io;
#[cfg(unix)]
use std::os::fd::AsFd;
use std::task::{Context, Poll};

use blitz_io_aio::{Interest, Ready};
use blitz_io_driver::{Direction, Registration, bits};

/// Waits until the source is ready for any of `interest`.
pub(crate) async fn ready(registration: &Registration, interest: Interest) -> io::Result<Ready> {
    let event = registration.wait(bits::of_interest(interest)).await?;
    Ok(bits::to_ready(event.bits))
}

/// Waits until the source is ready for `direction`. Only the waker of the last call is woken.
pub(crate) fn poll_ready(
    registration: &Registration,
    cx: &mut Context<'_>,
    direction: Direction,
) -> Poll<io::Result<()>> {
    registration.poll_ready(cx, direction).map_ok(|_| ())
}

/// Checks in debug builds that a socket is in non-blocking mode. In blocking mode an operation that
/// has to wait would stop the thread, with all its tasks.
///
/// # Panics
///
/// Panics if the socket is in blocking mode. The beginning of the message is Tokio's, because people
/// search for it.
#[cfg(unix)]
#[track_caller]
pub(crate) fn assert_nonblocking(socket: &impl AsFd) -> io::Result<()> {
    if cfg!(all(debug_assertions, not(tokio_allow_from_blocking_fd))) {
        assert!(
            socket2::SockRef::from(socket).nonblocking()?,
            "Registering a blocking socket with the tokio runtime is unsupported: an operation that \
             waits would block the thread. Call `set_nonblocking(true)` before, or build with `--cfg \
             tokio_allow_from_blocking_fd`."
        );
    }
    Ok(())
}

/// Windows does not tell the mode of a socket.
#[cfg(not(unix))]
pub(crate) fn assert_nonblocking<T>(_socket: &T) -> io::Result<()> {
    Ok(())
}
