//! A borrowed stream in two halves.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use blitz_io_aio::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use bytes::BufMut;

use super::SocketAddr;
use super::stream::UnixStream;
use crate::methods::halves;

impl UnixStream {
    /// Splits the stream into a read half and a write half, which borrow it.
    pub fn split<'a>(&'a mut self) -> (ReadHalf<'a>, WriteHalf<'a>) {
        (ReadHalf(self), WriteHalf(self))
    }
}

halves!(UnixStream, SocketAddr, {});
