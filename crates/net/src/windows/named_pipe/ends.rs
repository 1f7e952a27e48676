//! The two ends of a named pipe.

use std::io;
use std::os::windows::io::{
    AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, IntoRawHandle, OwnedHandle, RawHandle,
};

use blitz_io_driver::{Direction, PollEvented};
use mio::windows::NamedPipe;

use super::PipeInfo;
use crate::{source, stream};

/// Makes an end of a named pipe.
macro_rules! end {
    ($(#[$doc:meta])* $end:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $end {
            io: PollEvented<NamedPipe>,
        }

        impl $end {
            #[track_caller]
            pub(super) fn new(handle: OwnedHandle) -> io::Result<Self> {
                register(handle).map(|io| Self { io })
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

            source::ready_method!("pipe");
            source::readable_methods!("pipe", poll_read_ready);
            source::writable_methods!("pipe", poll_write_ready);
            source::try_io_methods!("pipe", |_io, f| f());

            stream::read_methods!();
            stream::write_methods!();
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

        stream::impl_async_read!($end, |this| &this.io);
        stream::impl_async_write!(
            $end, |this| this.io,
            flush = "Does nothing: what was written is already being sent.",
            /// Does nothing: the other end sees the end when this one is dropped.
            shutdown = Ok(())
        );
    };
}

end! {
    /// The server's end of an instance of a named pipe. Created by
    /// [`ServerOptions::create`](super::ServerOptions::create).
    ///
    /// It is read and written with the methods of `AsyncReadExt` and `AsyncWriteExt`.
    NamedPipeServer
}

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

end! {
    /// The client's end of a named pipe. Created by
    /// [`ClientOptions::open`](super::ClientOptions::open).
    ///
    /// It is read and written with the methods of `AsyncReadExt` and `AsyncWriteExt`.
    NamedPipeClient
}

/// Registers the handle of a pipe.
#[track_caller]
fn register(handle: OwnedHandle) -> io::Result<PollEvented<NamedPipe>> {
    // SAFETY: it is the handle of a pipe, or the caller of `from_raw_handle`
    // has promised so, and its ownership is passed on.
    PollEvented::new(unsafe { NamedPipe::from_raw_handle(handle.into_raw_handle()) })
}
