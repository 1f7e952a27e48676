//! The halves of a stream, borrowed and owned: the part that TCP and Unix streams share.
//!
//! The macros make the types and methods of the halves of `$stream`, whose addresses are `$addr`.

use std::io;
use std::net::Shutdown;
use std::ops::Deref;
use std::sync::Arc;

/// A connection whose directions can be shut down.
pub(crate) trait Connection {
    fn shutdown(&self, how: Shutdown) -> io::Result<()>;

    /// Tells the peer that nothing more will be written. A connection that the peer has
    /// already closed needs no shutdown.
    fn shutdown_write(&self) -> io::Result<()> {
        match self.shutdown(Shutdown::Write) {
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            result => result,
        }
    }
}

/// The write half's reference to a stream. Dropping it shuts down the direction.
#[derive(Debug)]
pub(crate) struct WriteRef<S: Connection> {
    stream: Arc<S>,
    shutdown_on_drop: bool,
}

impl<S: Connection> WriteRef<S> {
    /// Drops the reference without shutting down the direction.
    pub(crate) fn forget(mut self) {
        self.shutdown_on_drop = false;
    }
}

impl<S: Connection> Deref for WriteRef<S> {
    type Target = S;

    #[inline]
    fn deref(&self) -> &S {
        &self.stream
    }
}

impl<S: Connection> Drop for WriteRef<S> {
    fn drop(&mut self) {
        if self.shutdown_on_drop {
            // An error here could not be handled.
            _ = self.stream.shutdown_write();
        }
    }
}

/// Returns the references of the two halves.
pub(crate) fn split<S: Connection>(stream: S) -> (Arc<S>, WriteRef<S>) {
    let stream = Arc::new(stream);
    let write = WriteRef {
        stream: stream.clone(),
        shutdown_on_drop: true,
    };
    (stream, write)
}

/// Returns the stream, or both references if they belong to different streams.
pub(crate) fn reunite<S: Connection>(
    read: Arc<S>,
    write: WriteRef<S>,
) -> Result<S, (Arc<S>, WriteRef<S>)> {
    if !Arc::ptr_eq(&read, &write.stream) {
        return Err((read, write));
    }
    write.forget();
    Ok(Arc::into_inner(read).expect("there are two halves of one stream"))
}

/// Makes the methods of a read half, whose field `0` refers to the stream.
macro_rules! read_half_methods {
    ($addr:ty) => {
        /// Waits until the stream is ready for any of `interest`.
        ///
        /// An operation may block even if the stream is reported ready: always use one of the
        /// `try_` methods, which record that it would have blocked.
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime has ended.
        ///
        /// # Cancel safety
        ///
        /// Cancel safe: the stream stays ready.
        #[track_caller]
        pub fn ready(
            &self,
            interest: blitz_io_aio::Interest,
        ) -> impl Future<Output = std::io::Result<blitz_io_aio::Ready>> {
            blitz_io_observe::CalledAt::new(async move { self.0.ready(interest).await })
        }

        /// Waits until the stream is readable.
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime has ended.
        ///
        /// # Cancel safety
        ///
        /// Cancel safe: the stream stays readable.
        #[track_caller]
        pub fn readable(&self) -> impl Future<Output = std::io::Result<()>> {
            blitz_io_observe::CalledAt::new(async move { self.0.readable().await })
        }

        /// Reads the available bytes, without waiting. Returns the number of bytes: 0 at the end
        /// of the stream, or if the buffer is empty.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is nothing to read.
        pub fn try_read(&self, buf: &mut [u8]) -> std::io::Result<usize> {
            self.0.try_read(buf)
        }

        /// Reads the available bytes into several buffers, in order, without waiting. Returns the
        /// number of bytes: 0 at the end of the stream, or if the buffers are empty.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is nothing to read.
        pub fn try_read_vectored(
            &self,
            bufs: &mut [std::io::IoSliceMut<'_>],
        ) -> std::io::Result<usize> {
            self.0.try_read_vectored(bufs)
        }

        /// Reads the available bytes into a buffer that grows or tracks how far it is filled,
        /// without waiting. Returns the number of bytes: 0 at the end of the stream, or if the
        /// buffer has no room.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is nothing to read.
        pub fn try_read_buf<B: bytes::BufMut>(&self, buf: &mut B) -> std::io::Result<usize> {
            self.0.try_read_buf(buf)
        }

        /// Returns the address of the other end.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        pub fn peer_addr(&self) -> std::io::Result<$addr> {
            self.0.peer_addr()
        }

        /// Returns the address of this end.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        pub fn local_addr(&self) -> std::io::Result<$addr> {
            self.0.local_addr()
        }
    };
}

