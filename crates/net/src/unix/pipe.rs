//! Unix pipes, with and without a name.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use blitz_io_aio::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready, foreign_traits};
use blitz_io_driver::{Direction, PollEvented};
use bytes::BufMut;

use crate::descriptors::descriptors;
use crate::{source, stream};

/// Creates a pipe without a name.
///
/// # Errors
///
/// Returns the system's errors.
///
/// # Panics
///
/// Panics outside of a runtime, and in a runtime without I/O.
///
/// # Examples
///
/// ```
/// use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
/// use blitz_io::net::unix::pipe;
///
/// # fn main() -> std::io::Result<()> {
/// # let runtime = blitz_io::runtime::Builder::new_current_thread().enable_io().build()?;
/// # runtime.block_on(async {
/// let (mut sender, mut receiver) = pipe::pipe()?;
/// sender.write_all(b"hello").await?;
/// drop(sender);
/// let mut text = String::new();
/// receiver.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// # Ok(())
/// # })
/// # }
/// ```
#[track_caller]
pub fn pipe() -> io::Result<(Sender, Receiver)> {
    let (sender, receiver) = mio::unix::pipe::new()?;
    Ok((Sender::new(sender)?, Receiver::new(receiver)?))
}

/// Options for opening a pipe that has a name, a FIFO.
///
/// # Examples
///
/// ```no_run
/// use blitz_io::net::unix::pipe;
///
/// # async fn f() -> std::io::Result<()> {
/// let receiver = pipe::OpenOptions::new().open_receiver("path/to/a/fifo")?;
/// let sender = pipe::OpenOptions::new().open_sender("path/to/a/fifo")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    read_write: bool,
    unchecked: bool,
}

impl OpenOptions {
    /// Creates the default options.
    #[must_use]
    pub fn new() -> Self {
        Self {
            #[cfg(any(target_os = "linux", target_os = "android"))]
            read_write: false,
            unchecked: false,
        }
    }

    /// Opens the pipe for reading and writing, whichever end it is. Then opening it as a
    /// sender does not fail when there is no reader, and a receiver sees no end while it
    /// lives.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn read_write(&mut self, value: bool) -> &mut Self {
        self.read_write = value;
        self
    }

    /// Skips the check whether the file is a pipe.
    pub fn unchecked(&mut self, value: bool) -> &mut Self {
        self.unchecked = value;
        self
    }

    /// Opens the read end.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and `InvalidInput` if the file is not a pipe.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn open_receiver<P: AsRef<Path>>(&self, path: P) -> io::Result<Receiver> {
        Receiver::from_file_unchecked(self.open(path.as_ref(), true)?)
    }

    /// Opens the write end.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, `ENXIO` if the read end is not open anywhere, and
    /// `InvalidInput` if the file is not a pipe.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn open_sender<P: AsRef<Path>>(&self, path: P) -> io::Result<Sender> {
        Sender::from_file_unchecked(self.open(path.as_ref(), false)?)
    }

    fn open(&self, path: &Path, reads: bool) -> io::Result<File> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let both = self.read_write;
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let both = false;
        let file = std::fs::OpenOptions::new()
            .read(reads || both)
            .write(!reads || both)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)?;
        if !self.unchecked && !file.metadata()?.file_type().is_fifo() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a pipe"));
        }
        Ok(file)
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// The write end of a pipe.
#[derive(Debug)]
pub struct Sender {
    io: PollEvented<mio::unix::pipe::Sender>,
}

impl Sender {
    #[track_caller]
    fn new(pipe: mio::unix::pipe::Sender) -> io::Result<Self> {
        let io = PollEvented::with_interest(pipe, Interest::WRITABLE)?;
        Ok(Self { io })
    }

