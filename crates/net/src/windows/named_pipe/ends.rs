//! The two ends of a named pipe.

use std::io::{self, Read, Write};
use std::os::windows::io::{
    AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, IntoRawHandle, OwnedHandle, RawHandle,
};
use std::pin::Pin;
use std::task::{Context, Poll};

use blitz_io_aio::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready, foreign_traits};
use blitz_io_driver::{Direction, PollEvented, bits};
use bytes::BufMut;
use mio::windows::NamedPipe;

use super::PipeInfo;
use crate::buf::receive_buf;
use crate::methods::{readiness, try_read, try_write};

/// An operation on mio's pipe records whether it would block. A socket of mio's records
/// that only for operations that it performs; others must report it.
trait TryIo {
    fn try_io<R>(&self, operation: impl FnOnce() -> io::Result<R>) -> io::Result<R>;
}

impl TryIo for NamedPipe {
    fn try_io<R>(&self, operation: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        operation()
    }
}

macro_rules! end {
    ($(#[$doc:meta])* $end:ident) => {
        $(#[$doc])*
        ///
        /// It is read and written with the methods of `AsyncReadExt` and `AsyncWriteExt`.
        #[derive(Debug)]
        pub struct $end {
            io: PollEvented<NamedPipe>,
        }

        impl $end {
            #[track_caller]
            pub(super) fn new(handle: OwnedHandle) -> io::Result<Self> {
                // SAFETY: it is the handle of a pipe, or the caller of `from_raw_handle`
                // has promised so, and its ownership is passed on.
                let pipe = unsafe { NamedPipe::from_raw_handle(handle.into_raw_handle()) };
                PollEvented::new(pipe).map(|io| Self { io })
            }

            /// Creates an end from a handle.
            ///
            /// # Errors
            ///
            /// Returns the system's errors.
            ///
            /// # Panics
            ///
            /// Panics outside of a runtime, and in a runtime without I/O.
            ///
            /// # Safety
            ///
            /// The handle is that of this end of a named pipe, was opened for overlapped
            /// operations, and has no other owner.
            #[track_caller]
            pub unsafe fn from_raw_handle(handle: RawHandle) -> io::Result<Self> {
                // SAFETY: the caller guarantees it.
                Self::new(unsafe { OwnedHandle::from_raw_handle(handle) })
            }

            /// Returns the system's information about the pipe.
            ///
            /// # Errors
            ///
            /// Returns the system's errors.
            pub fn info(&self) -> io::Result<PipeInfo> {
                PipeInfo::of(self.as_handle())
            }

            readiness!(poll_read_ready, poll_write_ready);
            try_read!();
            try_write!();
        }

        impl AsRawHandle for $end {
            fn as_raw_handle(&self) -> RawHandle {
                self.io.as_raw_handle()
            }
        }

        impl AsHandle for $end {
            fn as_handle(&self) -> BorrowedHandle<'_> {
                // SAFETY: the pipe owns its handle and is borrowed for as long.
                unsafe { BorrowedHandle::borrow_raw(self.as_raw_handle()) }
            }
        }

        impl AsyncRead for $end {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                // SAFETY: mio's pipe only writes to the buffer, and returns how much.
                unsafe { self.io.poll_read(cx, buf) }
            }
        }

        foreign_traits!([] $end: read);

        impl AsyncWrite for $end {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.io.poll_write(cx, buf)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[io::IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.io.poll_write_vectored(cx, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            /// Does nothing: what was written is already being sent.
            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            /// Does nothing: the other end sees the end when this one is dropped.
            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }
        }

        foreign_traits!([] $end: write);
    };
}

end!(
    /// The server's end of an instance of a named pipe. Created by
    /// [`ServerOptions::create`](super::ServerOptions::create).
    NamedPipeServer
);
end!(
    /// The client's end of a named pipe. Created by
    /// [`ClientOptions::open`](super::ClientOptions::open).
    NamedPipeClient
);

impl NamedPipeServer {
    /// Waits until a client has connected.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and an error if the runtime has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the next call finds a client that has connected in between.
    pub async fn connect(&self) -> io::Result<()> {
        match self.io.connect() {
            // The operation has been started.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let mask = Direction::Write.mask();
                let registration = self.io.registration();
                registration.async_io(mask, || self.io.connect()).await
            }
            result => result,
        }
    }

    /// Disconnects the client. After that, another client may [`connect`](Self::connect).
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn disconnect(&self) -> io::Result<()> {
        self.io.disconnect()
    }
}
