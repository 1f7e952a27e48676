//! Reads and writes of streams that own their buffer while they run. Those of datagrams are
//! in `methods_datagram.rs`.
//!
//! They wait for readiness and then call the system, like all other operations on a socket.
//! In a ring they would cost as much, and a read that is cancelled there may consume bytes.

/// Defines `read_owned`, `write_owned` and `write_all_owned`.
macro_rules! owned_buf {
    () => {
        /// Reads into a buffer, which the operation owns while it runs and returns with the
        /// number of bytes: 0 at the end of the stream, or if the buffer has no room.
        ///
        /// The bytes are read to the beginning of the buffer, at most as many as it has
        /// [room](blitz_io_aio::IoBuf::bytes_total) for. A buffer that was longer before keeps
        /// its length.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and an error if the runtime has ended.
        ///
        /// # Cancel safety
        ///
        /// A dropped future has read nothing. Its buffer is dropped with it.
        ///
        /// ```
        /// use blitz_io::net::{TcpListener, TcpStream};
        ///
        /// # #[blitz_io::main]
        /// # async fn main() -> std::io::Result<()> {
        /// let listener = TcpListener::bind("127.0.0.1:0").await?;
        /// let client = TcpStream::connect(listener.local_addr()?).await?;
        /// let (server, _) = listener.accept().await?;
        ///
        /// let (result, text) = client.write_all_owned(String::from("hello")).await;
        /// result?;
        /// let (result, read) = server.read_owned(Vec::with_capacity(64)).await;
        /// assert_eq!(result?, text.len());
        /// assert_eq!(read, text.as_bytes());
        /// # Ok(())
        /// # }
        /// ```
        pub async fn read_owned<B: blitz_io_aio::IoBufMut>(
            &self,
            mut buf: B,
        ) -> blitz_io_aio::BufResult<usize, B> {
            if buf.bytes_total() == 0 {
                return (Ok(0), buf);
            }
            let registration = self.io.registration();
            let read = |bytes: &mut [u8]| Ok(((&*self.io).read(bytes)?, ()));
            // SAFETY: a read of the system only writes to its buffer, and returns how much.
            let read = || unsafe { crate::buf::receive_owned(&mut buf, read) };
            let result = registration.async_io(Direction::Read.mask(), read).await;
            (result.map(|(count, ())| count), buf)
        }

        /// Writes the contents of a buffer, or the first part of them. The operation owns
        /// the buffer while it runs, and returns it with the number of bytes.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and an error if the runtime has ended.
        ///
        /// # Cancel safety
        ///
        /// A dropped future has written nothing. Its buffer is dropped with it.
        pub async fn write_owned<B: blitz_io_aio::IoBuf>(
            &self,
            buf: B,
        ) -> blitz_io_aio::BufResult<usize, B> {
            let result = self.write_owned_from(&buf, 0).await;
            (result, buf)
        }

        /// Writes all contents of a buffer. The operation owns the buffer while it runs,
        /// and returns it.
        ///
        /// # Errors
        ///
        /// Returns the errors of [`write_owned`](Self::write_owned), and
        /// [`WriteZero`](std::io::ErrorKind::WriteZero) if the stream accepts no more
        /// bytes.
        ///
        /// # Cancel safety
        ///
        /// A dropped future may have written the first part. Its buffer is dropped with it.
        pub async fn write_all_owned<B: blitz_io_aio::IoBuf>(
            &self,
            buf: B,
        ) -> blitz_io_aio::BufResult<(), B> {
            let mut written = 0;
            while written < buf.bytes_init() {
                match self.write_owned_from(&buf, written).await {
                    Ok(0) => return (Err(io::ErrorKind::WriteZero.into()), buf),
                    Ok(count) => written += count,
                    Err(error) => return (Err(error), buf),
                }
            }
            (Ok(()), buf)
        }

        /// Writes what comes after the first `from` bytes of a buffer.
        fn write_owned_from<'a, B: blitz_io_aio::IoBuf>(
            &'a self,
            buf: &'a B,
            from: usize,
        ) -> impl Future<Output = io::Result<usize>> + use<'a, B> {
            let bytes = &crate::buf::init(buf)[from..];
            async move {
                if bytes.is_empty() {
                    return Ok(0);
                }
                let registration = self.io.registration();
                let write = || (&*self.io).write(bytes);
                registration.async_io(Direction::Write.mask(), write).await
            }
        }
    };
}

pub(crate) use owned_buf;
