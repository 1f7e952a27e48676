//! Receiving datagrams: the part that UDP and Unix sockets share.

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

// SAFETY: one call of `recv` or `recvfrom`.
unsafe impl DatagramSource for mio::net::UdpSocket {
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
