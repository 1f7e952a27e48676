//! A Unix socket that is neither connected nor listens yet.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::net;
use std::path::Path;

use socket2::{Domain, SockAddr, Socket, Type};

use super::datagram::UnixDatagram;
use super::listener::UnixListener;
use super::stream::UnixStream;

/// A Unix socket that is neither connected nor listens yet.
///
/// # Examples
///
/// ```
/// use blitz_io::net::{UnixSocket, UnixStream};
///
/// # fn main() -> std::io::Result<()> {
/// # let runtime = blitz_io::runtime::Builder::new_current_thread().enable_io().build()?;
/// # runtime.block_on(async {
/// let path = std::env::temp_dir().join(format!("blitz-socket-{}", std::process::id()));
/// let socket = UnixSocket::new_stream()?;
/// socket.bind(&path)?;
/// let listener = socket.listen(16)?;
/// let _client = UnixStream::connect(&path).await?;
/// listener.accept().await?;
/// # std::fs::remove_file(&path)
/// # })
/// # }
/// ```
#[derive(Debug)]
pub struct UnixSocket {
    inner: Socket,
}

impl UnixSocket {
    /// Creates a socket for datagrams.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn new_datagram() -> io::Result<Self> {
        Self::new(Type::DGRAM)
    }

    /// Creates a socket for a stream.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn new_stream() -> io::Result<Self> {
        Self::new(Type::STREAM)
    }

    fn new(kind: Type) -> io::Result<Self> {
        let inner = Socket::new(Domain::UNIX, kind, None)?;
        inner.set_nonblocking(true)?;
        Ok(Self { inner })
    }

    fn is_datagram(&self) -> io::Result<bool> {
        Ok(self.inner.r#type()? == Type::DGRAM)
    }

    /// Binds the socket to a path, which must not exist yet.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn bind(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.inner.bind(&SockAddr::unix(path)?)
    }

    /// Makes the socket accept connections. `backlog` limits how many may wait to be
    /// accepted.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and an error if the socket is for datagrams.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn listen(self, backlog: u32) -> io::Result<UnixListener> {
        if self.is_datagram()? {
            return Err(io::Error::other(
                "listen cannot be called on a datagram socket",
            ));
        }
        self.inner
            .listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
        let listener = net::UnixListener::from(OwnedFd::from(self.inner));
        UnixListener::new(mio::net::UnixListener::from_std(listener))
    }

    /// Connects the socket to the one at a path.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and an error if the socket is for datagrams.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn connect(self, path: impl AsRef<Path>) -> impl Future<Output = io::Result<UnixStream>> {
        blitz_io_observe::CalledAt::new(async move {
            if self.is_datagram()? {
                return Err(io::Error::other(
                    "connect cannot be called on a datagram socket",
                ));
            }
            match self.inner.connect(&SockAddr::unix(path)?) {
                Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
                _ => {}
            }
            let stream = net::UnixStream::from(OwnedFd::from(self.inner));
            UnixStream::connected(mio::net::UnixStream::from_std(stream)).await
        })
    }

    /// Converts the socket into one for datagrams.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and an error if the socket is for a stream.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn datagram(self) -> io::Result<UnixDatagram> {
        if !self.is_datagram()? {
            return Err(io::Error::other(
                "datagram cannot be called on a stream socket",
            ));
        }
        UnixDatagram::from_std(net::UnixDatagram::from(OwnedFd::from(self.inner)))
    }
}

impl AsRawFd for UnixSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.inner.as_raw_fd()
    }
}

impl AsFd for UnixSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

impl FromRawFd for UnixSocket {
    /// Takes over a descriptor, which must be that of a Unix socket in non-blocking mode.
    unsafe fn from_raw_fd(fd: RawFd) -> Self {
        // SAFETY: the caller owns the descriptor, and gives it away.
        let inner = unsafe { Socket::from_raw_fd(fd) };
        Self { inner }
    }
}

impl IntoRawFd for UnixSocket {
    fn into_raw_fd(self) -> RawFd {
        self.inner.into_raw_fd()
    }
}
