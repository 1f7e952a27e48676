//! A TCP socket that is neither connected nor listens yet.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use blitz_io_observe::decisions;
use socket2::{Domain, Protocol, Socket, Type};

use super::listener::TcpListener;
use super::stream::TcpStream;
use crate::sockets::{self, Bound};

/// A TCP socket that is neither connected nor listens yet, so that its options can be set
/// first.
///
/// # Examples
///
/// ```
/// use blitz_io::net::TcpSocket;
///
/// # fn main() -> std::io::Result<()> {
/// # let runtime = blitz_io::runtime::Builder::new_current_thread().enable_io().build()?;
/// # runtime.block_on(async {
/// let socket = TcpSocket::new_v4()?;
/// socket.set_reuseaddr(true)?;
/// socket.bind("127.0.0.1:0".parse().unwrap())?;
/// let listener = socket.listen(1024)?;
///
/// let client = TcpSocket::new_v4()?.connect(listener.local_addr()?);
/// let (client, accepted) = (client.await?, listener.accept().await?);
/// assert_eq!(client.local_addr()?, accepted.1);
/// # Ok(())
/// # })
/// # }
/// ```
pub struct TcpSocket {
    inner: Socket,
    bound: Bound,
}

impl TcpSocket {
    /// Creates a socket for IPv4 addresses.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn new_v4() -> io::Result<Self> {
        Self::new(Domain::IPV4)
    }

    /// Creates a socket for IPv6 addresses.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn new_v6() -> io::Result<Self> {
        Self::new(Domain::IPV6)
    }

    fn new(domain: Domain) -> io::Result<Self> {
        // In a simulation it only keeps the options.
        let new = || Socket::new(domain, Type::STREAM, Some(Protocol::TCP));
        let inner = decisions::with_system(new)?;
        inner.set_nonblocking(true)?;
        Ok(Self::of(inner))
    }

    fn of(inner: Socket) -> Self {
        let bound = Bound::default();
        Self { inner, bound }
    }

    /// Returns whether a connection that is idle is probed from time to time, `SO_KEEPALIVE`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn keepalive(&self) -> io::Result<bool> {
        self.inner.keepalive()
    }

    /// Sets whether a connection that is idle is probed from time to time, `SO_KEEPALIVE`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn set_keepalive(&self, keepalive: bool) -> io::Result<()> {
        self.inner.set_keepalive(keepalive)
    }

    /// Returns whether an address may be bound that was in use until recently,
    /// `SO_REUSEADDR`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn reuseaddr(&self) -> io::Result<bool> {
        self.inner.reuse_address()
    }

    /// Sets whether an address may be bound that was in use until recently, `SO_REUSEADDR`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn set_reuseaddr(&self, reuseaddr: bool) -> io::Result<()> {
        self.inner.set_reuse_address(reuseaddr)
    }

    /// Returns whether several sockets may be bound to one address, `SO_REUSEPORT`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    #[cfg(all(unix, not(any(target_os = "solaris", target_os = "illumos"))))]
    pub fn reuseport(&self) -> io::Result<bool> {
        self.inner.reuse_port()
    }

    /// Sets whether several sockets may be bound to one address, `SO_REUSEPORT`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    #[cfg(all(unix, not(any(target_os = "solaris", target_os = "illumos"))))]
    pub fn set_reuseport(&self, reuseport: bool) -> io::Result<()> {
        self.inner.set_reuse_port(reuseport)
    }

    /// Returns whether small writes are sent at once, `TCP_NODELAY`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.inner.tcp_nodelay()
    }

    /// Sets whether small writes are sent at once, `TCP_NODELAY`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.inner.set_tcp_nodelay(nodelay)
    }

    /// Returns the traffic class of packets of IPv6, `IPV6_TCLASS`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    #[cfg(any(
        target_os = "android",
        target_os = "dragonfly",
        target_os = "freebsd",
        target_os = "fuchsia",
        target_os = "linux",
        target_os = "macos",
        target_os = "netbsd",
        target_os = "openbsd"
    ))]
    pub fn tclass_v6(&self) -> io::Result<u32> {
        self.inner.tclass_v6()
    }

    /// Sets the traffic class of packets of IPv6, `IPV6_TCLASS`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    #[cfg(any(
        target_os = "android",
        target_os = "dragonfly",
        target_os = "freebsd",
        target_os = "fuchsia",
        target_os = "linux",
        target_os = "macos",
        target_os = "netbsd",
        target_os = "openbsd"
    ))]
    pub fn set_tclass_v6(&self, tclass: u32) -> io::Result<()> {
        self.inner.set_tclass_v6(tclass)
    }

    /// Returns the type of service of packets of IPv4, `IP_TOS`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    #[cfg(not(any(
        target_os = "fuchsia",
        target_os = "redox",
        target_os = "solaris",
        target_os = "illumos",
        target_os = "haiku",
        target_os = "wasi"
    )))]
    pub fn tos_v4(&self) -> io::Result<u32> {
        self.inner.tos_v4()
    }

    /// Sets the type of service of packets of IPv4, `IP_TOS`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    #[cfg(not(any(
        target_os = "fuchsia",
        target_os = "redox",
        target_os = "solaris",
        target_os = "illumos",
        target_os = "haiku",
        target_os = "wasi"
    )))]
    pub fn set_tos_v4(&self, tos: u32) -> io::Result<()> {
        self.inner.set_tos_v4(tos)
    }

    /// Returns the type of service of IPv4 packets.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    #[deprecated(note = "the option is that of IPv4 only; use `tos_v4`")]
    #[cfg(not(any(
        target_os = "fuchsia",
        target_os = "redox",
        target_os = "solaris",
        target_os = "illumos",
        target_os = "haiku",
        target_os = "wasi"
    )))]
    pub fn tos(&self) -> io::Result<u32> {
        self.tos_v4()
    }

    /// Sets the type of service of IPv4 packets.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    #[deprecated(note = "the option is that of IPv4 only; use `set_tos_v4`")]
    #[cfg(not(any(
        target_os = "fuchsia",
        target_os = "redox",
        target_os = "solaris",
        target_os = "illumos",
        target_os = "haiku",
        target_os = "wasi"
    )))]
    pub fn set_tos(&self, tos: u32) -> io::Result<()> {
        self.set_tos_v4(tos)
    }

    /// Returns the size of the send buffer in bytes, `SO_SNDBUF`. Linux reports twice the
    /// value that was set.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn send_buffer_size(&self) -> io::Result<u32> {
        self.inner.send_buffer_size().map(size)
    }

    /// Sets the size of the send buffer in bytes, `SO_SNDBUF`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn set_send_buffer_size(&self, size: u32) -> io::Result<()> {
        self.inner.set_send_buffer_size(size as usize)
    }

    /// Returns the size of the receive buffer in bytes, `SO_RCVBUF`. Linux reports twice
    /// the value that was set.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn recv_buffer_size(&self) -> io::Result<u32> {
        self.inner.recv_buffer_size().map(size)
    }

    /// Sets the size of the receive buffer in bytes, `SO_RCVBUF`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn set_recv_buffer_size(&self, size: u32) -> io::Result<()> {
        self.inner.set_recv_buffer_size(size as usize)
    }

    /// Returns how long closing the socket waits for unsent data, `SO_LINGER`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        self.inner.linger()
    }

    /// Sets how long closing the socket waits for unsent data, `SO_LINGER`, in full
    /// seconds. Closing then blocks its thread.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    #[deprecated(
        note = "blocks the thread that drops the stream; use `set_zero_linger` to reset the connection"
    )]
    pub fn set_linger(&self, dur: Option<Duration>) -> io::Result<()> {
        self.inner.set_linger(dur)
    }

    /// Makes closing the socket reset the connection: unsent data is discarded.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn set_zero_linger(&self) -> io::Result<()> {
        self.inner.set_linger(Some(Duration::ZERO))
    }

    /// Returns the name of the network interface to which the socket is bound,
    /// `SO_BINDTODEVICE`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    pub fn device(&self) -> io::Result<Option<Vec<u8>>> {
        self.inner.device()
    }

    /// Binds the socket to a network interface, or to none, `SO_BINDTODEVICE`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    pub fn bind_device(&self, interface: Option<&[u8]>) -> io::Result<()> {
        self.inner.bind_device(interface)
    }

    /// Returns the address to which the socket is bound.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let addr = sockets::local_addr(&self.inner, &self.bound)?;
        addr.as_socket()
            .ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    /// Returns the pending error of the socket, `SO_ERROR`, and clears it.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.inner.take_error()
    }

    /// Binds the socket to an address.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn bind(&self, addr: SocketAddr) -> io::Result<()> {
        sockets::bind(&self.inner, &self.bound, addr)
    }

    /// Connects the socket.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn connect(self, addr: SocketAddr) -> impl Future<Output = io::Result<TcpStream>> {
        blitz_io_observe::CalledAt::new(async move {
            let stream = sockets::connect(self.inner, &self.bound, addr)?;
            TcpStream::connected(stream).await
        })
    }

    /// Makes the socket accept connections. `backlog` limits how many may wait to be
    /// accepted; the system may have a lower limit.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn listen(self, backlog: u32) -> io::Result<TcpListener> {
        let backlog = i32::try_from(backlog).unwrap_or(i32::MAX);
        TcpListener::new(sockets::listen(self.inner, &self.bound, backlog)?)
    }

    /// Takes over a standard library socket, whose type there is a stream although it is
    /// not connected yet. It must be in non-blocking mode.
    pub fn from_std_stream(std_stream: std::net::TcpStream) -> Self {
        Self::of(std_stream.into())
    }
}