    /// Takes over a file that is a pipe, and sets it to non-blocking mode.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and `InvalidInput` if the file is not a pipe,
    /// or was opened for the other direction.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn from_file(file: File) -> io::Result<Self> {
        Self::from_owned_fd(file.into())
    }

    /// Takes over the descriptor of a pipe, and sets it to non-blocking mode.
    ///
    /// # Errors
    ///
    /// Same as for [`from_file`](Self::from_file).
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn from_owned_fd(owned_fd: OwnedFd) -> io::Result<Self> {
        let refusal = "not in O_WRONLY or O_RDWR access mode";
        Self::from_file_unchecked(nonblocking(owned_fd, libc::O_WRONLY, refusal)?)
    }

    /// Takes over a file that is a pipe, opened for this direction and in
    /// non-blocking mode.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn from_file_unchecked(file: File) -> io::Result<Self> {
        Self::from_owned_fd_unchecked(file.into())
    }

    /// Takes over the descriptor of a pipe, opened for this direction and in
    /// non-blocking mode.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn from_owned_fd_unchecked(owned_fd: OwnedFd) -> io::Result<Self> {
        Self::new(owned_fd.into())
    }

    /// Waits until the pipe is ready for any of `interest`.
    ///
    /// An operation may block even if the pipe is reported ready: always use one of the
    /// `try_` methods, which record that it would have blocked.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the pipe stays ready.
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        source::ready(self.io.registration(), interest).await
    }

    /// Waits until the pipe is writable.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the pipe stays writable.
    pub async fn writable(&self) -> io::Result<()> {
        self.ready(Interest::WRITABLE).await?;
        Ok(())
    }

    /// Waits until the pipe is writable. Only the waker of the last call is woken; any number of
    /// tasks may wait with [`writable`](Self::writable).
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        source::poll_ready(self.io.registration(), cx, Direction::Write)
    }

    /// Tries an operation on the pipe once, if it is ready. `f` returns
    /// `WouldBlock` if it would block, and is then not called again before the next
    /// event.
    ///
    /// # Errors
    ///
    /// Returns the errors of `f`, and `WouldBlock` if the pipe is not ready.
    pub fn try_io<R>(&self, f: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        let registration = self.io.registration();
        registration.try_io(Direction::Write.mask(), f)
    }

    /// Writes as many bytes as there is room for, without waiting. Returns the number of bytes.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and `WouldBlock` if there is no room.
    pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        stream::try_write(&self.io, buf)
    }

    /// Writes as many bytes of several buffers, in order, as there is room for, without
    /// waiting. Returns the number of bytes.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and `WouldBlock` if there is no room.
    pub fn try_write_vectored(&self, bufs: &[io::IoSlice<'_>]) -> io::Result<usize> {
        stream::try_write_vectored(&self.io, bufs)
    }

    /// Converts it into a descriptor in blocking mode.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn into_blocking_fd(self) -> io::Result<OwnedFd> {
        blocking(self.into_nonblocking_fd()?)
    }

    /// Converts it into a descriptor in non-blocking mode.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn into_nonblocking_fd(self) -> io::Result<OwnedFd> {
        Ok(self.io.into_inner()?.into())
    }
}

descriptors!(Sender);

/// The read end of a pipe.
#[derive(Debug)]
pub struct Receiver {
    io: PollEvented<mio::unix::pipe::Receiver>,
}

impl Receiver {
    #[track_caller]
    fn new(pipe: mio::unix::pipe::Receiver) -> io::Result<Self> {
        let io = PollEvented::with_interest(pipe, Interest::READABLE)?;
        Ok(Self { io })
    }

