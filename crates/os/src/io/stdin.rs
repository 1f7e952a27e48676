//! `stdin`.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use blitz_io_aio::{AsyncRead, ReadBuf, foreign_traits};

use super::blocking::Blocking;

/// The standard input of the process: see [`stdin`].
#[derive(Debug)]
pub struct Stdin {
    stream: Blocking<io::Stdin>,
}

/// Returns the standard input of the process.
///
/// A thread of the pool reads, and nothing can stop it: a runtime that is dropped waits for
/// it, until a line is entered or the input ends. A program that should end earlier uses
/// [`shutdown_background`](blitz_io_runtime::runtime::Runtime::shutdown_background). For a
/// dialogue with a person, a dedicated thread that reads [`std::io::stdin`] is the better
/// choice.
///
/// ```no_run
/// use blitz_io::io::{self, AsyncBufReadExt, BufReader};
///
/// # #[blitz_io::main]
/// # async fn main() -> io::Result<()> {
/// let mut lines = BufReader::new(io::stdin()).lines();
/// while let Some(line) = lines.next_line().await? {
///     println!("{line}");
/// }
/// # Ok(())
/// # }
/// ```
pub fn stdin() -> Stdin {
    Stdin {
        stream: Blocking::new(io::stdin(), "read stdin"),
    }
}

impl AsyncRead for Stdin {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

foreign_traits!([] Stdin: read);

#[cfg(unix)]
mod unix {
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

    use super::Stdin;

    impl AsRawFd for Stdin {
        fn as_raw_fd(&self) -> RawFd {
            std::io::stdin().as_raw_fd()
        }
    }

    impl AsFd for Stdin {
        fn as_fd(&self) -> BorrowedFd<'_> {
            // SAFETY: the standard library never closes the stream.
            unsafe { BorrowedFd::borrow_raw(self.as_raw_fd()) }
        }
    }
}

#[cfg(windows)]
mod windows {
    use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, RawHandle};

    use super::Stdin;

    impl AsRawHandle for Stdin {
        fn as_raw_handle(&self) -> RawHandle {
            std::io::stdin().as_raw_handle()
        }
    }

    impl AsHandle for Stdin {
        fn as_handle(&self) -> BorrowedHandle<'_> {
            // SAFETY: the standard library never closes the stream.
            unsafe { BorrowedHandle::borrow_raw(self.as_raw_handle()) }
        }
    }
}