/// Makes the methods of a write half, whose field `0` refers to the stream.
macro_rules! write_half_methods {
    ($addr:ty) => {
        /// Waits until the stream is ready for any of `interest`.
        ///
        /// An operation may block even if the stream is reported ready: always use one of the
        /// `try_` methods, which record that it would have blocked.
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime has ended.
        ///
        /// # Cancel safety
        ///
        /// Cancel safe: the stream stays ready.
        #[track_caller]
        pub fn ready(
            &self,
            interest: blitz_io_aio::Interest,
        ) -> impl Future<Output = std::io::Result<blitz_io_aio::Ready>> {
            blitz_io_observe::CalledAt::new(async move { self.0.ready(interest).await })
        }

        /// Waits until the stream is writable.
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime has ended.
        ///
        /// # Cancel safety
        ///
        /// Cancel safe: the stream stays writable.
        #[track_caller]
        pub fn writable(&self) -> impl Future<Output = std::io::Result<()>> {
            blitz_io_observe::CalledAt::new(async move { self.0.writable().await })
        }

        /// Writes as many bytes as there is room for, without waiting. Returns the number of bytes.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is no room.
        pub fn try_write(&self, buf: &[u8]) -> std::io::Result<usize> {
            self.0.try_write(buf)
        }

        /// Writes as many bytes of several buffers, in order, as there is room for, without
        /// waiting. Returns the number of bytes.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is no room.
        pub fn try_write_vectored(&self, bufs: &[std::io::IoSlice<'_>]) -> std::io::Result<usize> {
            self.0.try_write_vectored(bufs)
        }

        /// Returns the address of the other end.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        pub fn peer_addr(&self) -> std::io::Result<$addr> {
            self.0.peer_addr()
        }

        /// Returns the address of this end.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        pub fn local_addr(&self) -> std::io::Result<$addr> {
            self.0.local_addr()
        }
    };
}

/// Makes the methods of a read half that look ahead.
macro_rules! peek_methods {
    () => {
        /// Waits for bytes and copies them, without taking them out of the stream: the next read
        /// returns them again. Returns the number of bytes. Only the waker of the last call is
        /// woken.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        pub fn poll_peek(
            &mut self,
            cx: &mut std::task::Context<'_>,
            buf: &mut blitz_io_aio::ReadBuf<'_>,
        ) -> std::task::Poll<std::io::Result<usize>> {
            self.0.poll_peek(cx, buf)
        }

        /// Waits for bytes and copies them, without taking them out of the stream: the next read
        /// returns them again. Returns the number of bytes.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        ///
        /// # Cancel safety
        ///
        /// Cancel safe: the bytes stay in the stream.
        #[track_caller]
        pub fn peek(&mut self, buf: &mut [u8]) -> impl Future<Output = std::io::Result<usize>> {
            blitz_io_observe::CalledAt::new(async move { self.0.peek(buf).await })
        }
    };
}