    /// Takes over a file that is a pipe, and sets it to non-blocking mode.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and `InvalidInput` if the file is not a pipe,
    /// or was opened for the other direction.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn from_file(file: File) -> io::Result<Self> {
        Self::from_owned_fd(file.into())
    }

    /// Takes over the descriptor of a pipe, and sets it to non-blocking mode.
    ///
    /// # Errors
    ///
    /// Same as for [`from_file`](Self::from_file).
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn from_owned_fd(owned_fd: OwnedFd) -> io::Result<Self> {
        let refusal = "not in O_RDONLY or O_RDWR access mode";
        Self::from_file_unchecked(nonblocking(owned_fd, libc::O_RDONLY, refusal)?)
    }

    /// Takes over a file that is a pipe, opened for this direction and in
    /// non-blocking mode.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn from_file_unchecked(file: File) -> io::Result<Self> {
        Self::from_owned_fd_unchecked(file.into())
    }

    /// Takes over the descriptor of a pipe, opened for this direction and in
    /// non-blocking mode.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn from_owned_fd_unchecked(owned_fd: OwnedFd) -> io::Result<Self> {
        Self::new(owned_fd.into())
    }

    /// Waits until the pipe is ready for any of `interest`.
    ///
    /// An operation may block even if the pipe is reported ready: always use one of the
    /// `try_` methods, which record that it would have blocked.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the pipe stays ready.
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        source::ready(self.io.registration(), interest).await
    }

    /// Waits until the pipe is readable.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the pipe stays readable.
    pub async fn readable(&self) -> io::Result<()> {
        self.ready(Interest::READABLE).await?;
        Ok(())
    }

    /// Waits until the pipe is readable. Only the waker of the last call is woken; any number of
    /// tasks may wait with [`readable`](Self::readable).
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        source::poll_ready(self.io.registration(), cx, Direction::Read)
    }

    /// Tries an operation on the pipe once, if it is ready. `f` returns
    /// `WouldBlock` if it would block, and is then not called again before the next
    /// event.
    ///
    /// # Errors
    ///
    /// Returns the errors of `f`, and `WouldBlock` if the pipe is not ready.
    pub fn try_io<R>(&self, f: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        let registration = self.io.registration();
        registration.try_io(Direction::Read.mask(), f)
    }

    /// Reads the available bytes, without waiting. Returns the number of bytes: 0 at the end
    /// of the stream, or if the buffer is empty.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and `WouldBlock` if there is nothing to read.
    pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.try_read(buf)
    }

    /// Reads the available bytes into several buffers, in order, without waiting. Returns the
    /// number of bytes: 0 at the end of the stream, or if the buffers are empty.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and `WouldBlock` if there is nothing to read.
    pub fn try_read_vectored(&self, bufs: &mut [io::IoSliceMut<'_>]) -> io::Result<usize> {
        stream::try_read_vectored(&self.io, bufs)
    }

    /// Reads the available bytes into a buffer that grows or tracks how far it is filled,
    /// without waiting. Returns the number of bytes: 0 at the end of the stream, or if the
    /// buffer has no room.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and `WouldBlock` if there is nothing to read.
    pub fn try_read_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        stream::try_read_buf(&self.io, buf)
    }

    /// Converts it into a descriptor in blocking mode.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn into_blocking_fd(self) -> io::Result<OwnedFd> {
        blocking(self.into_nonblocking_fd()?)
    }

    /// Converts it into a descriptor in non-blocking mode.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn into_nonblocking_fd(self) -> io::Result<OwnedFd> {
        Ok(self.io.into_inner()?.into())
    }
}

descriptors!(Receiver);

impl AsyncRead for Receiver {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        stream::poll_read(&self.io, cx, buf)
    }
}

foreign_traits!([] Receiver: read);

impl AsyncWrite for Sender {
    #[inline]
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.io.poll_write(cx, buf)
    }

    #[inline]
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.io.poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Does nothing, because nothing is buffered.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Does nothing: the other end sees the end when this one is dropped.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

foreign_traits!([] Sender: write);

fn flags(fd: BorrowedFd<'_>) -> io::Result<libc::c_int> {
    // SAFETY: the descriptor is open.
    match unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) } {
        -1 => Err(io::Error::last_os_error()),
        flags => Ok(flags),
    }
}

fn set_flags(fd: BorrowedFd<'_>, flags: libc::c_int) -> io::Result<()> {
    // SAFETY: the descriptor is open.
    match unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Sets the descriptor of a pipe to non-blocking mode, if it was opened with `access` or
/// for both directions.
fn nonblocking(fd: OwnedFd, access: libc::c_int, refusal: &'static str) -> io::Result<File> {
    let file = File::from(fd);
    if !file.metadata()?.file_type().is_fifo() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a pipe"));
    }
    let flags = flags(file.as_fd())?;
    let mode = flags & libc::O_ACCMODE;
    if mode != access && mode != libc::O_RDWR {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, refusal));
    }
    if flags & libc::O_NONBLOCK == 0 {
        set_flags(file.as_fd(), flags | libc::O_NONBLOCK)?;
    }
    Ok(file)
}

/// Sets the descriptor of a pipe to blocking mode.
fn blocking(fd: OwnedFd) -> io::Result<OwnedFd> {
    let flags = flags(fd.as_fd())?;
    set_flags(fd.as_fd(), flags & !libc::O_NONBLOCK)?;
    Ok(fd)
}
