//! The methods that datagram sockets share. Each has its mio source, with its registration,
//! in the field `io`.

/// Defines sending to and receiving from the address to which the socket is connected.
macro_rules! datagrams {
    () => {
        /// Sends a datagram to the address to which the socket is connected, and returns
        /// the number of bytes.
        ///
        /// Cancel safe: when the future is dropped, nothing has been sent.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        pub async fn send(&self, buf: &[u8]) -> io::Result<usize> {
            let registration = self.io.registration();
            (registration.async_io(Direction::Write.mask(), || self.io.send(buf))).await
        }

        /// Sends a datagram to the address to which the socket is connected. Only the waker
        /// of the last call is woken.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        pub fn poll_send(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            let registration = self.io.registration();
            registration.poll_io(cx, Direction::Write, || self.io.send(buf))
        }

        /// Sends a datagram to the address to which the socket is connected, without
        /// waiting.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is no room.
        pub fn try_send(&self, buf: &[u8]) -> io::Result<usize> {
            let registration = self.io.registration();
            registration.try_io(Direction::Write.mask(), || self.io.send(buf))
        }

        /// Receives a datagram from the address to which the socket is connected, and
        /// returns the number of bytes; bytes that do not fit into the buffer are lost.
        ///
        /// Cancel safe: when the future is dropped, nothing has been received.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        pub async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
            let registration = self.io.registration();
            (registration.async_io(Direction::Read.mask(), || self.io.recv(buf))).await
        }

        /// Receives a datagram from the address to which the socket is connected. Only the
        /// waker of the last call is woken.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        pub fn poll_recv(
            &self,
            cx: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let receive = |bytes: &mut [u8]| Ok((self.io.recv(bytes)?, ()));
            let registration = self.io.registration();
            registration.poll_io(cx, Direction::Read, || {
                // SAFETY: the system only writes to the buffer, and returns how much.
                unsafe { receive_read_buf(buf, receive) }?;
                Ok(())
            })
        }

        /// Receives a datagram from the address to which the socket is connected, without
        /// waiting.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is no datagram.
        pub fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize> {
            let registration = self.io.registration();
            registration.try_io(Direction::Read.mask(), || self.io.recv(buf))
        }

        /// Receives a datagram into a buffer that grows or tracks how far it is filled,
        /// like [`recv`](Self::recv).
        ///
        /// Cancel safe.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        pub async fn recv_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
            let receive = |bytes: &mut [u8]| Ok((self.io.recv(bytes)?, ()));
            let registration = self.io.registration();
            let mask = Direction::Read.mask();
            // SAFETY: the system only writes to the buffer, and returns how much.
            let received = registration.async_io(mask, || unsafe { receive_buf(buf, receive) });
            Ok(received.await?.0)
        }

        /// Receives a datagram into a buffer that grows or tracks how far it is filled,
        /// without waiting.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is no datagram.
        pub fn try_recv_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
            let receive = |bytes: &mut [u8]| Ok((self.io.recv(bytes)?, ()));
            let registration = self.io.registration();
            let mask = Direction::Read.mask();
            // SAFETY: the system only writes to the buffer, and returns how much.
            let received = registration.try_io(mask, || unsafe { receive_buf(buf, receive) });
            Ok(received?.0)
        }

        /// Sends the contents of a buffer, as one datagram, to the address to which the
        /// socket is connected. The operation owns the buffer while it runs, and returns it
        /// with the number of bytes.
        ///
        /// Cancel safe: when the future is dropped, nothing has been sent. Its buffer is
        /// dropped with it.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        pub async fn send_owned<B: blitz_io_aio::IoBuf>(
            &self,
            buf: B,
        ) -> blitz_io_aio::BufResult<usize, B> {
            let result = self.send(crate::buf::init(&buf)).await;
            (result, buf)
        }

        /// Receives a datagram from the address to which the socket is connected. The
        /// operation owns the buffer while it runs, and returns it with the number of
        /// bytes; bytes that do not fit into [it](blitz_io_aio::IoBuf::bytes_total) are lost.
        ///
        /// Cancel safe: when the future is dropped, nothing has been received. Its buffer is
        /// dropped with it.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        pub async fn recv_owned<B: blitz_io_aio::IoBufMut>(
            &self,
            mut buf: B,
        ) -> blitz_io_aio::BufResult<usize, B> {
            let receive = |bytes: &mut [u8]| Ok((self.io.recv(bytes)?, ()));
            // SAFETY: the system only writes to the buffer, and returns how much.
            let receive = || unsafe { crate::buf::receive_owned(&mut buf, receive) };
            let registration = self.io.registration();
            let result = registration.async_io(Direction::Read.mask(), receive).await;
            (result.map(|(count, ())| count), buf)
        }
    };
}

