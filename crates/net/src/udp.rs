//! A UDP socket.

use std::fmt;
use std::io;
use std::net::{self, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::task::{Context, Poll};

use blitz_io_aio::{BufResult, IoBuf, ReadBuf};
use blitz_io_driver::{Direction, PollEvented};
use socket2::SockRef;

use crate::addr::{self, ToSocketAddrs, no_address, resolve};
use crate::buf::receive_read_buf;
use crate::descriptors::descriptors;
use crate::{buf, datagram, sockets, source};

/// A UDP socket.
///
/// It sends to and receives from any address, or, once it is connected, only one. All
/// methods take `&self`: share it between tasks with an `Arc`.
///
/// # Examples
///
/// ```
/// use blitz_io::net::UdpSocket;
///
/// # fn main() -> std::io::Result<()> {
/// # let runtime = blitz_io::runtime::Builder::new_current_thread().enable_io().build()?;
/// # runtime.block_on(async {
/// let server = UdpSocket::bind("127.0.0.1:0").await?;
/// let client = UdpSocket::bind("127.0.0.1:0").await?;
/// client.send_to(b"hello", server.local_addr()?).await?;
/// let mut buffer = [0; 16];
/// let (n, from) = server.recv_from(&mut buffer).await?;
/// assert_eq!((&buffer[..n], from), (&b"hello"[..], client.local_addr()?));
/// # Ok(())
/// # })
/// # }
/// ```
pub struct UdpSocket {
    io: PollEvented<sockets::UdpSocket>,
}

impl UdpSocket {
    /// Creates a socket that is bound to an address. Of several addresses, the first one is
    /// used that can be bound. Port 0 lets the system choose one.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    pub async fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<Self> {
        addr::first(addr, async |addr| {
            Self::new(sockets::UdpSocket::bind(addr)?)
        })
        .await
    }

    #[track_caller]
    fn new(socket: sockets::UdpSocket) -> io::Result<Self> {
        let io = sockets::register(socket)?;
        Ok(Self { io })
    }

    /// Registers a standard library socket, which must be in non-blocking mode.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O. In a debug build, also if the
    /// socket is in blocking mode.
    #[track_caller]
    pub fn from_std(socket: net::UdpSocket) -> io::Result<Self> {
        source::assert_nonblocking(&socket)?;
        Self::new(sockets::UdpSocket::from_std(socket))
    }

    /// Converts it into a standard library socket, in non-blocking mode.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn into_std(self) -> io::Result<net::UdpSocket> {
        sockets::udp_into_std(self.io.into_inner()?)
    }

    fn socket(&self) -> SockRef<'_> {
        SockRef::from(self)
    }

    /// Returns the address to which the socket is bound.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    /// Returns the address to which the socket is connected.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, for example if it is not connected.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.peer_addr()
    }

    /// Connects the socket to an address: it sends only there, and receives only from
    /// there. Of several addresses, the first one is used that the system accepts.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    #[track_caller]
    pub fn connect<A: ToSocketAddrs>(&self, addr: A) -> impl Future<Output = io::Result<()>> {
        blitz_io_observe::CalledAt::new(async move {
            addr::first(addr, async |addr| self.io.connect(addr)).await
        })
    }

    source::ready_method!("socket");
    source::readable_methods!("socket", poll_recv_ready);
    source::writable_methods!("socket", poll_send_ready);
    source::try_io_methods!("socket", |io, f| io.try_io(f));

    datagram::datagram_methods!(SocketAddr);

    /// Sends a datagram to an address, or to the first of several. Returns the number of
    /// bytes.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: when the future is dropped, nothing has been sent.
    #[track_caller]
    pub fn send_to<A: ToSocketAddrs>(
        &self,
        buf: &[u8],
        addr: A,
    ) -> impl Future<Output = io::Result<usize>> {
        blitz_io_observe::CalledAt::new(async move {
            let target = resolve(addr).await?.next().ok_or_else(no_address)?;
            let send = || self.io.send_to(buf, target);
            let registration = self.io.registration();
            registration.async_io(Direction::Write.mask(), send).await
        })
    }

    /// Sends the contents of a buffer, as one datagram, to an address, or to the first of
    /// several. The operation owns the buffer while it runs, and returns it with the number
    /// of bytes.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: when the future is dropped, nothing has been sent. Its buffer is
    /// dropped with it.
    ///
    /// ```
    /// use blitz_io::net::UdpSocket;
    ///
    /// # #[blitz_io::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let server = UdpSocket::bind("127.0.0.1:0").await?;
    /// let client = UdpSocket::bind("127.0.0.1:0").await?;
    /// let (sent, text) = client.send_to_owned("hello", server.local_addr()?).await;
    /// assert_eq!(sent?, text.len());
    ///
    /// let (received, bytes) = server.recv_from_owned(Vec::with_capacity(64)).await;
    /// assert_eq!(received?, (5, client.local_addr()?));
    /// assert_eq!(bytes, b"hello");
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn send_to_owned<B: IoBuf, A: ToSocketAddrs>(
        &self,
        buf: B,
        addr: A,
    ) -> impl Future<Output = BufResult<usize, B>> {
        blitz_io_observe::CalledAt::new(async move {
            let result = self.send_to(buf::init(&buf), addr).await;
            (result, buf)
        })
    }

    /// Sends a datagram to an address. Only the waker of the last call is woken.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        target: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        let registration = self.io.registration();
        registration.poll_io(cx, Direction::Write, || self.io.send_to(buf, target))
    }

    /// Sends a datagram to an address, without waiting.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and `WouldBlock` if there is no room.
    pub fn try_send_to(&self, buf: &[u8], target: SocketAddr) -> io::Result<usize> {
        let registration = self.io.registration();
        registration.try_io(Direction::Write.mask(), || self.io.send_to(buf, target))
    }

    /// Receives a datagram from the address to which the socket is connected, and leaves it
    /// in the queue: the next call receives it again.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    #[track_caller]
    pub fn peek(&self, buf: &mut [u8]) -> impl Future<Output = io::Result<usize>> {
        blitz_io_observe::CalledAt::new(async move {
            let registration = self.io.registration();
            (registration.async_io(Direction::Read.mask(), || self.io.peek(buf))).await
        })
    }

    /// Works like [`peek`](Self::peek), as a poll. Only the waker of the last call is
    /// woken.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn poll_peek(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let peek = |bytes: &mut [u8]| Ok((self.io.peek(bytes)?, ()));
        let registration = self.io.registration();
        registration.poll_io(cx, Direction::Read, || {
            // SAFETY: the system only writes to the buffer, and returns how much.
            unsafe { receive_read_buf(buf, peek) }?;
            Ok(())
        })
    }

    /// Works like [`peek`](Self::peek), without waiting.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and `WouldBlock` if there is no datagram.
    pub fn try_peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        let registration = self.io.registration();
        registration.try_io(Direction::Read.mask(), || self.io.peek(buf))
    }

    /// Receives a datagram from any sender, and leaves it in the queue: the next call
    /// receives it again.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    #[track_caller]
    pub fn peek_from(
        &self,
        buf: &mut [u8],
    ) -> impl Future<Output = io::Result<(usize, SocketAddr)>> {
        blitz_io_observe::CalledAt::new(async move {
            let registration = self.io.registration();
            (registration.async_io(Direction::Read.mask(), || self.io.peek_from(buf))).await
        })
    }

    /// Works like [`peek_from`](Self::peek_from), as a poll. Only the waker of the last
    /// call is woken.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn poll_peek_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        let registration = self.io.registration();
        registration.poll_io(cx, Direction::Read, || {
            // SAFETY: the system only writes to the buffer, and returns how much.
            let (_, addr) = unsafe { receive_read_buf(buf, |bytes| self.io.peek_from(bytes)) }?;
            Ok(addr)
        })
    }

    /// Works like [`peek_from`](Self::peek_from), without waiting.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and `WouldBlock` if there is no datagram.
    pub fn try_peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let registration = self.io.registration();
        registration.try_io(Direction::Read.mask(), || self.io.peek_from(buf))
    }

    /// Waits for a datagram, and returns the address of its sender.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    #[track_caller]
    pub fn peek_sender(&self) -> impl Future<Output = io::Result<SocketAddr>> {
        blitz_io_observe::CalledAt::new(async move {
            let registration = self.io.registration();
            (registration.async_io(Direction::Read.mask(), || self.sender())).await
        })
    }

    /// Works like [`peek_sender`](Self::peek_sender), as a poll. Only the waker of the last
    /// call is woken.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn poll_peek_sender(&self, cx: &mut Context<'_>) -> Poll<io::Result<SocketAddr>> {
        let registration = self.io.registration();
        registration.poll_io(cx, Direction::Read, || self.sender())
    }

    /// Works like [`peek_sender`](Self::peek_sender), without waiting.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and `WouldBlock` if there is no datagram.
    pub fn try_peek_sender(&self) -> io::Result<SocketAddr> {
        let registration = self.io.registration();
        registration.try_io(Direction::Read.mask(), || self.sender())
    }

    fn sender(&self) -> io::Result<SocketAddr> {
        sockets::peek_sender(&self.io)?
            .as_socket()
            .ok_or_else(|| io::Error::other("the sender has no address of IP"))
    }

    /// Returns whether it may send to a broadcast address, `SO_BROADCAST`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn broadcast(&self) -> io::Result<bool> {
        self.io.broadcast()
    }

    /// Sets whether it may send to a broadcast address, `SO_BROADCAST`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn set_broadcast(&self, on: bool) -> io::Result<()> {
        self.io.set_broadcast(on)
    }

    /// Returns whether multicasts of IPv4 come back to this host, `IP_MULTICAST_LOOP`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn multicast_loop_v4(&self) -> io::Result<bool> {
        self.io.multicast_loop_v4()
    }

    /// Sets whether multicasts of IPv4 come back to this host, `IP_MULTICAST_LOOP`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn set_multicast_loop_v4(&self, on: bool) -> io::Result<()> {
        self.io.set_multicast_loop_v4(on)
    }

    /// Returns how many routers a multicast of IPv4 may pass, `IP_MULTICAST_TTL`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn multicast_ttl_v4(&self) -> io::Result<u32> {
        self.io.multicast_ttl_v4()
    }

    /// Sets how many routers a multicast of IPv4 may pass, `IP_MULTICAST_TTL`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn set_multicast_ttl_v4(&self, ttl: u32) -> io::Result<()> {
        self.io.set_multicast_ttl_v4(ttl)
    }

    /// Returns whether multicasts of IPv6 come back to this host, `IPV6_MULTICAST_LOOP`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn multicast_loop_v6(&self) -> io::Result<bool> {
        self.io.multicast_loop_v6()
    }

    /// Sets whether multicasts of IPv6 come back to this host, `IPV6_MULTICAST_LOOP`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn set_multicast_loop_v6(&self, on: bool) -> io::Result<()> {
        self.io.set_multicast_loop_v6(on)
    }

    /// Returns how many routers a packet may pass, `IP_TTL`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn ttl(&self) -> io::Result<u32> {
        self.io.ttl()
    }

    /// Sets how many routers a packet may pass, `IP_TTL`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.io.set_ttl(ttl)
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
        self.socket().tclass_v6()
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
        self.socket().set_tclass_v6(tclass)
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
        self.socket().tos_v4()
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
        self.socket().set_tos_v4(tos)
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

    /// Returns the name of the network interface to which the socket is bound,
    /// `SO_BINDTODEVICE`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    pub fn device(&self) -> io::Result<Option<Vec<u8>>> {
        self.socket().device()
    }

    /// Binds the socket to a network interface, or to none, `SO_BINDTODEVICE`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    pub fn bind_device(&self, interface: Option<&[u8]>) -> io::Result<()> {
        self.socket().bind_device(interface)
    }

    /// Joins an IPv4 multicast group, at the interface with this address.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn join_multicast_v4(&self, multiaddr: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.io.join_multicast_v4(&multiaddr, &interface)
    }

    /// Joins an IPv6 multicast group, at the interface with this index.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn join_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.join_multicast_v6(multiaddr, interface)
    }

    /// Leaves an IPv4 multicast group.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn leave_multicast_v4(&self, multiaddr: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.io.leave_multicast_v4(&multiaddr, &interface)
    }

    /// Leaves an IPv6 multicast group.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn leave_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.leave_multicast_v6(multiaddr, interface)
    }

    /// Returns the pending error of the socket, `SO_ERROR`, and clears it.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.take_error()
    }
}

impl TryFrom<net::UdpSocket> for UdpSocket {
    type Error = io::Error;

    /// See [`UdpSocket::from_std`].
    fn try_from(socket: net::UdpSocket) -> io::Result<Self> {
        Self::from_std(socket)
    }
}

impl fmt::Debug for UdpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.io.fmt(f)
    }
}

descriptors!(UdpSocket);
