//! `stdout`.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use blitz_io_aio::{AsyncWrite, foreign_traits};

use super::blocking::Blocking;
use super::console::WholeCharacters;

/// The standard output of the process: see [`stdout`].
#[derive(Debug)]
pub struct Stdout {
    stream: WholeCharacters<Blocking<io::Stdout>>,
}

/// Returns the standard output of the process.
///
/// A write is complete when its bytes have been passed to a thread of the pool, which
/// writes them in order, even if the runtime ends before. [`flush`] waits until they are
/// written, and reports errors. The values that this function returns are independent, so
/// the order of writes to two of them is not known. One write of up to 2 MiB is written in
/// one piece.
///
/// Writes of `print!` and similar macros go through the same stream of the standard
/// library, and may come in between.
///
/// On Windows a console accepts only text in UTF-8. A write that is cut off at 2 MiB never
/// splits a character.
///
/// [`flush`]: blitz_io_aio::AsyncWriteExt::flush
///
/// ```no_run
/// use blitz_io::io::{self, AsyncWriteExt};
///
/// # #[blitz_io::main]
/// # async fn main() -> io::Result<()> {
/// let mut out = io::stdout();
/// out.write_all(b"hello\n").await?;
/// out.flush().await?;
/// # Ok(())
/// # }
/// ```
pub fn stdout() -> Stdout {
    Stdout {
        stream: WholeCharacters(Blocking::new(io::stdout(), "write stdout")),
    }
}

impl AsyncWrite for Stdout {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

foreign_traits!([] Stdout: write);

#[cfg(unix)]
mod unix {
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

    use super::Stdout;

    impl AsRawFd for Stdout {
        fn as_raw_fd(&self) -> RawFd {
            std::io::stdout().as_raw_fd()
        }
    }

    impl AsFd for Stdout {
        fn as_fd(&self) -> BorrowedFd<'_> {
            // SAFETY: the standard library never closes the stream.
            unsafe { BorrowedFd::borrow_raw(self.as_raw_fd()) }
        }
    }
}

#[cfg(windows)]
mod windows {
    use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, RawHandle};

    use super::Stdout;

    impl AsRawHandle for Stdout {
        fn as_raw_handle(&self) -> RawHandle {
            std::io::stdout().as_raw_handle()
        }
    }

    impl AsHandle for Stdout {
        fn as_handle(&self) -> BorrowedHandle<'_> {
            // SAFETY: the standard library never closes the stream.
            unsafe { BorrowedHandle::borrow_raw(self.as_raw_handle()) }
        }
    }
}