fn size(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

impl fmt::Debug for TcpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[cfg(unix)]
mod descriptors {
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, RawFd};

    use super::{Socket, TcpSocket};

    impl AsRawFd for TcpSocket {
        fn as_raw_fd(&self) -> RawFd {
            self.inner.as_raw_fd()
        }
    }

    impl AsFd for TcpSocket {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.inner.as_fd()
        }
    }

    impl FromRawFd for TcpSocket {
        /// Takes over a descriptor, which must be that of a TCP socket in non-blocking mode.
        unsafe fn from_raw_fd(fd: RawFd) -> Self {
            // SAFETY: the caller owns the descriptor, and gives up its ownership.
            let inner = unsafe { Socket::from_raw_fd(fd) };
            Self::of(inner)
        }
    }

    impl IntoRawFd for TcpSocket {
        fn into_raw_fd(self) -> RawFd {
            self.inner.into_raw_fd()
        }
    }
}

#[cfg(windows)]
mod descriptors {
    use std::os::windows::io::{
        AsRawSocket, AsSocket, BorrowedSocket, FromRawSocket, IntoRawSocket, RawSocket,
    };

    use super::{Socket, TcpSocket};

    impl AsRawSocket for TcpSocket {
        fn as_raw_socket(&self) -> RawSocket {
            self.inner.as_raw_socket()
        }
    }

    impl AsSocket for TcpSocket {
        fn as_socket(&self) -> BorrowedSocket<'_> {
            self.inner.as_socket()
        }
    }

    impl FromRawSocket for TcpSocket {
        /// Takes over a handle, which must be that of a TCP socket in non-blocking mode.
        unsafe fn from_raw_socket(socket: RawSocket) -> Self {
            // SAFETY: the caller owns the handle, and gives up its ownership.
            let inner = unsafe { Socket::from_raw_socket(socket) };
            Self::of(inner)
        }
    }

    impl IntoRawSocket for TcpSocket {
        fn into_raw_socket(self) -> RawSocket {
            self.inner.into_raw_socket()
        }
    }
}
