//! Sending and receiving datagrams: the part that UDP and Unix sockets share.
//!
//! The macro makes the methods of a type whose field `io` is the registered socket.

use std::io;
use std::task::{Context, Poll};

use blitz_io_aio::{BufResult, IoBufMut, ReadBuf};
use blitz_io_driver::{Direction, PollEvented};
use bytes::BufMut;
use mio::event::Source;

use crate::buf::{receive_buf, receive_owned, receive_read_buf};

/// A datagram socket.
///
/// # Safety
///
/// Both methods only write to their buffer, and have written as many bytes as they return.
pub(crate) unsafe trait DatagramSource: Source {
    type Addr;

    fn receive(&self, buf: &mut [u8]) -> io::Result<usize>;
    fn receive_from(&self, buf: &mut [u8]) -> io::Result<(usize, Self::Addr)>;
}

// SAFETY: one call of `recv` or `recvfrom`, or a copy of bytes that a simulated network has delivered.
unsafe impl DatagramSource for crate::sockets::UdpSocket {
    type Addr = std::net::SocketAddr;

    fn receive(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.recv(buf)
    }

    fn receive_from(&self, buf: &mut [u8]) -> io::Result<(usize, Self::Addr)> {
        self.recv_from(buf)
    }
}

pub(crate) fn poll_recv<S: DatagramSource>(
    io: &PollEvented<S>,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    let receive = |bytes: &mut [u8]| Ok((io.receive(bytes)?, ()));
    // SAFETY: `DatagramSource`.
    let receive = || unsafe { receive_read_buf(buf, receive) };
    (io.registration().poll_io(cx, Direction::Read, receive)).map_ok(|_| ())
}

pub(crate) async fn recv_buf<S: DatagramSource, B: BufMut>(
    io: &PollEvented<S>,
    buf: &mut B,
) -> io::Result<usize> {
    let receive = |bytes: &mut [u8]| Ok((io.receive(bytes)?, ()));
    // SAFETY: `DatagramSource`.
    let receive = || unsafe { receive_buf(buf, receive) };
    let registration = io.registration();
    let (n, ()) = registration
        .async_io(Direction::Read.mask(), receive)
        .await?;
    Ok(n)
}

pub(crate) fn try_recv_buf<S: DatagramSource, B: BufMut>(
    io: &PollEvented<S>,
    buf: &mut B,
) -> io::Result<usize> {
    let receive = |bytes: &mut [u8]| Ok((io.receive(bytes)?, ()));
    // SAFETY: `DatagramSource`.
    let receive = || unsafe { receive_buf(buf, receive) };
    let (n, ()) = (io.registration()).try_io(Direction::Read.mask(), receive)?;
    Ok(n)
}

pub(crate) async fn recv_owned<S: DatagramSource, B: IoBufMut>(
    io: &PollEvented<S>,
    mut buf: B,
) -> BufResult<usize, B> {
    let receive = |bytes: &mut [u8]| Ok((io.receive(bytes)?, ()));
    // SAFETY: `DatagramSource`.
    let receive = || unsafe { receive_owned(&mut buf, receive) };
    let result = (io.registration())
        .async_io(Direction::Read.mask(), receive)
        .await;
    (result.map(|(n, ())| n), buf)
}

pub(crate) async fn recv_from<S: DatagramSource>(
    io: &PollEvented<S>,
    buf: &mut [u8],
) -> io::Result<(usize, S::Addr)> {
    let receive = || io.receive_from(buf);
    (io.registration())
        .async_io(Direction::Read.mask(), receive)
        .await
}