/// Defines receiving from any sender. `self.receive_from(bytes)` receives a datagram and
/// returns its sender.
macro_rules! datagrams_from {
    ($addr:ty) => {
        /// Receives a datagram from any sender. Returns the number of bytes and the address
        /// of the sender; bytes that do not fit into the buffer are lost.
        ///
        /// Cancel safe: when the future is dropped, nothing has been received.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        pub async fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, $addr)> {
            let registration = self.io.registration();
            (registration.async_io(Direction::Read.mask(), || self.receive_from(buf))).await
        }

        /// Receives a datagram from any sender. Only the waker of the last call is woken.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        pub fn poll_recv_from(
            &self,
            cx: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<$addr>> {
            let registration = self.io.registration();
            registration.poll_io(cx, Direction::Read, || {
                let receive = |bytes: &mut [u8]| self.receive_from(bytes);
                // SAFETY: the system only writes to the buffer, and returns how much.
                let (_, addr) = unsafe { receive_read_buf(buf, receive) }?;
                Ok(addr)
            })
        }

        /// Receives a datagram from any sender, without waiting.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is no datagram.
        pub fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, $addr)> {
            let registration = self.io.registration();
            registration.try_io(Direction::Read.mask(), || self.receive_from(buf))
        }

        /// Receives a datagram from any sender into a buffer that grows or tracks how far
        /// it is filled, like [`recv_from`](Self::recv_from).
        ///
        /// Cancel safe.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        pub async fn recv_buf_from<B: BufMut>(&self, buf: &mut B) -> io::Result<(usize, $addr)> {
            let registration = self.io.registration();
            let receive = || {
                // SAFETY: the system only writes to the buffer, and returns how much.
                unsafe { receive_buf(buf, |bytes| self.receive_from(bytes)) }
            };
            registration.async_io(Direction::Read.mask(), receive).await
        }

        /// Receives a datagram from any sender into a buffer that grows or tracks how far
        /// it is filled, without waiting.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is no datagram.
        pub fn try_recv_buf_from<B: BufMut>(&self, buf: &mut B) -> io::Result<(usize, $addr)> {
            let registration = self.io.registration();
            registration.try_io(Direction::Read.mask(), || {
                // SAFETY: the system only writes to the buffer, and returns how much.
                unsafe { receive_buf(buf, |bytes| self.receive_from(bytes)) }
            })
        }

        /// Receives a datagram from any sender. The operation owns the buffer while it
        /// runs, and returns it with the number of bytes and the address of the sender;
        /// bytes that do not fit into [it](blitz_io_aio::IoBuf::bytes_total) are lost.
        ///
        /// Cancel safe: when the future is dropped, nothing has been received. Its buffer is
        /// dropped with it.
        ///
        /// # Errors
        ///
        /// Returns the system's errors.
        pub async fn recv_from_owned<B: blitz_io_aio::IoBufMut>(
            &self,
            mut buf: B,
        ) -> blitz_io_aio::BufResult<(usize, $addr), B> {
            let receive = || {
                // SAFETY: the system only writes to the buffer, and returns how much.
                unsafe { crate::buf::receive_owned(&mut buf, |bytes| self.receive_from(bytes)) }
            };
            let registration = self.io.registration();
            let result = registration.async_io(Direction::Read.mask(), receive).await;
            (result, buf)
        }
    };
}

pub(crate) use {datagrams, datagrams_from};
