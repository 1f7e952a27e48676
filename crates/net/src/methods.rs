//! The methods that sockets of several kinds share. Each has its mio source, with its
//! registration, in the field `io`.

/// Defines `ready`, `readable`, `writable`, `try_io`, `async_io`, and a pair of polls.
macro_rules! readiness {
    ($poll_read:ident, $poll_write:ident) => {
        /// Waits until the socket is ready for any of `interest`.
        ///
        /// An operation may block even if the socket is reported ready: always use one of
        /// the `try_` methods, which record that it would have blocked.
        ///
        /// Cancel safe.
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime has ended.
        pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
            let mask = bits::of_interest(interest);
            let event = self.io.registration().wait(mask).await?;
            Ok(bits::to_ready(event.bits))
        }

        /// Waits until the socket is readable.
        ///
        /// Cancel safe.
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime has ended.
        pub async fn readable(&self) -> io::Result<()> {
            self.ready(Interest::READABLE).await?;
            Ok(())
        }

        /// Waits until the socket is writable.
        ///
        /// Cancel safe.
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime has ended.
        pub async fn writable(&self) -> io::Result<()> {
            self.ready(Interest::WRITABLE).await?;
            Ok(())
        }

        /// Waits until the socket is readable. Only the waker of the last call is woken;
        /// any number of tasks may wait with [`readable`](Self::readable).
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime has ended.
        pub fn $poll_read(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            let registration = self.io.registration();
            registration.poll_ready(cx, Direction::Read).map_ok(|_| ())
        }

        /// Waits until the socket is writable. Only the waker of the last call is woken;
        /// any number of tasks may wait with [`writable`](Self::writable).
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime has ended.
        pub fn $poll_write(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            let registration = self.io.registration();
            registration.poll_ready(cx, Direction::Write).map_ok(|_| ())
        }

        /// Tries an operation on the socket once, if it is ready for `interest`.
        ///
        /// `f` must be an operation on this socket that returns `WouldBlock` if it would
        /// block. Then it is not called again before the next event.
        ///
        /// # Errors
        ///
        /// Returns the errors of `f`, and `WouldBlock` if the socket is not ready.
        pub fn try_io<R>(
            &self,
            interest: Interest,
            f: impl FnOnce() -> io::Result<R>,
        ) -> io::Result<R> {
            let mask = bits::of_interest(interest);
            let registration = self.io.registration();
            registration.try_io(mask, || self.io.try_io(f))
        }

        /// Tries an operation on the socket each time it is ready for `interest`, until the
        /// operation does not block.
        ///
        /// # Errors
        ///
        /// Returns the errors of `f` other than `WouldBlock`, and an error if the runtime
        /// has ended.
        pub async fn async_io<R>(
            &self,
            interest: Interest,
            mut f: impl FnMut() -> io::Result<R>,
        ) -> io::Result<R> {
            let mask = bits::of_interest(interest);
            let registration = self.io.registration();
            registration.async_io(mask, || self.io.try_io(&mut f)).await
        }
    };
}

/// Defines `try_read` and its variants for streams and pipes.
macro_rules! try_read {
    () => {
        /// Reads the available bytes, without waiting. Returns the number of bytes: 0 at
        /// the end of the stream, or if the buffer is empty.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is nothing to read.
        pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
            let registration = self.io.registration();
            registration.try_io(Direction::Read.mask(), || (&*self.io).read(buf))
        }

        /// Reads into several buffers, in order, like [`try_read`](Self::try_read).
        ///
        /// # Errors
        ///
        /// Same as for [`try_read`](Self::try_read).
        pub fn try_read_vectored(&self, bufs: &mut [io::IoSliceMut<'_>]) -> io::Result<usize> {
            let registration = self.io.registration();
            registration.try_io(Direction::Read.mask(), || (&*self.io).read_vectored(bufs))
        }

        /// Reads into a buffer that grows or tracks how far it is filled, like
        /// [`try_read`](Self::try_read).
        ///
        /// # Errors
        ///
        /// Same as for [`try_read`](Self::try_read).
        pub fn try_read_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
            let read = |bytes: &mut [u8]| Ok(((&*self.io).read(bytes)?, ()));
            let registration = self.io.registration();
            registration.try_io(Direction::Read.mask(), || {
                // SAFETY: a read of the system only writes to its buffer, and returns how
                // much.
                let (n, ()) = unsafe { receive_buf(buf, read) }?;
                Ok(n)
            })
        }
    };
}

