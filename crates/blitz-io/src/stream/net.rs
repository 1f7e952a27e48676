//! The connections of listeners as streams.

use std::io;

use super::wrapper::wrapper;
use crate::net::{TcpListener, TcpStream};
#[cfg(unix)]
use crate::net::{UnixListener, UnixStream};

wrapper! {
    /// A stream of the connections that a [`TcpListener`] accepts. It never ends; an error of
    /// `accept` is an item.
    ///
    /// # Examples
    ///
    /// With `StreamExt` of the crate `futures-util`:
    ///
    /// ```
    /// use blitz_io::net::{TcpListener, TcpStream};
    /// use blitz_io::stream::wrappers::TcpListenerStream; // was: tokio_stream::wrappers
    /// use futures_util::StreamExt;
    ///
    /// # blitz_io::runtime::Runtime::new()?.block_on(async {
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let client = TcpStream::connect(listener.local_addr()?).await?;
    /// let mut connections = TcpListenerStream::new(listener);
    /// let served = connections.next().await.unwrap()?;
    /// assert_eq!(served.peer_addr()?, client.local_addr()?);
    /// # Ok::<(), std::io::Error>(())
    /// # })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    TcpListenerStream, TcpListener, listener,
    fn(listener, context) -> io::Result<TcpStream> {
        listener.poll_accept(context).map(|accepted| Some(accepted.map(|(stream, _)| stream)))
    }
}

#[cfg(unix)]
wrapper! {
    /// A stream of the connections that a [`UnixListener`] accepts. It never ends; an error of
    /// `accept` is an item.
    ///
    /// # Examples
    ///
    /// With `StreamExt` of the crate `futures-util`:
    ///
    /// ```no_run
    /// use blitz_io::net::UnixListener;
    /// use blitz_io::stream::wrappers::UnixListenerStream; // was: tokio_stream::wrappers
    /// use futures_util::StreamExt;
    ///
    /// # blitz_io::runtime::Runtime::new()?.block_on(async {
    /// let mut connections = UnixListenerStream::new(UnixListener::bind("server.sock")?);
    /// while let Some(connection) = connections.next().await {
    ///     println!("{:?}", connection?.peer_addr()?);
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// # })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    UnixListenerStream, UnixListener, listener,
    fn(listener, context) -> io::Result<UnixStream> {
        listener.poll_accept(context).map(|accepted| Some(accepted.map(|(stream, _)| stream)))
    }
}
