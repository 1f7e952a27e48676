//! Readiness of a registered socket or pipe, and the check of a socket that the program gives.
//!
//! The macros make the methods of a type whose field `io` is the registered source. `$what` is its
//! name in the documentation.

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

/// Makes `ready`.
macro_rules! ready_method {
    ($what:literal) => {
        #[doc = concat!("Waits until the ", $what, " is ready for any of `interest`.")]
        ///
        #[doc = concat!("An operation may block even if the ", $what, " is reported ready: always use one of the")]
        /// `try_` methods, which record that it would have blocked.
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime has ended.
        ///
        /// # Cancel safety
        ///
        #[doc = concat!("Cancel safe: the ", $what, " stays ready.")]
        #[track_caller]
        pub fn ready(
            &self,
            interest: blitz_io_aio::Interest,
        ) -> impl Future<Output = std::io::Result<blitz_io_aio::Ready>> {
            blitz_io_observe::CalledAt::new(async move {
                $crate::source::ready(self.io.registration(), interest).await
            })
        }
    };
}

/// Makes `readable`, and the method that polls for it.
macro_rules! readable_methods {
    ($what:literal, $poll:ident) => {
        #[doc = concat!("Waits until the ", $what, " is readable.")]
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime has ended.
        ///
        /// # Cancel safety
        ///
        #[doc = concat!("Cancel safe: the ", $what, " stays readable.")]
        #[track_caller]
        pub fn readable(&self) -> impl Future<Output = std::io::Result<()>> {
            blitz_io_observe::CalledAt::new(async move {
                self.ready(blitz_io_aio::Interest::READABLE).await?;
                Ok(())
            })
        }

        #[doc = concat!("Waits until the ", $what, " is readable. Only the waker of the last call is woken; any number of")]
        /// tasks may wait with [`readable`](Self::readable).
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime has ended.
        pub fn $poll(
            &self,
            cx: &mut std::task::Context<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            $crate::source::poll_ready(self.io.registration(), cx, blitz_io_driver::Direction::Read)
        }
    };
}

/// Makes `writable`, and the method that polls for it.
macro_rules! writable_methods {
    ($what:literal, $poll:ident) => {
        #[doc = concat!("Waits until the ", $what, " is writable.")]
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime has ended.
        ///
        /// # Cancel safety
        ///
        #[doc = concat!("Cancel safe: the ", $what, " stays writable.")]
        #[track_caller]
        pub fn writable(&self) -> impl Future<Output = std::io::Result<()>> {
            blitz_io_observe::CalledAt::new(async move {
                self.ready(blitz_io_aio::Interest::WRITABLE).await?;
                Ok(())
            })
        }

        #[doc = concat!("Waits until the ", $what, " is writable. Only the waker of the last call is woken; any number of")]
        /// tasks may wait with [`writable`](Self::writable).
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime has ended.
        pub fn $poll(
            &self,
            cx: &mut std::task::Context<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            $crate::source::poll_ready(
                self.io.registration(),
                cx,
                blitz_io_driver::Direction::Write,
            )
        }
    };
}

/// Makes `try_io` and `async_io`. `$try` tries the operation `$f` on the source `$io`.
macro_rules! try_io_methods {
    ($what:literal, |$io:ident, $f:ident| $try:expr) => {
        #[doc = concat!("Tries an operation on the ", $what, " once, if it is ready for `interest`.")]
        ///
        #[doc = concat!("`f` must be an operation on this ", $what, " that returns `WouldBlock` if it would")]
        /// block. Then it is not called again before the next event.
        ///
        /// # Errors
        ///
        #[doc = concat!("Returns the errors of `f`, and `WouldBlock` if the ", $what, " is not ready.")]
        pub fn try_io<R>(
            &self,
            interest: blitz_io_aio::Interest,
            f: impl FnOnce() -> std::io::Result<R>,
        ) -> std::io::Result<R> {
            let mask = blitz_io_driver::bits::of_interest(interest);
            self.io.registration().try_io(mask, || {
                let ($io, $f) = (&self.io, f);
                $try
            })
        }

        #[doc = concat!("Tries an operation on the ", $what, " each time it is ready for `interest`, until the")]
        /// operation does not block.
        ///
        #[doc = concat!("`f` must be an operation on this ", $what, " that returns `WouldBlock` if it would block.")]
        ///
        /// # Errors
        ///
        /// Returns the errors of `f` other than `WouldBlock`, and an error if the runtime has ended.
        ///
        /// # Cancel safety
        ///
        /// Cancel safe if `f` is: the future waits only before it calls `f`.
        #[track_caller]
        pub fn async_io<R>(
            &self,
            interest: blitz_io_aio::Interest,
            mut f: impl FnMut() -> std::io::Result<R>,
        ) -> impl Future<Output = std::io::Result<R>> {
            blitz_io_observe::CalledAt::new(async move {
                let mask = blitz_io_driver::bits::of_interest(interest);
                self.io
                    .registration()
                    .async_io(mask, || {
                        let ($io, $f) = (&self.io, &mut f);
                        $try
                    })
                    .await
            })
        }
    };
}

pub(crate) use {readable_methods, ready_method, try_io_methods, writable_methods};