/// Defines `try_write` and its variants for streams and pipes.
macro_rules! try_write {
    () => {
        /// Writes as much as there is room for, without waiting. Returns the number of
        /// bytes.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is no room.
        pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
            let registration = self.io.registration();
            registration.try_io(Direction::Write.mask(), || (&*self.io).write(buf))
        }

        /// Writes several buffers, in order, like [`try_write`](Self::try_write).
        ///
        /// # Errors
        ///
        /// Same as for [`try_write`](Self::try_write).
        pub fn try_write_vectored(&self, bufs: &[io::IoSlice<'_>]) -> io::Result<usize> {
            let registration = self.io.registration();
            registration.try_io(Direction::Write.mask(), || (&*self.io).write_vectored(bufs))
        }
    };
}

/// Implements `AsyncRead` for a stream.
macro_rules! async_read {
    ($type:ty) => {
        impl AsyncRead for $type {
            #[inline]
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                self.poll_read_shared(cx, buf)
            }
        }

        blitz_io_aio::foreign_traits!([] $type: read);
    };
}

/// Implements `AsyncWrite` for a stream.
macro_rules! async_write {
    ($type:ty) => {
        impl AsyncWrite for $type {
            #[inline]
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.io.poll_write(cx, buf)
            }

            #[inline]
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

            /// Does nothing, because nothing is buffered.
            #[inline]
            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            /// Tells the peer that nothing more will be written.
            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.shutdown_write())
            }
        }

        blitz_io_aio::foreign_traits!([] $type: write);
    };
}

/// Implements the traits for a socket's descriptor, on systems that have descriptors, or
/// for its handle.
macro_rules! descriptors {
    ($type:ty) => {
        #[cfg(unix)]
        impl std::os::fd::AsRawFd for $type {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                self.io.as_raw_fd()
            }
        }

        #[cfg(unix)]
        impl std::os::fd::AsFd for $type {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                use std::os::fd::AsRawFd;
                // SAFETY: the socket owns its descriptor and is borrowed for as long.
                unsafe { std::os::fd::BorrowedFd::borrow_raw(self.as_raw_fd()) }
            }
        }

        #[cfg(windows)]
        impl std::os::windows::io::AsRawSocket for $type {
            fn as_raw_socket(&self) -> std::os::windows::io::RawSocket {
                self.io.as_raw_socket()
            }
        }

        #[cfg(windows)]
        impl std::os::windows::io::AsSocket for $type {
            fn as_socket(&self) -> std::os::windows::io::BorrowedSocket<'_> {
                use std::os::windows::io::AsRawSocket;
                // SAFETY: the socket owns its handle and is borrowed for as long.
                unsafe { std::os::windows::io::BorrowedSocket::borrow_raw(self.as_raw_socket()) }
            }
        }
    };
}

/// Defines the two halves of a borrowed stream, and those that share its ownership.
macro_rules! halves {
    ($stream:ident, $addr:ty, { $($peek:item)* }) => {
        /// The read half of a borrowed stream. Created by its `split`.
        #[derive(Debug)]
        pub struct ReadHalf<'a>(&'a $stream);

        /// The write half of a borrowed stream. Created by its `split`.
        #[derive(Debug)]
        pub struct WriteHalf<'a>(&'a $stream);

        impl ReadHalf<'_> {
            $crate::methods::half_read!($addr);
            $($peek)*
        }

        impl WriteHalf<'_> {
            $crate::methods::half_write!($addr);
        }

        $crate::methods::half_traits!($stream, ReadHalf<'_>, WriteHalf<'_>);

        impl AsyncWrite for WriteHalf<'_> {
            $crate::methods::half_async_write!();

            /// Tells the peer that nothing more will be written.
            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.0.shutdown_write())
            }
        }
    };
}

/// Defines the halves that share ownership of a stream.
macro_rules! owned_halves {
    ($stream:ident, $addr:ty, { $($peek:item)* }) => {
        /// The read half of a stream. Created by its `into_split`.
        #[derive(Debug)]
        pub struct OwnedReadHalf(Arc<$stream>);

        /// The write half of a stream. Created by its `into_split`.
        ///
        /// Dropping it tells the peer that nothing more will be written; to avoid that,
        /// [`forget`](Self::forget) it.
        #[derive(Debug)]
        pub struct OwnedWriteHalf(ManuallyDrop<Arc<$stream>>);

        /// The error of two halves that do not belong to the same stream. Contains both.
        #[derive(Debug)]
        pub struct ReuniteError(
            /// The read half.
            pub OwnedReadHalf,
            /// The write half.
            pub OwnedWriteHalf,
        );

        fn reunite(
            read: OwnedReadHalf,
            write: OwnedWriteHalf,
        ) -> Result<$stream, ReuniteError> {
            if !Arc::ptr_eq(&read.0, &write.0) {
                return Err(ReuniteError(read, write));
            }
            write.forget();
            Ok(Arc::try_unwrap(read.0).expect("there are two halves of one stream"))
        }

        impl fmt::Display for ReuniteError {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("tried to reunite halves that are not from the same socket")
            }
        }

        impl Error for ReuniteError {}

        impl OwnedReadHalf {
            /// Reunites the two halves into the stream.
            ///
            /// # Errors
            ///
            /// Returns both halves if they are halves of different streams.
            pub fn reunite(self, other: OwnedWriteHalf) -> Result<$stream, ReuniteError> {
                reunite(self, other)
            }

            $crate::methods::half_read!($addr);
            $($peek)*
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
                let mut this = ManuallyDrop::new(self);
                // SAFETY: `this` is not used or dropped after that.
                unsafe { ManuallyDrop::drop(&mut this.0) };
            }

            $crate::methods::half_write!($addr);
        }

        impl Drop for OwnedWriteHalf {
            fn drop(&mut self) {
                // An error here could not be handled.
                _ = self.0.shutdown_write();
                // SAFETY: it is dropped once, here.
                unsafe { ManuallyDrop::drop(&mut self.0) };
            }
        }

        $crate::methods::half_traits!($stream, OwnedReadHalf, OwnedWriteHalf);

        impl AsyncWrite for OwnedWriteHalf {
            $crate::methods::half_async_write!();

            /// Tells the peer that nothing more will be written.
            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.0.shutdown_write())
            }
        }
    };
}

