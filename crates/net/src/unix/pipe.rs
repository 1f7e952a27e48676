//! Unix pipes, with and without a name.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use blitz_io_aio::Interest;
use blitz_io_driver::{Direction, PollEvented};

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

/// Makes what both ends of a pipe have. Each end is registered for one direction, and its descriptor is open for
/// it.
macro_rules! end {
    ($end:ident, $source:ty, $interest:expr, $direction:expr, $access:ident) => {
        impl $end {
            #[track_caller]
            fn new(pipe: $source) -> io::Result<Self> {
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
                let refusal = concat!("not in ", stringify!($access), " or O_RDWR access mode");
                Self::from_file_unchecked(nonblocking(owned_fd, libc::$access, refusal)?)
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

            source::ready_method!("pipe");

            /// Tries an operation on the pipe once, if it is ready. `f` returns
            /// `WouldBlock` if it would block, and is then not called again before the next
            /// event.
            ///
            /// # Errors
            ///
            /// Returns the errors of `f`, and `WouldBlock` if the pipe is not ready.
            pub fn try_io<R>(&self, f: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
                let registration = self.io.registration();
                registration.try_io($direction.mask(), f)
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

        descriptors!($end);
    };
}

/// The write end of a pipe.
#[derive(Debug)]
pub struct Sender {
    io: PollEvented<mio::unix::pipe::Sender>,
}

end!(
    Sender,
    mio::unix::pipe::Sender,
    Interest::WRITABLE,
    Direction::Write,
    O_WRONLY
);

impl Sender {
    source::writable_methods!("pipe", poll_write_ready);
    stream::write_methods!();
}

stream::impl_async_write!(
    Sender, |this| this.io,
    flush = "Does nothing, because nothing is buffered.",
    /// Does nothing: the other end sees the end when this one is dropped.
    shutdown = Ok(())
);

/// The read end of a pipe.
#[derive(Debug)]
pub struct Receiver {
    io: PollEvented<mio::unix::pipe::Receiver>,
}

end!(
    Receiver,
    mio::unix::pipe::Receiver,
    Interest::READABLE,
    Direction::Read,
    O_RDONLY
);

impl Receiver {
    source::readable_methods!("pipe", poll_read_ready);
    stream::read_methods!();
}

stream::impl_async_read!(Receiver, |this| &this.io);

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