/// Makes the halves that borrow a stream.
macro_rules! borrowed_halves {
    ($stream:ident, $addr:ty) => {
        impl $stream {
            /// Splits the stream into a read half and a write half, which borrow it.
            pub fn split<'a>(&'a mut self) -> (ReadHalf<'a>, WriteHalf<'a>) {
                (ReadHalf(self), WriteHalf(self))
            }
        }

        #[doc = concat!("The read half of a borrowed stream. Created by [`", stringify!($stream), "::split`].")]
        #[derive(Debug)]
        pub struct ReadHalf<'a>(&'a $stream);

        #[doc = concat!("The write half of a borrowed stream. Created by [`", stringify!($stream), "::split`].")]
        #[derive(Debug)]
        pub struct WriteHalf<'a>(&'a $stream);

        impl ReadHalf<'_> {
            $crate::halves::read_half_methods!($addr);
        }

        impl WriteHalf<'_> {
            $crate::halves::write_half_methods!($addr);
        }

        impl AsRef<$stream> for ReadHalf<'_> {
            fn as_ref(&self) -> &$stream {
                self.0
            }
        }

        impl AsRef<$stream> for WriteHalf<'_> {
            fn as_ref(&self) -> &$stream {
                self.0
            }
        }

        $crate::stream::impl_async_read!(ReadHalf<'_>, |this| &this.0.io);
        $crate::stream::impl_async_write!(
            WriteHalf<'_>, |this| this.0.io,
            flush = "Does nothing, because nothing is buffered.",
            /// Tells the peer that nothing more will be written.
            shutdown = $crate::halves::Connection::shutdown_write(&*this.0)
        );
    };
}

/// Makes the halves that own a stream together.
macro_rules! owned_halves {
    ($stream:ident, $addr:ty) => {
        impl $stream {
            /// Splits the stream into a read half and a write half, for different tasks.
            pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
                let (read, write) = $crate::halves::split(self);
                (OwnedReadHalf(read), OwnedWriteHalf(write))
            }
        }

        #[doc = concat!("The read half of a stream. Created by [`", stringify!($stream), "::into_split`].")]
        #[derive(Debug)]
        pub struct OwnedReadHalf(std::sync::Arc<$stream>);

        #[doc = concat!("The write half of a stream. Created by [`", stringify!($stream), "::into_split`].")]
        ///
        /// Dropping it tells the peer that nothing more will be written; to avoid that,
        /// [`forget`](Self::forget) it.
        #[derive(Debug)]
        pub struct OwnedWriteHalf($crate::halves::WriteRef<$stream>);

        /// The error of two halves that do not belong to the same stream. Contains both.
        #[derive(Debug)]
        pub struct ReuniteError(
            /// The read half.
            pub OwnedReadHalf,
            /// The write half.
            pub OwnedWriteHalf,
        );

        impl std::fmt::Display for ReuniteError {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("tried to reunite halves that are not from the same socket")
            }
        }

        impl std::error::Error for ReuniteError {}

        fn reunite(read: OwnedReadHalf, write: OwnedWriteHalf) -> Result<$stream, ReuniteError> {
            $crate::halves::reunite(read.0, write.0)
                .map_err(|(read, write)| ReuniteError(OwnedReadHalf(read), OwnedWriteHalf(write)))
        }

        impl OwnedReadHalf {
            /// Reunites the two halves into the stream.
            ///
            /// # Errors
            ///
            /// Returns both halves if they are halves of different streams.
            pub fn reunite(self, other: OwnedWriteHalf) -> Result<$stream, ReuniteError> {
                reunite(self, other)
            }

            $crate::halves::read_half_methods!($addr);
        }

        impl OwnedWriteHalf {
            /// Reunites the two halves into the stream.
            ///
            /// # Errors
            ///
            /// Returns both halves if they are halves of different streams.
            pub fn reunite(self, other: OwnedReadHalf) -> Result<$stream, ReuniteError> {
                reunite(other, self)
            }

            /// Drops the half without telling the peer that nothing more will be written.
            pub fn forget(self) {
                self.0.forget();
            }

            $crate::halves::write_half_methods!($addr);
        }

        impl AsRef<$stream> for OwnedReadHalf {
            fn as_ref(&self) -> &$stream {
                &self.0
            }
        }

        impl AsRef<$stream> for OwnedWriteHalf {
            fn as_ref(&self) -> &$stream {
                &self.0
            }
        }

        $crate::stream::impl_async_read!(OwnedReadHalf, |this| &this.0.io);
        $crate::stream::impl_async_write!(
            OwnedWriteHalf, |this| this.0.io,
            flush = "Does nothing, because nothing is buffered.",
            /// Tells the peer that nothing more will be written.
            shutdown = $crate::halves::Connection::shutdown_write(&*this.0)
        );
    };
}

pub(crate) use {
    borrowed_halves, owned_halves, peek_methods, read_half_methods, write_half_methods,
};
