//! `copy_buf`: from a source with a buffer to a destination.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use blitz_io_core::coop;

use crate::{AsyncBufRead, AsyncWrite};

/// Copies everything from `reader` to `writer`, flushes it, and returns the number of bytes
/// copied.
///
/// It writes directly from the buffer of the source.
///
/// # Errors
///
/// Returns [`WriteZero`](io::ErrorKind::WriteZero) if the destination accepts no more, and
/// the errors of both, except [`Interrupted`](io::ErrorKind::Interrupted), after which it
/// tries again.
///
/// # Cancel safety
///
/// No byte is lost: unwritten bytes are still in the source. The number of written bytes is
/// not known.
///
/// ```
/// use blitz_io::io::{self, BufReader};
///
/// # pollster::block_on(async {
/// let mut reader = BufReader::new(&b"hello"[..]);
/// let mut bytes = Vec::new();
/// assert_eq!(io::copy_buf(&mut reader, &mut bytes).await?, 5);
/// assert_eq!(bytes, b"hello");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn copy_buf<'a, R, W>(reader: &'a mut R, writer: &'a mut W) -> io::Result<u64>
where
    R: AsyncBufRead + Unpin + ?Sized,
    W: AsyncWrite + Unpin + ?Sized,
{
    let mut copying = Copying::default();
    poll_fn(|cx| copying.poll(cx, Pin::new(&mut *reader), Pin::new(&mut *writer))).await
}

#[derive(Default)]
struct Copying {
    copied: u64,
    needs_flush: bool,
}

impl Copying {
    fn poll<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        mut reader: Pin<&mut R>,
        mut writer: Pin<&mut W>,
    ) -> Poll<io::Result<u64>>
    where
        R: AsyncBufRead + ?Sized,
        W: AsyncWrite + ?Sized,
    {
        let unit = ready!(coop::poll_proceed(cx));
        loop {
            let bytes = match reader.as_mut().poll_fill_buf(cx) {
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Interrupted => continue,
                Poll::Ready(result) => {
                    unit.made_progress();
                    result?
                }
                Poll::Pending => {
                    if self.needs_flush {
                        ready!(writer.as_mut().poll_flush(cx))?;
                        self.needs_flush = false;
                    }
                    return Poll::Pending;
                }
            };
            if bytes.is_empty() {
                ready!(writer.as_mut().poll_flush(cx))?;
                return Poll::Ready(Ok(self.copied));
            }
            let count = match ready!(writer.as_mut().poll_write(cx, bytes)) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Poll::Ready(Err(error)),
            };
            self.copied += count as u64;
            self.needs_flush = true;
            reader.as_mut().consume(count);
        }
    }
}
