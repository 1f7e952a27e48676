//! `empty`, `repeat`, `sink`: sources and destinations with nothing behind them.
//!
//! They never make a task wait, so each operation takes a unit of the task's budget.

use std::fmt;
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll};

use blitz_io_core::coop;
use bytes::BufMut;

use crate::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};

/// Returns `result` if the task has budget left.
fn at_once<R>(cx: &mut Context<'_>, result: R) -> Poll<R> {
    coop::poll_with(cx, |_| Poll::Ready(result))
}

/// A source that is always at its end, and a destination that accepts everything: see
/// [`empty`].
pub struct Empty(());

/// Creates a source that is always at its end. It is also a destination, which accepts
/// everything and discards it.
///
/// ```
/// use blitz_io::io::{self, AsyncReadExt};
///
/// # pollster::block_on(async {
/// let mut text = String::new();
/// assert_eq!(io::empty().read_to_string(&mut text).await?, 0);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub fn empty() -> Empty {
    Empty(())
}

impl AsyncRead for Empty {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        at_once(cx, Ok(()))
    }
}

impl AsyncBufRead for Empty {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        at_once(cx, Ok(&[]))
    }

    fn consume(self: Pin<&mut Self>, _: usize) {}
}

impl AsyncSeek for Empty {
    fn start_seek(self: Pin<&mut Self>, _: SeekFrom) -> io::Result<()> {
        Ok(())
    }

    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        at_once(cx, Ok(0))
    }
}

impl fmt::Debug for Empty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Empty { .. }")
    }
}

/// A destination that accepts everything and discards it: see [`sink`].
pub struct Sink(());

/// Creates a destination that accepts everything and discards it.
///
/// ```
/// use blitz_io::io::{self, AsyncWriteExt};
///
/// # pollster::block_on(async {
/// io::sink().write_all(b"gone").await?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub fn sink() -> Sink {
    Sink(())
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Sink { .. }")
    }
}

macro_rules! takes_everything {
    ($type:ty) => {
        impl AsyncWrite for $type {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                at_once(cx, Ok(buf.len()))
            }

            fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                at_once(cx, Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                at_once(cx, Ok(()))
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                at_once(cx, Ok(bufs.iter().map(|buf| buf.len()).sum()))
            }

            fn is_write_vectored(&self) -> bool {
                true
            }
        }
    };
}

takes_everything!(Empty);
takes_everything!(Sink);

/// A source that returns one byte endlessly: see [`repeat`].
#[derive(Debug)]
pub struct Repeat {
    byte: u8,
}

/// Creates a source that returns `byte` endlessly.
///
/// ```
/// use blitz_io::io::{self, AsyncReadExt};
///
/// # pollster::block_on(async {
/// let mut buf = [0; 3];
/// io::repeat(7).read_exact(&mut buf).await?;
/// assert_eq!(buf, [7; 3]);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub fn repeat(byte: u8) -> Repeat {
    Repeat { byte }
}

impl AsyncRead for Repeat {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        coop::poll_with(cx, |_| {
            buf.put_bytes(self.byte, buf.remaining());
            Poll::Ready(Ok(()))
        })
    }
}
