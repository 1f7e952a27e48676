//! The pipes to and from a child.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::process::Stdio;
use std::task::{Context, Poll};

use blitz_io_aio::{AsyncRead, AsyncWrite, Interest, ReadBuf, foreign_traits};
use blitz_io_driver::PollEvented;
use mio::event::Source;
use mio::unix::pipe;

/// An end of a pipe.
trait End: Source + AsRawFd + Into<OwnedFd> {
    const INTEREST: Interest;

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()>;
}

impl End for pipe::Sender {
    const INTEREST: Interest = Interest::WRITABLE;

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.set_nonblocking(nonblocking)
    }
}

impl End for pipe::Receiver {
    const INTEREST: Interest = Interest::READABLE;

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.set_nonblocking(nonblocking)
    }
}

#[track_caller]
fn register<E: End>(end: E) -> io::Result<PollEvented<E>> {
    end.set_nonblocking(true)?;
    PollEvented::with_interest(end, E::INTEREST)
}

fn blocking<E: End>(pipe: PollEvented<E>) -> io::Result<OwnedFd> {
    let end = pipe.into_inner()?;
    end.set_nonblocking(false)?;
    Ok(end.into())
}

/// The pipe to the standard input of a child. Dropping it ends the input.
#[derive(Debug)]
pub struct ChildStdin {
    pipe: PollEvented<pipe::Sender>,
}

impl ChildStdin {
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
    pub fn from_std(inner: std::process::ChildStdin) -> io::Result<Self> {
        register(pipe::Sender::from(inner)).map(|pipe| Self { pipe })
    }

    /// Returns the descriptor, on which operations block again.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn into_owned_fd(self) -> io::Result<OwnedFd> {
        blocking(self.pipe)
    }
}

impl AsRawFd for ChildStdin {
    fn as_raw_fd(&self) -> RawFd {
        self.pipe.as_raw_fd()
    }
}

impl AsFd for ChildStdin {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

/// Converts the pipe into a standard stream of another child.
impl TryFrom<ChildStdin> for Stdio {
    type Error = io::Error;

    fn try_from(pipe: ChildStdin) -> io::Result<Self> {
        pipe.into_owned_fd().map(Self::from)
    }
}

/// The pipe from the standard output of a child.
#[derive(Debug)]
pub struct ChildStdout {
    pipe: PollEvented<pipe::Receiver>,
}

impl ChildStdout {
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
    pub fn from_std(inner: std::process::ChildStdout) -> io::Result<Self> {
        register(pipe::Receiver::from(inner)).map(|pipe| Self { pipe })
    }

    /// Returns the descriptor, on which operations block again.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn into_owned_fd(self) -> io::Result<OwnedFd> {
        blocking(self.pipe)
    }
}

impl AsRawFd for ChildStdout {
    fn as_raw_fd(&self) -> RawFd {
        self.pipe.as_raw_fd()
    }
}

impl AsFd for ChildStdout {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

/// Converts the pipe into a standard stream of another child.
impl TryFrom<ChildStdout> for Stdio {
    type Error = io::Error;

    fn try_from(pipe: ChildStdout) -> io::Result<Self> {
        pipe.into_owned_fd().map(Self::from)
    }
}

/// The pipe from the standard error of a child.
#[derive(Debug)]
pub struct ChildStderr {
    pipe: PollEvented<pipe::Receiver>,
}

impl ChildStderr {
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
    pub fn from_std(inner: std::process::ChildStderr) -> io::Result<Self> {
        register(pipe::Receiver::from(inner)).map(|pipe| Self { pipe })
    }

    /// Returns the descriptor, on which operations block again.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn into_owned_fd(self) -> io::Result<OwnedFd> {
        blocking(self.pipe)
    }
}

impl AsRawFd for ChildStderr {
    fn as_raw_fd(&self) -> RawFd {
        self.pipe.as_raw_fd()
    }
}

impl AsFd for ChildStderr {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

/// Converts the pipe into a standard stream of another child.
impl TryFrom<ChildStderr> for Stdio {
    type Error = io::Error;

    fn try_from(pipe: ChildStderr) -> io::Result<Self> {
        pipe.into_owned_fd().map(Self::from)
    }
}

impl AsyncRead for ChildStdout {
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

foreign_traits!([] ChildStdout: read);

impl AsyncRead for ChildStderr {
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

foreign_traits!([] ChildStderr: read);

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
