//! The pipes to and from a child.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::process::Stdio;
use std::task::{Context, Poll};

use blitz_io_aio::{AsyncRead, AsyncWrite, Interest, ReadBuf, foreign_traits};
use blitz_io_driver::PollEvented;
use mio::unix::pipe;

macro_rules! pipe_of_a_child {
    ($(#[$doc:meta])* $type:ident, $end:ident, $interest:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $type {
            pipe: PollEvented<pipe::$end>,
        }

        impl $type {
            /// Creates a pipe from that of the standard library.
            ///
            /// # Errors
            ///
            /// Returns the system's errors.
            ///
            /// # Panics
            ///
            /// Panics outside of a runtime, and in a runtime without I/O.
            #[track_caller]
            pub fn from_std(inner: std::process::$type) -> io::Result<Self> {
                let pipe = pipe::$end::from(inner);
                pipe.set_nonblocking(true)?;
                PollEvented::with_interest(pipe, Interest::$interest).map(|pipe| Self { pipe })
            }

            /// Returns the descriptor, on which operations block again.
            ///
            /// # Errors
            ///
            /// Returns the system's errors.
            pub fn into_owned_fd(self) -> io::Result<OwnedFd> {
                let pipe = self.pipe.into_inner()?;
                pipe.set_nonblocking(false)?;
                Ok(pipe.into())
            }
        }

        impl AsRawFd for $type {
            fn as_raw_fd(&self) -> RawFd {
                self.pipe.as_raw_fd()
            }
        }

        impl AsFd for $type {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.pipe.as_fd()
            }
        }

        /// Converts the pipe into a standard stream of another child.
        impl TryFrom<$type> for Stdio {
            type Error = io::Error;

            fn try_from(pipe: $type) -> io::Result<Self> {
                pipe.into_owned_fd().map(Self::from)
            }
        }
    };
}

macro_rules! readable {
    ($type:ident) => {
        impl AsyncRead for $type {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                // SAFETY: a read of the system only writes to its buffer, and returns how
                // much.
                unsafe { self.pipe.poll_read(cx, buf) }
            }
        }

        foreign_traits!([] $type: read);
    };
}

pipe_of_a_child!(
    /// The pipe to the standard input of a child. Dropping it ends the input.
    ChildStdin, Sender, WRITABLE
);
pipe_of_a_child!(
    /// The pipe from the standard output of a child.
    ChildStdout, Receiver, READABLE
);
pipe_of_a_child!(
    /// The pipe from the standard error of a child.
    ChildStderr, Receiver, READABLE
);

readable!(ChildStdout);
readable!(ChildStderr);

impl AsyncWrite for ChildStdin {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.pipe.poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    // Only a drop closes the pipe.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.pipe.poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

foreign_traits!([] ChildStdin: write);
