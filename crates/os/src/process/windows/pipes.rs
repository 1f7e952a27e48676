//! The pipes to and from a child. They block, so threads of the runtime's pool use them.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, OwnedHandle, RawHandle};
use std::pin::Pin;
use std::process::Stdio;
use std::sync::Arc;
use std::task::{Context, Poll};

use blitz_io_aio::{AsyncRead, AsyncWrite, ReadBuf, foreign_traits};

use crate::io::blocking::Blocking;

/// The end of a pipe, which an operation under way uses too.
#[derive(Debug, Clone)]
struct Shared(Arc<File>);

impl Read for Shared {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&*self.0).read(buf)
    }
}

impl Write for Shared {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        (&*self.0).write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self.0).flush()
    }
}

#[derive(Debug)]
struct Pipe {
    file: Shared,
    io: Blocking<Shared>,
}

impl Pipe {
    fn new(handle: OwnedHandle) -> Self {
        let file = Shared(Arc::new(handle.into()));
        let io = Blocking::new(file.clone(), "use the pipe of a child");
        Self { file, io }
    }

    fn into_owned_handle(self) -> io::Result<OwnedHandle> {
        let Self { file, io } = self;
        drop(io);
        match Arc::try_unwrap(file.0) {
            Ok(file) => Ok(file.into()),
            Err(file) => file.try_clone().map(OwnedHandle::from),
        }
    }
}

/// The pipe to the standard input of a child. Dropping it ends the input.
#[derive(Debug)]
pub struct ChildStdin {
    pipe: Pipe,
}

impl ChildStdin {
    /// Creates a pipe from that of the standard library.
    ///
    /// # Errors
    ///
    /// Returns no error on this system.
    pub fn from_std(inner: std::process::ChildStdin) -> io::Result<Self> {
        let pipe = Pipe::new(inner.into());
        Ok(Self { pipe })
    }

    /// Returns the handle, or another handle for the same pipe if an operation is
    /// under way.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn into_owned_handle(self) -> io::Result<OwnedHandle> {
        self.pipe.into_owned_handle()
    }
}

impl AsRawHandle for ChildStdin {
    fn as_raw_handle(&self) -> RawHandle {
        self.pipe.file.0.as_raw_handle()
    }
}

impl AsHandle for ChildStdin {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.pipe.file.0.as_handle()
    }
}

/// Converts the pipe into a standard stream of another child.
impl TryFrom<ChildStdin> for Stdio {
    type Error = io::Error;

    fn try_from(pipe: ChildStdin) -> io::Result<Self> {
        pipe.into_owned_handle().map(Self::from)
    }
}

/// The pipe from the standard output of a child.
#[derive(Debug)]
pub struct ChildStdout {
    pipe: Pipe,
}

impl ChildStdout {
    /// Creates a pipe from that of the standard library.
    ///
    /// # Errors
    ///
    /// Returns no error on this system.
    pub fn from_std(inner: std::process::ChildStdout) -> io::Result<Self> {
        let pipe = Pipe::new(inner.into());
        Ok(Self { pipe })
    }

    /// Returns the handle, or another handle for the same pipe if an operation is
    /// under way.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn into_owned_handle(self) -> io::Result<OwnedHandle> {
        self.pipe.into_owned_handle()
    }
}

impl AsRawHandle for ChildStdout {
    fn as_raw_handle(&self) -> RawHandle {
        self.pipe.file.0.as_raw_handle()
    }
}

impl AsHandle for ChildStdout {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.pipe.file.0.as_handle()
    }
}

/// Converts the pipe into a standard stream of another child.
impl TryFrom<ChildStdout> for Stdio {
    type Error = io::Error;

    fn try_from(pipe: ChildStdout) -> io::Result<Self> {
        pipe.into_owned_handle().map(Self::from)
    }
}

/// The pipe from the standard error of a child.
#[derive(Debug)]
pub struct ChildStderr {
    pipe: Pipe,
}

impl ChildStderr {
    /// Creates a pipe from that of the standard library.
    ///
    /// # Errors
    ///
    /// Returns no error on this system.
    pub fn from_std(inner: std::process::ChildStderr) -> io::Result<Self> {
        let pipe = Pipe::new(inner.into());
        Ok(Self { pipe })
    }

    /// Returns the handle, or another handle for the same pipe if an operation is
    /// under way.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn into_owned_handle(self) -> io::Result<OwnedHandle> {
        self.pipe.into_owned_handle()
    }
}

impl AsRawHandle for ChildStderr {
    fn as_raw_handle(&self) -> RawHandle {
        self.pipe.file.0.as_raw_handle()
    }
}

impl AsHandle for ChildStderr {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.pipe.file.0.as_handle()
    }
}

/// Converts the pipe into a standard stream of another child.
impl TryFrom<ChildStderr> for Stdio {
    type Error = io::Error;

    fn try_from(pipe: ChildStderr) -> io::Result<Self> {
        pipe.into_owned_handle().map(Self::from)
    }
}

impl AsyncRead for ChildStdout {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe.io).poll_read(cx, buf)
    }
}

foreign_traits!([] ChildStdout: read);

impl AsyncRead for ChildStderr {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe.io).poll_read(cx, buf)
    }
}

foreign_traits!([] ChildStderr: read);

impl AsyncWrite for ChildStdin {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.pipe.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe.io).poll_flush(cx)
    }

    // Only a drop closes the pipe.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe.io).poll_shutdown(cx)
    }
}

foreign_traits!([] ChildStdin: write);
