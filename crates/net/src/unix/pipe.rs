//! Unix pipes, with and without a name.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use blitz_io_aio::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready, foreign_traits};
use blitz_io_driver::{Direction, PollEvented, bits};
use bytes::BufMut;

use crate::buf::receive_buf;
use crate::methods::{try_read, try_write};

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

/// Defines what both ends share.
macro_rules! end {
    ($end:ident, $access:ident, $direction:ident, $interest:expr, $refusal:literal, $waits:ident, $polls:ident, $verb:literal) => {
        impl $end {
            #[track_caller]
            fn new(pipe: mio::unix::pipe::$end) -> io::Result<Self> {
                let io = PollEvented::with_interest(pipe, $interest)?;
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
                let file = File::from(owned_fd);
                if !file.metadata()?.file_type().is_fifo() {
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a pipe"));
                }
                let flags = flags(file.as_fd())?;
                let mode = flags & libc::O_ACCMODE;
                if mode != libc::$access && mode != libc::O_RDWR {
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, $refusal));
                }
                if flags & libc::O_NONBLOCK == 0 {
                    set_flags(file.as_fd(), flags | libc::O_NONBLOCK)?;
                }
                Self::from_file_unchecked(file)
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
                // SAFETY: this function owns the descriptor and gives up its ownership.
                let pipe = unsafe { mio::unix::pipe::$end::from_raw_fd(owned_fd.into_raw_fd()) };
                Self::new(pipe)
            }

            /// Waits until the pipe is ready for any of `interest`.
            ///
            /// Cancel safe.
            ///
            /// # Errors
            ///
            /// Returns an error if the runtime has ended.
            pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
                let mask = bits::of_interest(interest);
                let event = self.io.registration().wait(mask).await?;
                Ok(bits::to_ready(event.bits))
            }

            #[doc = concat!("Waits until the pipe can be ", $verb, ".")]
            ///
            /// Cancel safe.
            ///
            /// # Errors
            ///
            /// Returns an error if the runtime has ended.
            pub async fn $waits(&self) -> io::Result<()> {
                self.ready($interest).await?;
                Ok(())
            }

            #[doc = concat!("Waits until the pipe can be ", $verb, ". The waker of the last call is the one that is woken.")]
            ///
            /// # Errors
            ///
            /// Returns an error if the runtime has ended.
            pub fn $polls(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                let registration = self.io.registration();
                registration.poll_ready(cx, Direction::$direction).map_ok(|_| ())
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
                registration.try_io(Direction::$direction.mask(), f)
            }

            /// Converts it into a descriptor in blocking mode.
            ///
            /// # Errors
            ///
            /// Returns the system's errors.
            pub fn into_blocking_fd(self) -> io::Result<OwnedFd> {
                let fd = self.into_nonblocking_fd()?;
                let flags = flags(fd.as_fd())?;
                set_flags(fd.as_fd(), flags & !libc::O_NONBLOCK)?;
                Ok(fd)
            }

            /// Converts it into a descriptor in non-blocking mode.
            ///
            /// # Errors
            ///
            /// Returns the system's errors.
            pub fn into_nonblocking_fd(self) -> io::Result<OwnedFd> {
                let pipe = self.io.into_inner()?;
                // SAFETY: the pipe owned its descriptor, and has given up its ownership.
                Ok(unsafe { OwnedFd::from_raw_fd(pipe.into_raw_fd()) })
            }
        }

        impl AsRawFd for $end {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                self.io.as_raw_fd()
            }
        }

        impl AsFd for $end {
            fn as_fd(&self) -> BorrowedFd<'_> {
                // SAFETY: the pipe owns its descriptor and is borrowed for as long.
                unsafe { BorrowedFd::borrow_raw(self.as_raw_fd()) }
            }
        }
    };
}

/// The write end of a pipe.
#[derive(Debug)]
pub struct Sender {
    io: PollEvented<mio::unix::pipe::Sender>,
}

/// The read end of a pipe.
#[derive(Debug)]
pub struct Receiver {
    io: PollEvented<mio::unix::pipe::Receiver>,
}

end!(
    Sender,
    O_WRONLY,
    Write,
    Interest::WRITABLE,
    "not in O_WRONLY or O_RDWR access mode",
    writable,
    poll_write_ready,
    "written"
);
end!(
    Receiver,
    O_RDONLY,
    Read,
    Interest::READABLE,
    "not in O_RDONLY or O_RDWR access mode",
    readable,
    poll_read_ready,
    "read"
);

impl Sender {
    try_write!();
}

impl Receiver {
    try_read!();
}

impl AsyncRead for Receiver {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: a read of the system only writes to its buffer, and returns how much.
        unsafe { self.io.poll_read(cx, buf) }
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