pub(crate) fn poll_recv_from<S: DatagramSource>(
    io: &PollEvented<S>,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<io::Result<S::Addr>> {
    // SAFETY: `DatagramSource`.
    let receive = || unsafe { receive_read_buf(buf, |bytes| io.receive_from(bytes)) };
    (io.registration().poll_io(cx, Direction::Read, receive)).map_ok(|(_, addr)| addr)
}

pub(crate) fn try_recv_from<S: DatagramSource>(
    io: &PollEvented<S>,
    buf: &mut [u8],
) -> io::Result<(usize, S::Addr)> {
    (io.registration()).try_io(Direction::Read.mask(), || io.receive_from(buf))
}

pub(crate) async fn recv_buf_from<S: DatagramSource, B: BufMut>(
    io: &PollEvented<S>,
    buf: &mut B,
) -> io::Result<(usize, S::Addr)> {
    // SAFETY: `DatagramSource`.
    let receive = || unsafe { receive_buf(buf, |bytes| io.receive_from(bytes)) };
    (io.registration())
        .async_io(Direction::Read.mask(), receive)
        .await
}

pub(crate) fn try_recv_buf_from<S: DatagramSource, B: BufMut>(
    io: &PollEvented<S>,
    buf: &mut B,
) -> io::Result<(usize, S::Addr)> {
    // SAFETY: `DatagramSource`.
    let receive = || unsafe { receive_buf(buf, |bytes| io.receive_from(bytes)) };
    (io.registration()).try_io(Direction::Read.mask(), receive)
}

pub(crate) async fn recv_from_owned<S: DatagramSource, B: IoBufMut>(
    io: &PollEvented<S>,
    mut buf: B,
) -> BufResult<(usize, S::Addr), B> {
    // SAFETY: `DatagramSource`.
    let receive = || unsafe { receive_owned(&mut buf, |bytes| io.receive_from(bytes)) };
    let result = (io.registration())
        .async_io(Direction::Read.mask(), receive)
        .await;
    (result, buf)
}

/// Makes the methods that send to the address of a connected socket, and those that receive.
/// `$addr` is the type of addresses.
macro_rules! datagram_methods {
    ($addr:ty) => {
        /// Sends a datagram to the address to which the socket is connected, and returns
        /// the number of bytes.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        ///
        /// # Cancel safety
        ///
        /// Cancel safe: when the future is dropped, nothing has been sent.
        #[track_caller]
        pub fn send(&self, buf: &[u8]) -> impl Future<Output = std::io::Result<usize>> {
            blitz_io_observe::CalledAt::new(async move {
                let registration = self.io.registration();
                (registration.async_io(blitz_io_driver::Direction::Write.mask(), || {
                    self.io.send(buf)
                }))
                .await
            })
        }

        /// Sends a datagram to the address to which the socket is connected. Only the waker
        /// of the last call is woken.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        pub fn poll_send(
            &self,
            cx: &mut std::task::Context<'_>,
            buf: &[u8],
        ) -> std::task::Poll<std::io::Result<usize>> {
            let registration = self.io.registration();
            registration.poll_io(cx, blitz_io_driver::Direction::Write, || self.io.send(buf))
        }

        /// Sends a datagram to the address to which the socket is connected, without
        /// waiting.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is no room.
        pub fn try_send(&self, buf: &[u8]) -> std::io::Result<usize> {
            let registration = self.io.registration();
            registration.try_io(blitz_io_driver::Direction::Write.mask(), || {
                self.io.send(buf)
            })
        }

        /// Receives a datagram from the address to which the socket is connected, and
        /// returns the number of bytes; bytes that do not fit into the buffer are lost.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        ///
        /// # Cancel safety
        ///
        /// Cancel safe: when the future is dropped, nothing has been received.
        #[track_caller]
        pub fn recv(&self, buf: &mut [u8]) -> impl Future<Output = std::io::Result<usize>> {
            blitz_io_observe::CalledAt::new(async move {
                let registration = self.io.registration();
                (registration.async_io(blitz_io_driver::Direction::Read.mask(), || {
                    self.io.recv(buf)
                }))
                .await
            })
        }

        /// Receives a datagram from the address to which the socket is connected. Only the
        /// waker of the last call is woken.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        pub fn poll_recv(
            &self,
            cx: &mut std::task::Context<'_>,
            buf: &mut blitz_io_aio::ReadBuf<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            $crate::datagram::poll_recv(&self.io, cx, buf)
        }

        /// Receives a datagram from the address to which the socket is connected, without
        /// waiting.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is no datagram.
        pub fn try_recv(&self, buf: &mut [u8]) -> std::io::Result<usize> {
            let registration = self.io.registration();
            registration.try_io(blitz_io_driver::Direction::Read.mask(), || {
                self.io.recv(buf)
            })
        }

        /// Receives a datagram into a buffer that grows or tracks how far it is filled,
        /// like [`recv`](Self::recv).
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        ///
        /// # Cancel safety
        ///
        /// Cancel safe.
        #[track_caller]
        pub fn recv_buf<B: bytes::BufMut>(
            &self,
            buf: &mut B,
        ) -> impl Future<Output = std::io::Result<usize>> {
            blitz_io_observe::CalledAt::new(async move {
                $crate::datagram::recv_buf(&self.io, buf).await
            })
        }

        /// Receives a datagram into a buffer that grows or tracks how far it is filled,
        /// without waiting.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is no datagram.
        pub fn try_recv_buf<B: bytes::BufMut>(&self, buf: &mut B) -> std::io::Result<usize> {
            $crate::datagram::try_recv_buf(&self.io, buf)
        }

        /// Sends the contents of a buffer, as one datagram, to the address to which the
        /// socket is connected. The operation owns the buffer while it runs, and returns it
        /// with the number of bytes.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        ///
        /// # Cancel safety
        ///
        /// Cancel safe: when the future is dropped, nothing has been sent. Its buffer is
        /// dropped with it.
        #[track_caller]
        pub fn send_owned<B: blitz_io_aio::IoBuf>(
            &self,
            buf: B,
        ) -> impl Future<Output = blitz_io_aio::BufResult<usize, B>> {
            blitz_io_observe::CalledAt::new(async move {
                let result = self.send($crate::buf::init(&buf)).await;
                (result, buf)
            })
        }

        /// Receives a datagram from the address to which the socket is connected. The
        /// operation owns the buffer while it runs, and returns it with the number of
        /// bytes; bytes that do not fit into [it](blitz_io_aio::IoBuf::bytes_total) are lost.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        ///
        /// # Cancel safety
        ///
        /// Cancel safe: when the future is dropped, nothing has been received. Its buffer is
        /// dropped with it.
        #[track_caller]
        pub fn recv_owned<B: blitz_io_aio::IoBufMut>(
            &self,
            buf: B,
        ) -> impl Future<Output = blitz_io_aio::BufResult<usize, B>> {
            blitz_io_observe::CalledAt::new(async move {
                $crate::datagram::recv_owned(&self.io, buf).await
            })
        }

        /// Receives a datagram from any sender. Returns the number of bytes and the address
        /// of the sender; bytes that do not fit into the buffer are lost.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        ///
        /// # Cancel safety
        ///
        /// Cancel safe: when the future is dropped, nothing has been received.
        #[track_caller]
        pub fn recv_from(
            &self,
            buf: &mut [u8],
        ) -> impl Future<Output = std::io::Result<(usize, $addr)>> {
            blitz_io_observe::CalledAt::new(async move {
                $crate::datagram::recv_from(&self.io, buf).await
            })
        }

        /// Receives a datagram from any sender. Only the waker of the last call is woken.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        pub fn poll_recv_from(
            &self,
            cx: &mut std::task::Context<'_>,
            buf: &mut blitz_io_aio::ReadBuf<'_>,
        ) -> std::task::Poll<std::io::Result<$addr>> {
            $crate::datagram::poll_recv_from(&self.io, cx, buf)
        }

        /// Receives a datagram from any sender, without waiting.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is no datagram.
        pub fn try_recv_from(&self, buf: &mut [u8]) -> std::io::Result<(usize, $addr)> {
            $crate::datagram::try_recv_from(&self.io, buf)
        }

        /// Receives a datagram from any sender into a buffer that grows or tracks how far
        /// it is filled, like [`recv_from`](Self::recv_from).
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        ///
        /// # Cancel safety
        ///
        /// Cancel safe.
        #[track_caller]
        pub fn recv_buf_from<B: bytes::BufMut>(
            &self,
            buf: &mut B,
        ) -> impl Future<Output = std::io::Result<(usize, $addr)>> {
            blitz_io_observe::CalledAt::new(async move {
                $crate::datagram::recv_buf_from(&self.io, buf).await
            })
        }

        /// Receives a datagram from any sender into a buffer that grows or tracks how far
        /// it is filled, without waiting.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is no datagram.
        pub fn try_recv_buf_from<B: bytes::BufMut>(
            &self,
            buf: &mut B,
        ) -> std::io::Result<(usize, $addr)> {
            $crate::datagram::try_recv_buf_from(&self.io, buf)
        }

        /// Receives a datagram from any sender. The operation owns the buffer while it
        /// runs, and returns it with the number of bytes and the address of the sender;
        /// bytes that do not fit into [it](blitz_io_aio::IoBuf::bytes_total) are lost.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        ///
        /// # Cancel safety
        ///
        /// Cancel safe: when the future is dropped, nothing has been received. Its buffer is
        /// dropped with it.
        #[track_caller]
        pub fn recv_from_owned<B: blitz_io_aio::IoBufMut>(
            &self,
            buf: B,
        ) -> impl Future<Output = blitz_io_aio::BufResult<(usize, $addr), B>> {
            blitz_io_observe::CalledAt::new(async move {
                $crate::datagram::recv_from_owned(&self.io, buf).await
            })
        }
    };
}

pub(crate) use datagram_methods;
