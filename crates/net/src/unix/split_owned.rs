//! A stream in two halves that share its ownership.

use std::error::Error;
use std::fmt;
use std::io;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use blitz_io_aio::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use bytes::BufMut;

use super::SocketAddr;
use super::stream::UnixStream;
use crate::methods::owned_halves;

impl UnixStream {
    /// Splits the stream into a read half and a write half, for different tasks.
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        let stream = Arc::new(self);
        let write = OwnedWriteHalf(ManuallyDrop::new(stream.clone()));
        (OwnedReadHalf(stream), write)
    }
}

owned_halves!(UnixStream, SocketAddr, {});
