//! Readiness of a registered socket or pipe.

use std::io;
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
