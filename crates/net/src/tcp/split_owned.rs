//! A stream in two halves that share its ownership.

use std::error::Error;
use std::fmt;
use std::io;
use std::mem::ManuallyDrop;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use blitz_io_aio::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use bytes::BufMut;

use super::stream::TcpStream;
use crate::methods::owned_halves;

impl TcpStream {
    /// Splits the stream into a read half and a write half, for different tasks.
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        let stream = Arc::new(self);
        let write = OwnedWriteHalf(ManuallyDrop::new(stream.clone()));
        (OwnedReadHalf(stream), write)
    }
}

owned_halves!(TcpStream, SocketAddr, {
    /// Waits for bytes and copies them, without taking them out of the stream.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn poll_peek(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<usize>> {
        self.0.poll_peek(cx, buf)
    }

    /// Waits for bytes and copies them, without taking them out of the stream.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub async fn peek(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.peek(buf).await
    }
});