macro_rules! half_read {
    ($addr:ty) => {
        /// Waits until the stream is ready for any of `interest`.
        ///
        /// Cancel safe.
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime has ended.
        pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
            self.0.ready(interest).await
        }

        /// Waits until the stream is readable.
        ///
        /// Cancel safe.
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime has ended.
        pub async fn readable(&self) -> io::Result<()> {
            self.0.readable().await
        }

        /// Reads the available bytes, without waiting.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is nothing to read.
        pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
            self.0.try_read(buf)
        }

        /// Reads into several buffers, in order, without waiting.
        ///
        /// # Errors
        ///
        /// Same as for [`try_read`](Self::try_read).
        pub fn try_read_vectored(&self, bufs: &mut [io::IoSliceMut<'_>]) -> io::Result<usize> {
            self.0.try_read_vectored(bufs)
        }

        /// Reads into a buffer that grows or tracks how far it is filled, without waiting.
        ///
        /// # Errors
        ///
        /// Same as for [`try_read`](Self::try_read).
        pub fn try_read_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
            self.0.try_read_buf(buf)
        }

        /// Returns the address of the other end.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        pub fn peer_addr(&self) -> io::Result<$addr> {
            self.0.peer_addr()
        }

        /// Returns the address of this end.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        pub fn local_addr(&self) -> io::Result<$addr> {
            self.0.local_addr()
        }
    };
}

macro_rules! half_write {
    ($addr:ty) => {
        /// Waits until the stream is ready for any of `interest`.
        ///
        /// Cancel safe.
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime has ended.
        pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
            self.0.ready(interest).await
        }

        /// Waits until the stream is writable.
        ///
        /// Cancel safe.
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime has ended.
        pub async fn writable(&self) -> io::Result<()> {
            self.0.writable().await
        }

        /// Writes as much as there is room for, without waiting.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is no room.
        pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
            self.0.try_write(buf)
        }

        /// Writes several buffers, in order, without waiting.
        ///
        /// # Errors
        ///
        /// Same as for [`try_write`](Self::try_write).
        pub fn try_write_vectored(&self, bufs: &[io::IoSlice<'_>]) -> io::Result<usize> {
            self.0.try_write_vectored(bufs)
        }

        /// Returns the address of the other end.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        pub fn peer_addr(&self) -> io::Result<$addr> {
            self.0.peer_addr()
        }

        /// Returns the address of this end.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        pub fn local_addr(&self) -> io::Result<$addr> {
            self.0.local_addr()
        }
    };
}

macro_rules! half_async_write {
    () => {
        #[inline]
        fn poll_write(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            buf: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.0.io.poll_write(cx, buf)
        }

        #[inline]
        fn poll_write_vectored(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            bufs: &[io::IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            self.0.io.poll_write_vectored(cx, bufs)
        }

        fn is_write_vectored(&self) -> bool {
            true
        }

        /// Does nothing, because nothing is buffered.
        #[inline]
        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    };
}

macro_rules! half_traits {
    ($stream:ident, $read:ty, $write:ty) => {
        impl AsyncRead for $read {
            #[inline]
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                self.0.poll_read_shared(cx, buf)
            }
        }

        impl AsRef<$stream> for $read {
            fn as_ref(&self) -> &$stream {
                &self.0
            }
        }

        impl AsRef<$stream> for $write {
            fn as_ref(&self) -> &$stream {
                &self.0
            }
        }

        blitz_io_aio::foreign_traits!([] $read: read);
        blitz_io_aio::foreign_traits!([] $write: write);
    };
}

pub(crate) use {
    async_read, async_write, descriptors, half_async_write, half_read, half_traits, half_write,
    halves, owned_halves, readiness, try_read, try_write,
};
